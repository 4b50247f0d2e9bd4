// What a transport counts, and which of it is worth a line in the log: one for each reason and
// interval, however often a stranger knocks.

import type { Clock } from '@queen-ts/base';
import type { NodeId } from '@queen-ts/raft';
import { REFUSAL_REASONS } from './refusal.ts';
import type { RefusalReason } from './refusal.ts';
import type { TransportLimits } from './transport-limits.ts';
import type { ConnectionClass, TransportEvent, TransportStats } from './transport.ts';

/** Counters and the events that go with them. */
export class TransportCounters {
  readonly #clock: Clock;
  readonly #intervalUs: number;
  readonly #onEvent: (event: TransportEvent) => void;
  readonly #refusedTotal: Record<RefusalReason, number>;
  readonly #toldAtUs = new Map<RefusalReason, number>();
  #damagedTotal = 0;
  #overloadedTotal = 0;

  constructor(options: {
    readonly clock: Clock;
    readonly limits: TransportLimits;
    readonly onEvent: (event: TransportEvent) => void;
  }) {
    this.#clock = options.clock;
    this.#intervalUs = options.limits.refusalEventUs;
    this.#onEvent = options.onEvent;
    const none = REFUSAL_REASONS.map((reason) => [reason, 0]);
    this.#refusedTotal = Object.fromEntries(none) as Record<RefusalReason, number>;
  }

  stats(): TransportStats {
    return {
      refusedTotal: { ...this.#refusedTotal },
      damagedTotal: this.#damagedTotal,
      overloadedTotal: this.#overloadedTotal,
    };
  }

  /**
   * Counts a refused handshake.
   * @param inbound set for one that was accepted here: nobody else tells of it.
   */
  refused(
    reason: RefusalReason,
    inbound?: { readonly claimedId: NodeId | 0; readonly text: string },
  ): void {
    this.#refusedTotal[reason] += 1;
    if (inbound === undefined) return;
    const nowUs = this.#clock.monotonicUs();
    if (nowUs < (this.#toldAtUs.get(reason) ?? -Infinity) + this.#intervalUs) return;
    this.#toldAtUs.set(reason, nowUs);
    const { claimedId: peer, text: message } = inbound;
    this.#onEvent({ kind: 'refused', peer, connectionClass: undefined, message });
  }

  /** Counts a connection whose bytes were no valid frames. */
  damaged(
    about: { readonly id: NodeId; readonly connectionClass: ConnectionClass },
    reason: string,
  ): void {
    this.#damagedTotal += 1;
    const { id: peer, connectionClass } = about;
    const message = `${connectionClass} connection from node ${peer} closed: ${reason}`;
    this.#onEvent({ kind: 'damaged', peer, connectionClass, message });
  }

  /** Counts a request that was not begun. */
  overloaded(): void {
    this.#overloadedTotal += 1;
  }
}
