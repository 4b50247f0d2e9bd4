// Linearizable reads without log entries (dissertation 6.4): a read may be served at the commit index
// of its asking once a quorum confirmed that the leader still was one afterwards. Reads are numbered
// by rounds; one round of heartbeats serves every read that waited for it.

import type { NodeId } from './node-id.ts';
import { reachedByMajority } from './quorum.ts';
import type { ReadState } from './ready.ts';

/** Most rounds on their way; later reads share the next one. */
export const READ_ROUND_COUNT_MAX = 8;

/** Most reads that may wait or be on their way. */
export const READ_COUNT_MAX = 65_536;

interface Round {
  readonly number: number;
  readonly commitIndex: number;
  readonly contextIds: readonly number[];
}

/** The reads of one leadership. */
export class ReadRounds {
  #waiting: number[] = [];
  #rounds: Round[] = [];
  #newest = 0;
  #readCount = 0;
  readonly #confirmed = new Map<NodeId, number>();

  /** The newest round started, which every heartbeat carries; 0 if none. */
  get newest(): number {
    return this.#newest;
  }

  get hasWaiting(): boolean {
    return this.#waiting.length > 0;
  }

  /** Takes a read; it waits for the next round. Returns false if there are too many. */
  add(contextId: number): boolean {
    if (this.#readCount >= READ_COUNT_MAX) return false;
    this.#readCount += 1;
    this.#waiting.push(contextId);
    return true;
  }

  /** Puts the waiting reads into a new round, to be heartbeaten now. Returns false if it must wait. */
  start(commitIndex: number): boolean {
    if (this.#rounds.length >= READ_ROUND_COUNT_MAX) return false;
    this.#newest += 1;
    this.#rounds.push({ number: this.#newest, commitIndex, contextIds: this.#waiting });
    this.#waiting = [];
    return true;
  }

  /** `from` answered a heartbeat that carried `round`, and so everything up to it. */
  confirm(from: NodeId, round: number): void {
    this.#confirmed.set(from, Math.max(round, this.#confirmed.get(from) ?? 0));
  }

  /** Takes the reads whose round a majority of `voters` confirmed. `self` confirms at once. */
  takeConfirmed(voters: readonly NodeId[], self: NodeId): ReadState[] {
    if (this.#rounds.length === 0) return [];
    const rounds = voters.map((id) =>
      id === self ? this.#newest : (this.#confirmed.get(id) ?? 0),
    );
    const reached = reachedByMajority(rounds);
    const readStates: ReadState[] = [];
    while (this.#rounds[0] !== undefined && this.#rounds[0].number <= reached) {
      const { commitIndex: index, contextIds } = this.#rounds[0];
      for (const contextId of contextIds) readStates.push({ contextId, index });
      this.#rounds.shift();
    }
    this.#readCount -= readStates.length;
    return readStates;
  }
}
