// Confirms that this node still leads before it answers from its state without writing: an ex-leader
// that was paused must not answer from what it remembers (I7). Many answers share one confirmation.

import type { RaftNode, ReadState } from '@queen-ts/raft';

/** How many barriers a node may have: their context ids must differ. */
const BARRIER_COUNT_MAX = 2;

/** Answers that wait for a confirmed leadership. */
export class ReadBarrier<T> {
  readonly #raft: RaftNode;
  #nextContext: number;
  /** The round that runs, and the answers it confirms. */
  #round: { readonly contextId: number; readonly answers: readonly T[] } | undefined;
  /** Answers that came while the round ran: they wait for the next one. */
  #waiting: T[] = [];

  /** @param barrier number of this barrier among those of the node, from 0. */
  constructor(raft: RaftNode, barrier: number) {
    this.#raft = raft;
    this.#nextContext = BARRIER_COUNT_MAX + barrier;
  }

  /** Whether no answer waits. */
  get isIdle(): boolean {
    return this.#round === undefined && this.#waiting.length === 0;
  }

  /** Adds answers; the round starts with the next {@link start}. */
  add(answers: readonly T[]): void {
    for (const answer of answers) this.#waiting.push(answer);
  }

  /** Starts a round if answers wait and none runs. */
  start(): void {
    if (this.#round !== undefined || this.#waiting.length === 0) return;
    const contextId = this.#nextContext;
    const result = this.#raft.readIndex(contextId);
    if (!result.ok) return;
    this.#nextContext += BARRIER_COUNT_MAX;
    this.#round = { contextId, answers: this.#waiting };
    this.#waiting = [];
  }

  /**
   * Takes what a confirmation releases. Its index needs no look: a leader's engine contains its whole
   * log, which no confirmed index is beyond.
   */
  confirm(read: ReadState): readonly T[] {
    if (this.#round?.contextId !== read.contextId) return [];
    const { answers } = this.#round;
    this.#round = undefined;
    return answers;
  }

  /** Takes every answer that can no longer be confirmed: the leadership ended. */
  abort(): readonly T[] {
    const answers = [...(this.#round?.answers ?? []), ...this.#waiting];
    this.#round = undefined;
    this.#waiting = [];
    return answers;
  }
}
