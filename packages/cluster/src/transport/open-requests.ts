// Requests of this node to one peer that wait for their answer: each settles exactly once, and says
// whether the peer can have begun with it.

import type { Clock } from '@queen-ts/base';
import type { NodeId } from '@queen-ts/raft';
import type { CancelSignal } from '../broker.ts';
import type { Scheduler } from '../scheduler.ts';
import type { ResponseFrame } from './request-codec.ts';
import { PeerRequestError } from './transport.ts';
import type { PeerRequestFailure } from './transport.ts';

/** One request that waits. */
interface OpenRequest {
  readonly id: number;
  readonly deadlineUs: number;
  readonly resolve: (bytes: Uint8Array) => void;
  readonly reject: (error: PeerRequestError) => void;
  /** Takes the listener off the caller's signal. */
  readonly forget: () => void;
  /** Its first frame was given to the connection. */
  isSent: boolean;
}

/** Parts of an {@link OpenRequests}. */
export interface OpenRequestsParts {
  readonly to: NodeId;
  readonly clock: Clock;
  readonly scheduler: Scheduler;
  readonly resolutionUs: number;
  /** Tells the peer that nobody waits for this one any more. */
  readonly cancelRemote: (id: number) => void;
}

/** One per peer. */
export class OpenRequests {
  readonly #parts: OpenRequestsParts;
  readonly #open = new Map<number, OpenRequest>();
  #lastId = 0;
  /** No request is due before; Infinity with none. */
  #nextDeadlineUs = Infinity;
  /** When the timer fires; Infinity without one. */
  #timerUs = Infinity;
  #cancelTimer: () => void = () => {};

  constructor(parts: OpenRequestsParts) {
    this.#parts = parts;
  }

  get size(): number {
    return this.#open.size;
  }

  /** Opens a request; the promise settles by one of the calls below. */
  open(options: { readonly deadlineUs: number; readonly signal?: CancelSignal | undefined }): {
    readonly id: number;
    readonly answer: Promise<Uint8Array>;
  } {
    this.#lastId += 1;
    const id = this.#lastId;
    const { signal, deadlineUs } = options;
    const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>();
    const onAbort = (): void => this.fail(id, 'cancelled');
    const forget = (): void => signal?.removeEventListener('abort', onAbort);
    this.#open.set(id, { id, deadlineUs, resolve, reject, forget, isSent: false });
    if (signal?.aborted === true) onAbort();
    else signal?.addEventListener('abort', onAbort, { once: true });
    this.#nextDeadlineUs = Math.min(this.#nextDeadlineUs, deadlineUs);
    this.#arm();
    return { id, answer: promise };
  }

  /** The request is about to be sent; false if it is over and must not be. */
  begin(id: number): boolean {
    const request = this.#open.get(id);
    if (request === undefined) return false;
    request.isSent = true;
    return true;
  }

  /** Takes the peer's answer; one that is not waited for any more is dropped. */
  settle(response: ResponseFrame): void {
    if (response.status === 'overloaded') return this.fail(response.id, 'overloaded');
    if (response.status === 'failed') return this.fail(response.id, 'failed');
    this.#take(response.id)?.resolve(response.bytes);
  }

  /** Gives up on one request, and tells the peer if it may be at work on it. */
  fail(id: number, reason: PeerRequestFailure): void {
    const request = this.#take(id);
    if (request === undefined) return;
    const isAbandoned = reason === 'timeout' || reason === 'cancelled';
    if (isAbandoned && request.isSent) this.#parts.cancelRemote(id);
    // The peer says itself that it did not begin when it has too much to do.
    const mayHaveBegun = request.isSent && reason !== 'overloaded';
    const outcome = mayHaveBegun ? 'unknown' : 'notApplied';
    request.reject(new PeerRequestError(this.#parts.to, reason, outcome));
  }

  /** Gives up on all of them, since the connection is gone or the node stops. */
  failAll(reasonOfSent: 'lost' | 'stopped'): void {
    for (const { id, isSent } of this.#open.values()) {
      this.fail(id, isSent || reasonOfSent === 'stopped' ? reasonOfSent : 'unreachable');
    }
  }

  #take(id: number): OpenRequest | undefined {
    const request = this.#open.get(id);
    if (request === undefined) return undefined;
    this.#open.delete(id);
    request.forget();
    if (this.#open.size === 0) {
      this.#nextDeadlineUs = Infinity;
      this.#arm();
    }
    return request;
  }

  #arm(): void {
    const { clock, scheduler, resolutionUs } = this.#parts;
    // Half the resolution late on average: one sweep ends all that are due by then.
    const atUs = this.#nextDeadlineUs + resolutionUs / 2;
    if (atUs === Infinity) {
      this.#cancelTimer();
      this.#timerUs = Infinity;
      return;
    }
    // A timer that fires too early finds nothing and is set again: cheaper than one per request.
    if (this.#timerUs <= atUs) return;
    this.#cancelTimer();
    this.#timerUs = atUs;
    const delayUs = Math.max(0, atUs - clock.monotonicUs());
    this.#cancelTimer = scheduler.after(delayUs, () => this.#expire());
  }

  #expire(): void {
    this.#timerUs = Infinity;
    const nowUs = this.#parts.clock.monotonicUs();
    const over: number[] = [];
    this.#nextDeadlineUs = Infinity;
    for (const { id, deadlineUs } of this.#open.values()) {
      if (deadlineUs <= nowUs) over.push(id);
      else this.#nextDeadlineUs = Math.min(this.#nextDeadlineUs, deadlineUs);
    }
    for (const id of over) this.fail(id, 'timeout');
    this.#arm();
  }
}
