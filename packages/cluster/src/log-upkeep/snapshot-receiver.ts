// Takes a snapshot from another member, piece by piece, and hands it to the core when all of it is
// verified and durable. One at a time; calls are served in the order in which they came.

import { CodecError } from '@queen-ts/base';
import type { Clock } from '@queen-ts/base';
import { decodeMembership } from '@queen-ts/raft';
import type {
  IncomingSnapshot,
  NodeId,
  SnapshotDescription,
  SnapshotMessage,
  SnapshotStore,
} from '@queen-ts/raft';
import type { Scheduler } from '../scheduler.ts';
import type { LogLimits } from './limits.ts';
import { decodeSnapshotCall, encodeSnapshotAnswer } from './snapshot-calls.ts';
import type { SnapshotAnswer, SnapshotCall, SnapshotOffer } from './snapshot-calls.ts';

/** Parts of a {@link SnapshotReceiver}. */
export interface SnapshotReceiverParts {
  readonly nodeId: NodeId;
  readonly store: SnapshotStore;
  readonly clock: Clock;
  readonly scheduler: Scheduler;
  readonly limits: LogLimits;
  /** Whether a snapshot up to this index would tell this node anything new. */
  readonly isWanted: (index: number) => boolean;
  /** Hands it to the core; returns whether the core takes it, which installs it. */
  readonly take: (message: SnapshotMessage) => boolean;
  /** Called when writing failed: the node must stop (I11). */
  readonly onFailure: (error: unknown) => void;
}

/** The snapshot that is being received. */
interface Transfer {
  readonly from: NodeId;
  readonly offer: SnapshotOffer;
  readonly incoming: IncomingSnapshot;
  next: number;
  /** The core takes it: it is going to be installed. */
  isTaken: boolean;
  heardUs: number;
}

/** The receiving side of one node. */
export class SnapshotReceiver {
  readonly #parts: SnapshotReceiverParts;
  #transfer: Transfer | undefined;
  /** The call that is served, and behind it those that wait. */
  #turn: Promise<unknown> = Promise.resolve();
  #waiting = 0;
  #isStopped = false;
  #cancel: () => void = () => {};
  #installedTotal = 0;

  constructor(parts: SnapshotReceiverParts) {
    this.#parts = parts;
  }

  /** Whether a snapshot is on its way in. */
  get isReceiving(): boolean {
    return this.#transfer !== undefined;
  }

  /** Snapshots that were put into use. */
  get installedTotal(): number {
    return this.#installedTotal;
  }

  /** Answers a call of a peer. Rejects with CodecError, or when writing failed. */
  async serve(from: NodeId, bytes: Uint8Array): Promise<Uint8Array> {
    const call = decodeSnapshotCall(bytes);
    if (this.#isStopped || this.#waiting >= this.#parts.limits.receiveCallsMax) {
      return encodeSnapshotAnswer({ status: 'busy', next: 0 });
    }
    return encodeSnapshotAnswer(await this.#inTurn(() => this.#answer(from, call)));
  }

  /** What was taken is installed; the next one may come. */
  async installed(): Promise<void> {
    this.#installedTotal += 1;
    await this.#inTurn(() => this.#end());
  }

  /** Drops what is not taken; resolves when nothing is written any more. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancel();
    await this.#inTurn(async () => {
      if (this.#transfer?.isTaken !== true) await this.#end();
    });
  }

  async #inTurn<T>(run: () => Promise<T>): Promise<T> {
    this.#waiting += 1;
    const turn = this.#turn.then(run);
    // Whoever waits for this turn hears of its failure; the next one only must come after it.
    this.#turn = turn.catch(() => undefined);
    try {
      return await turn;
    } finally {
      this.#waiting -= 1;
    }
  }

  async #answer(from: NodeId, call: SnapshotCall): Promise<SnapshotAnswer> {
    try {
      return call.kind === 'offer' ? await this.#offer(from, call) : await this.#goOn(from, call);
    } catch (error) {
      if (isInvalid(error)) {
        await this.#end();
        return { status: 'invalid', next: 0 };
      }
      this.#parts.onFailure(error);
      throw error;
    }
  }

  async #offer(from: NodeId, offer: SnapshotOffer): Promise<SnapshotAnswer> {
    const { store, clock, isWanted } = this.#parts;
    const known = this.#transfer;
    if (known?.isTaken === true) return { status: 'busy', next: 0 };
    if (!isWanted(offer.position.index)) return { status: 'done', next: 0 };
    if (known?.from === from && known.offer.transfer === offer.transfer) {
      return { status: 'go', next: known.next };
    }
    // Of another leader, or of an earlier attempt: nobody goes on with it.
    await this.#end();
    const incoming = await store.receive();
    // The bytes of the call are lent.
    const kept = { ...offer, membership: offer.membership.slice() };
    const heardUs = clock.monotonicUs();
    this.#transfer = { from, offer: kept, incoming, next: 0, isTaken: false, heardUs };
    this.#watch();
    return { status: 'go', next: 0 };
  }

  async #goOn(from: NodeId, call: Exclude<SnapshotCall, SnapshotOffer>): Promise<SnapshotAnswer> {
    const transfer = this.#transfer;
    if (transfer?.from !== from || transfer.offer.transfer !== call.transfer) {
      return { status: 'unknown', next: 0 };
    }
    transfer.heardUs = this.#parts.clock.monotonicUs();
    if (transfer.isTaken) return { status: 'done', next: 0 };
    if (call.kind === 'finish') return this.#finish(transfer);
    // One that came before, again: its answer was lost.
    if (call.number < transfer.next) return { status: 'go', next: transfer.next };
    if (call.number > transfer.next) return { status: 'unknown', next: 0 };
    await transfer.incoming.accept(call.bytes);
    transfer.next += 1;
    return { status: 'go', next: transfer.next };
  }

  async #finish(transfer: Transfer): Promise<SnapshotAnswer> {
    const { nodeId: to, take } = this.#parts;
    const { from, offer } = transfer;
    const description = await transfer.incoming.finish();
    if (!isSame(description, offer))
      throw new InvalidSnapshot('it is not the one that was offered');
    const { term, incarnation } = offer;
    const { index, term: snapshotTerm } = description.position;
    const membership = decodeMembership(description.membership);
    const snapshot = { index, term: snapshotTerm, membership };
    const message = { kind: 'snapshot', from, to, term, incarnation, snapshot } as const;
    transfer.isTaken = take(message);
    if (!transfer.isTaken) await this.#end();
    return { status: 'done', next: 0 };
  }

  /** Lets go of the transfer; what was installed stays. */
  async #end(): Promise<void> {
    const transfer = this.#transfer;
    this.#transfer = undefined;
    this.#cancel();
    await transfer?.incoming.abandon();
  }

  /** Drops a transfer that nobody goes on with: its bytes take room on the disk. */
  #watch(): void {
    const { scheduler, limits } = this.#parts;
    this.#cancel();
    this.#cancel = scheduler.after(limits.receiveIdleUs, () => {
      void this.#inTurn(() => this.#dropIdle()).catch(this.#parts.onFailure);
    });
  }

  async #dropIdle(): Promise<void> {
    const { clock, limits } = this.#parts;
    const transfer = this.#transfer;
    if (transfer === undefined || transfer.isTaken || this.#isStopped) return;
    if (clock.monotonicUs() - transfer.heardUs >= limits.receiveIdleUs) await this.#end();
    else this.#watch();
  }
}

class InvalidSnapshot extends Error {
  override readonly name = 'InvalidSnapshot';
  readonly code = 'SNAPSHOT_INVALID';
}

function isInvalid(error: unknown): boolean {
  if (error instanceof CodecError) return true;
  return error instanceof Error && 'code' in error && error.code === 'SNAPSHOT_INVALID';
}

function isSame(a: SnapshotDescription, b: SnapshotDescription): boolean {
  const { index, term, checksum } = a.position;
  return index === b.position.index && term === b.position.term && checksum === b.position.checksum;
}
