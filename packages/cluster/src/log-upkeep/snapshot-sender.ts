// Sends snapshots to members that need entries which the log no longer has: one call at a time, each
// repeated until it is answered, slow enough that appends and heartbeats go on beside it.

import { CodecError, InvariantError } from '@queen-ts/base';
import type { Clock, Rng } from '@queen-ts/base';
import type { NodeId, OutgoingSnapshot, SnapshotRequest, SnapshotStore } from '@queen-ts/raft';
import type { Scheduler } from '../scheduler.ts';
import type { LogLimits } from './limits.ts';
import { decodeSnapshotAnswer, encodeSnapshotCall } from './snapshot-calls.ts';
import type { SnapshotAnswer, SnapshotCall } from './snapshot-calls.ts';

/** How a transfer ended; see `RaftNode.reportSnapshot`. */
export interface SnapshotReport {
  readonly to: NodeId;
  readonly outcome: 'finished' | 'failed';
  readonly index: number;
}

/** Asks a peer; rejects when there is no answer. */
export type SnapshotRequester = (
  to: NodeId,
  bytes: Uint8Array,
  options: { readonly deadlineUs: number; readonly signal: AbortSignal },
) => Promise<Uint8Array>;

/** Parts of a {@link SnapshotSender}. */
export interface SnapshotSenderParts {
  readonly store: SnapshotStore;
  readonly incarnation: number;
  readonly request: SnapshotRequester;
  readonly clock: Clock;
  readonly scheduler: Scheduler;
  readonly rng: Rng;
  readonly limits: LogLimits;
  readonly report: (report: SnapshotReport) => void;
  readonly onFailure: (error: unknown) => void;
}

/** One snapshot on its way. */
interface Transfer {
  readonly request: SnapshotRequest;
  readonly controller: AbortController;
  /** Nothing after this index may leave the log; Infinity while it is not known. */
  heldIndex: number;
  done: Promise<void>;
}

/** The peer has followed up to here since it got a snapshot, or time has run out for it. */
interface Hold {
  readonly index: number;
  readonly untilUs: number;
}

/** The sending side of one node. */
export class SnapshotSender {
  readonly #parts: SnapshotSenderParts;
  readonly #transfers = new Map<NodeId, Transfer>();
  readonly #holds = new Map<NodeId, Hold>();
  #finishedTotal = 0;
  #failedTotal = 0;

  constructor(parts: SnapshotSenderParts) {
    this.#parts = parts;
  }

  /** Transfers that run, and how those before ended. */
  get counters(): {
    readonly running: number;
    readonly finishedTotal: number;
    readonly failedTotal: number;
  } {
    const { size: running } = this.#transfers;
    return { running, finishedTotal: this.#finishedTotal, failedTotal: this.#failedTotal };
  }

  /** Nothing after this index may leave the log: whoever gets a snapshot goes on from there. */
  get heldIndex(): number {
    const nowUs = this.#parts.clock.monotonicUs();
    let heldIndex = Infinity;
    for (const transfer of this.#transfers.values()) {
      heldIndex = Math.min(heldIndex, transfer.heldIndex);
    }
    for (const [to, { index, untilUs }] of this.#holds) {
      if (nowUs < untilUs) heldIndex = Math.min(heldIndex, index);
      else this.#holds.delete(to);
    }
    return heldIndex;
  }

  /** Sends the newest snapshot as the core asks for it; reports how that ended. */
  send(request: SnapshotRequest): void {
    const { report, limits } = this.#parts;
    const { to } = request;
    if (this.#transfers.size >= limits.sendsMax || this.#transfers.has(to)) {
      // The core asks again after a heartbeat.
      return report({ to, outcome: 'failed', index: 0 });
    }
    const controller = new AbortController();
    const transfer = { request, controller, heldIndex: request.minIndex, done: Promise.resolve() };
    this.#transfers.set(to, transfer);
    transfer.done = this.#run(transfer);
  }

  /** The peer follows again: nothing is held for it any more. */
  followed(to: NodeId): void {
    this.#holds.delete(to);
  }

  /** Ends all transfers, which then were for nothing; resolves when nothing is read any more. */
  async stop(): Promise<void> {
    const running = [...this.#transfers.values()];
    for (const { controller } of running) controller.abort();
    await Promise.all(running.map(({ done }) => done));
  }

  async #run(transfer: Transfer): Promise<void> {
    const { report, clock, limits } = this.#parts;
    const { to } = transfer.request;
    const index = await this.#attempt(transfer);
    this.#transfers.delete(to);
    if (index === undefined) this.#failedTotal += 1;
    else {
      this.#finishedTotal += 1;
      this.#holds.set(to, { index, untilUs: clock.monotonicUs() + limits.giveUpUs });
    }
    if (transfer.controller.signal.aborted) return;
    report({ to, outcome: index === undefined ? 'failed' : 'finished', index: index ?? 0 });
  }

  /** The index that the peer now has everything up to; undefined when the transfer failed. */
  async #attempt(transfer: Transfer): Promise<number | undefined> {
    let snapshot: OutgoingSnapshot | undefined;
    try {
      snapshot = await this.#parts.store.open();
      if (snapshot === undefined || snapshot.position.index < transfer.request.minIndex) {
        return undefined;
      }
      transfer.heldIndex = snapshot.position.index;
      return await this.#transmit(transfer, snapshot);
    } catch (error) {
      if (error instanceof InvariantError) this.#parts.onFailure(error);
      // Else aborted, the peer out of reach, or the log closed. Damage has stopped the node already.
      return undefined;
    } finally {
      await snapshot?.close();
    }
  }

  async #transmit(transfer: Transfer, snapshot: OutgoingSnapshot): Promise<number | undefined> {
    const { rng, incarnation, limits } = this.#parts;
    const { term } = transfer.request;
    const name = rng.u32();
    const { position, membership } = snapshot;
    const offer = {
      kind: 'offer',
      transfer: name,
      term,
      incarnation,
      position,
      membership,
    } as const;
    const offered = await this.#ask(transfer, offer, limits.pieceUs);
    if (offered.status !== 'go') return offered.status === 'done' ? position.index : undefined;
    let number = 0;
    for (let bytes = await snapshot.next(); bytes !== undefined; bytes = await snapshot.next()) {
      const call = { kind: 'piece', transfer: name, number, bytes } as const;
      const answer = await this.#ask(transfer, call, limits.pieceUs);
      number += 1;
      if (answer.status !== 'go' || answer.next !== number) return undefined;
      await this.#sleep(
        transfer,
        Math.ceil((bytes.length * 1_000_000) / limits.sendBytesPerSecond),
      );
    }
    const finish = { kind: 'finish', transfer: name } as const;
    const finished = await this.#ask(transfer, finish, limits.finishUs);
    return finished.status === 'done' ? position.index : undefined;
  }

  /** Asks until there is an answer, for a while. */
  async #ask(transfer: Transfer, call: SnapshotCall, waitUs: number): Promise<SnapshotAnswer> {
    const { clock, limits, request } = this.#parts;
    const { signal } = transfer.controller;
    const giveUpUs = clock.monotonicUs() + Math.max(waitUs, limits.giveUpUs);
    const bytes = encodeSnapshotCall(call);
    for (;;) {
      signal.throwIfAborted();
      const deadlineUs = clock.monotonicUs() + waitUs;
      try {
        const answer = await request(transfer.request.to, bytes, { deadlineUs, signal });
        const decoded = decodeSnapshotAnswer(answer);
        if (decoded.status !== 'busy') return decoded;
      } catch (error) {
        // What cannot be understood will not be understood the next time either.
        if (error instanceof CodecError || clock.monotonicUs() >= giveUpUs) throw error;
      }
      if (clock.monotonicUs() >= giveUpUs) throw new Error('the peer stayed busy');
      await this.#sleep(transfer, limits.retryUs);
    }
  }

  /** Resolves after a pause, or at once when the transfer is aborted. */
  #sleep({ controller }: Transfer, delayUs: number): Promise<void> {
    const { signal } = controller;
    return new Promise((resolve) => {
      const wake = (): void => {
        cancel();
        signal.removeEventListener('abort', wake);
        resolve();
      };
      const cancel = this.#parts.scheduler.after(delayUs, wake);
      if (signal.aborted) wake();
      else signal.addEventListener('abort', wake);
    });
  }
}
