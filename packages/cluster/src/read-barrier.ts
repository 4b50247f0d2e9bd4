// Confirms that this node still leads before it answers from its state without writing: an ex-leader
// that was paused must not answer from what it remembers (I7). Many answers share one confirmation.

import type { RaftNode, ReadState } from '@queen-ts/raft';
import type { Settlement } from './planner.ts';

/** Answers that wait for a confirmed leadership. */
export class ReadBarrier {
  readonly #raft: RaftNode;
  #nextContext = 1;
  /** The round that runs, and the answers it confirms. */
  #round: { readonly contextId: number; readonly settlements: readonly Settlement[] } | undefined;
  /** Answers that came while the round ran: they wait for the next one. */
  #waiting: Settlement[] = [];

  constructor(raft: RaftNode) {
    this.#raft = raft;
  }

  /** Adds answers; the round starts with the next {@link start}. */
  add(settlements: readonly Settlement[]): void {
    this.#waiting.push(...settlements);
  }

  /** Starts a round if answers wait and none runs. */
  start(): void {
    if (this.#round !== undefined || this.#waiting.length === 0) return;
    const contextId = this.#nextContext;
    const result = this.#raft.readIndex(contextId);
    if (!result.ok) return;
    this.#nextContext += 1;
    this.#round = { contextId, settlements: this.#waiting };
    this.#waiting = [];
  }

  /**
   * Takes what a confirmation releases. Its index needs no look: a leader's engine contains its whole
   * log, which no confirmed index is beyond.
   */
  confirm(read: ReadState): readonly Settlement[] {
    if (this.#round?.contextId !== read.contextId) return [];
    const { settlements } = this.#round;
    this.#round = undefined;
    return settlements;
  }

  /** Takes every answer that can no longer be confirmed: the leadership ended. */
  abort(): readonly Settlement[] {
    const settlements = [...(this.#round?.settlements ?? []), ...this.#waiting];
    this.#round = undefined;
    this.#waiting = [];
    return settlements;
  }
}
