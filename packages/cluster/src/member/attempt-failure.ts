// What a failed attempt to reach the leader means for the request: whether another attempt may change
// anything, and whether this one may have had an effect.

import { BrokerError } from '@queen-ts/protocol';
import { clientLeft, queueFull } from '../refusals.ts';
import { PeerRequestError } from '../transport/transport.ts';

/** A failed attempt. */
export interface AttemptFailure {
  /** What to tell the client when it is final. */
  readonly error: unknown;
  /** No other attempt would go better. */
  readonly isFinal: boolean;
  /** The request may have been planned. */
  readonly isInDoubt: boolean;
}

/** Refusals of one leader that say nothing of the next one, and whether they leave doubt. */
const TRANSIENT: ReadonlyMap<string, boolean> = new Map([
  ['no_leader', false],
  ['shutting_down', false],
  ['retry', true],
  ['timeout', true],
  ['outcome_unknown', true],
]);

/** Judges an attempt by its error. */
export function attemptFailure(error: unknown): AttemptFailure {
  if (error instanceof BrokerError) {
    const isInDoubt = TRANSIENT.get(error.code);
    return { error, isFinal: isInDoubt === undefined, isInDoubt: isInDoubt ?? false };
  }
  if (!(error instanceof PeerRequestError)) return { error, isFinal: true, isInDoubt: true };
  const isInDoubt = error.outcome === 'unknown';
  switch (error.reason) {
    case 'overloaded':
      return { error: queueFull(), isFinal: true, isInDoubt };
    case 'tooLarge': {
      const text = 'the request is too large to be sent to the leader';
      return { error: new BrokerError('too_large', text), isFinal: true, isInDoubt };
    }
    case 'cancelled':
      return { error: clientLeft(), isFinal: true, isInDoubt };
    case 'failed':
    case 'lost':
    case 'stopped':
    case 'timeout':
    case 'unreachable':
      return { error, isFinal: false, isInDoubt };
  }
}
