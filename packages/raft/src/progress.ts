// What the leader knows about one peer, and how much it may send it (dissertation 10.2, pipelining).

import { assert } from '@queen-ts/base';
import type { NodeId } from './node-id.ts';

/**
 * `probe`: where the logs meet is not known; one append per heartbeat. `replicate`: appends flow
 * ahead of their acks, within a window. `snapshot`: the peer needs what the log no longer has.
 */
export type ProgressState = 'probe' | 'replicate' | 'snapshot';

/** Most appends in flight to one peer, whatever their size. */
export const INFLIGHT_COUNT_MAX = 256;

interface Inflight {
  readonly lastIndex: number;
  readonly sizeBytes: number;
}

/** Replication state of one peer. Starts as a probe right after the leader's last entry. */
export class Progress {
  readonly id: NodeId;
  readonly #inflightBytesMax: number;
  #state: ProgressState = 'probe';
  /** Highest index known durable at the peer. */
  matchIndex = 0;
  /** Next index to send. */
  nextIndex: number;
  /** Highest commit index an append carried to the peer; news of a newer one is still to be sent. */
  sentCommitIndex = 0;
  /** Leader ticks at which the peer was last heard in this term. */
  heardAtTick: number;
  /** The incarnation the peer answers with; 0 until it was heard. */
  incarnation = 0;
  /** A heartbeat went out whose reply may be used to look for lost appends. */
  isCheckDue = false;
  #isProbeSent = false;
  #inflights: Inflight[] = [];
  #inflightBytes = 0;

  constructor(options: {
    id: NodeId;
    nextIndex: number;
    heardAtTick: number;
    inflightBytesMax: number;
  }) {
    this.id = options.id;
    this.nextIndex = options.nextIndex;
    this.heardAtTick = options.heardAtTick;
    this.#inflightBytesMax = options.inflightBytesMax;
  }

  get state(): ProgressState {
    return this.#state;
  }

  get inflightBytes(): number {
    return this.#inflightBytes;
  }

  /** No append with entries may be sent now. */
  get isPaused(): boolean {
    switch (this.#state) {
      case 'probe':
        return this.#isProbeSent;
      case 'replicate':
        return (
          this.#inflights.length >= INFLIGHT_COUNT_MAX ||
          this.#inflightBytes >= this.#inflightBytesMax
        );
      case 'snapshot':
        return true;
    }
  }

  /** An append went out with entries up to `lastIndex`, or with none (`sizeBytes` 0, no change). */
  sent(lastIndex: number, sizeBytes: number): void {
    assert(this.#state !== 'snapshot', () => `append to ${this.id} during a snapshot`);
    if (this.#state === 'probe') {
      this.#isProbeSent = true;
      return;
    }
    if (lastIndex < this.nextIndex) return;
    this.nextIndex = lastIndex + 1;
    this.#inflights.push({ lastIndex, sizeBytes });
    this.#inflightBytes += sizeBytes;
  }

  /** The peer holds everything up to `matchIndex`. Returns false for old news. */
  accepted(matchIndex: number): boolean {
    this.nextIndex = Math.max(this.nextIndex, matchIndex + 1);
    this.#isProbeSent = false;
    this.#release(matchIndex);
    if (matchIndex <= this.matchIndex) return false;
    this.matchIndex = matchIndex;
    return true;
  }

  /**
   * The peer refused an append after `rejectedIndex`.
   * @param retryIndex the highest index at which the logs could still meet.
   * Returns false for a stale refusal.
   */
  rejected(rejectedIndex: number, retryIndex: number): boolean {
    if (this.#state === 'snapshot') return false;
    if (this.#state === 'replicate') {
      if (rejectedIndex <= this.matchIndex) return false;
      this.becomeProbe();
      return true;
    }
    if (rejectedIndex !== this.nextIndex - 1) return false;
    this.nextIndex = Math.max(this.matchIndex, Math.min(rejectedIndex - 1, retryIndex)) + 1;
    this.#isProbeSent = false;
    return true;
  }

  /** Lets a probe try again; its append or the reply may be lost. */
  allowProbe(): void {
    this.#isProbeSent = false;
  }

  becomeProbe(): void {
    this.#enter('probe');
    this.nextIndex = this.matchIndex + 1;
  }

  becomeReplicate(): void {
    this.#enter('replicate');
    this.nextIndex = this.matchIndex + 1;
  }

  becomeSnapshot(): void {
    this.#enter('snapshot');
  }

  /** A snapshot up to `snapshotIndex` arrived: try right after it, once a heartbeat was answered. */
  snapshotFinished(snapshotIndex: number): void {
    this.becomeProbe();
    this.nextIndex = Math.max(this.nextIndex, snapshotIndex + 1);
    this.#isProbeSent = true;
  }

  /**
   * A snapshot was not delivered. The peer may have got one from elsewhere: once a heartbeat was
   * answered, an append at the log's `firstIndex` finds out.
   */
  snapshotFailed(firstIndex: number): void {
    this.becomeProbe();
    this.nextIndex = Math.max(this.nextIndex, firstIndex);
    this.#isProbeSent = true;
  }

  #enter(state: ProgressState): void {
    this.#state = state;
    this.#isProbeSent = false;
    this.#inflights = [];
    this.#inflightBytes = 0;
  }

  #release(matchIndex: number): void {
    let count = 0;
    for (const inflight of this.#inflights) {
      if (inflight.lastIndex > matchIndex) break;
      this.#inflightBytes -= inflight.sizeBytes;
      count += 1;
    }
    if (count > 0) this.#inflights.splice(0, count);
  }
}
