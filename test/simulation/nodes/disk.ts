// The disk of one node: what survives its processes. Writes become durable some time after they were
// begun; a crash in between loses, keeps or tears them. Damage and errors come from the nemesis.

import { assert } from '@queen-ts/base';
import type { CheckpointMeta, Entry, HardState } from '@queen-ts/raft';
import type { Dice } from '../world/dice.ts';
import type { World } from '../world/world.ts';
import type { StoredCheckpoint } from './checkpoints.ts';
import { DiskError } from './disk-error.ts';

/** How a disk may misbehave in ways that no operator would accept: planted bugs of the store. */
export interface DiskBugs {
  /** A write is reported as durable when it begins. */
  readonly acknowledgesEarly: boolean;
  /** The vote is not part of what a save makes durable. */
  readonly forgetsVotes: boolean;
  /** Damaged records are read as if they were whole. */
  readonly acceptsDamage: boolean;
  /** A failed write is reported as a success. */
  readonly swallowsErrors: boolean;
  /** The saved commit index claims the whole log. */
  readonly trustsTail: boolean;
  /** A new disk has the identity of the one that was lost. */
  readonly keepsIdentity: boolean;
}

/** A disk as it should be. */
export const NO_DISK_BUGS: DiskBugs = {
  acknowledgesEarly: false,
  forgetsVotes: false,
  acceptsDamage: false,
  swallowsErrors: false,
  trustsTail: false,
  keepsIdentity: false,
};

/** One durable log record. */
interface DiskRecord {
  /** What was written. */
  readonly entry: Entry;
  /** What would be read now if nobody checked; undefined while the record is whole. */
  damaged: Entry | undefined;
}

type WriteKind = 'append' | 'save' | 'checkpoint';

/** A write that is on its way. */
interface PendingWrite {
  readonly kind: WriteKind;
  readonly makeDurable: () => void;
  isDone: boolean;
}

/** Who writes: told when a write is over, unless it is dead by then. */
export interface DiskUser {
  /** Runs a completion in the process, now or when it is scheduled again. */
  run(task: () => void): void;
  /** The process dies at once. */
  kill(reason: string): void;
}

/** What the disk does to the next writes. */
export type WriteFault = 'none' | 'failOnce' | 'full';

const ZERO_STATE: HardState = { term: 0, votedFor: 0, commitIndex: 0 };

/** One disk. */
export class SimDisk {
  readonly nodeId: number;
  readonly incarnation: number;
  readonly bugs: DiskBugs;
  readonly #world: World;
  readonly #dice: Dice;
  readonly #onAppended: (entries: readonly Entry[]) => void;
  readonly #onCheckpoint: (meta: CheckpointMeta) => void;
  #records: DiskRecord[] = [];
  #hardState = ZERO_STATE;
  #pending: PendingWrite[] = [];
  #busyUntilUs = 0;
  #damagedCount = 0;
  #checkpoint: StoredCheckpoint | undefined;
  /** Pieces of it as they would be read if nobody checked; undefined while it is whole. */
  #damagedPieces: readonly Uint8Array[] | undefined;
  /** With the bug that swallows errors: what this process writes is lost from here on. */
  #isSwallowing = false;
  writeFault: WriteFault = 'none';
  /** Added to every write. */
  slownessUs = 0;

  /**
   * @param onAppended called with entries that have become durable.
   * @param onCheckpoint called when a checkpoint has.
   */
  constructor(options: {
    readonly nodeId: number;
    readonly incarnation: number;
    readonly bugs: DiskBugs;
    readonly world: World;
    readonly dice: Dice;
    readonly onAppended: (entries: readonly Entry[]) => void;
    readonly onCheckpoint: (meta: CheckpointMeta) => void;
  }) {
    this.nodeId = options.nodeId;
    this.incarnation = options.incarnation;
    this.bugs = options.bugs;
    this.#world = options.world;
    this.#dice = options.dice;
    this.#onAppended = options.onAppended;
    this.#onCheckpoint = options.onCheckpoint;
  }

  /** Index of the last durable record, 0 when there is none. */
  get lastIndex(): number {
    return this.#records.length;
  }

  /** Durable entries of type membership, in order. */
  get memberships(): readonly Entry[] {
    return this.#records.flatMap(({ entry }) => (entry.type === 'membership' ? [entry] : []));
  }

  get hasDamage(): boolean {
    return this.#damagedCount > 0;
  }

  /** What a process that starts now would find. */
  get hardState(): HardState {
    if (!this.bugs.trustsTail) return this.#hardState;
    return { ...this.#hardState, commitIndex: this.lastIndex };
  }

  /** The durable entry at `index` as it was written, damaged or not. */
  written(index: number): Entry | undefined {
    return this.#records[index - 1]?.entry;
  }

  /** All entries, verified. Throws CORRUPTION when one is damaged. */
  readAll(): Entry[] {
    return this.#records.map((record) => this.#verified(record));
  }

  /** The entry that a reader gets for `entry`. Throws CORRUPTION when its record is damaged. */
  check(entry: Entry): Entry {
    if (this.#damagedCount === 0) return entry;
    const record = this.#records[entry.index - 1];
    return record?.entry === entry ? this.#verified(record) : entry;
  }

  /** Makes `entries` durable; they replace what lies at and after the first one's index. */
  append(user: DiskUser, entries: readonly Entry[]): Promise<void> {
    const first = entries[0];
    assert(first !== undefined, 'append of nothing');
    return this.#write(user, 'append', () => {
      for (const record of this.#records.splice(first.index - 1)) this.#forget(record);
      assert(this.#records.length === first.index - 1, () => `a hole before ${first.index}`);
      for (const entry of entries) this.#records.push({ entry, damaged: undefined });
      this.#onAppended(entries);
    });
  }

  /** Makes the hard state durable. */
  save(user: DiskUser, state: HardState): Promise<void> {
    return this.#write(user, 'save', () => {
      this.#hardState = this.bugs.forgetsVotes ? { ...state, votedFor: 0 } : state;
    });
  }

  /** Makes a checkpoint durable in place of the one before. */
  saveCheckpoint(user: DiskUser, checkpoint: StoredCheckpoint): Promise<void> {
    return this.#write(user, 'checkpoint', () => {
      this.#checkpoint = checkpoint;
      this.#damagedPieces = undefined;
      this.#world.trace.add(
        () => `disk ${this.nodeId}: checkpoint at ${checkpoint.meta.index} is durable`,
      );
      this.#onCheckpoint(checkpoint.meta);
    });
  }

  /** The newest checkpoint that is whole. */
  get checkpoint(): StoredCheckpoint | undefined {
    if (this.#checkpoint === undefined || this.#damagedPieces === undefined) {
      return this.#checkpoint;
    }
    if (!this.bugs.acceptsDamage) return undefined;
    return { ...this.#checkpoint, pieces: this.#damagedPieces };
  }

  /** The process is gone: each write on its way was lost, or reached the disk all the same. */
  crash(): void {
    let isLosing = false;
    this.#isSwallowing = false;
    for (const write of this.#pending) {
      if (write.isDone) continue;
      write.isDone = true;
      // Writes reach the disk in order: after one that did not, none did.
      const fate = isLosing ? 'unsyncedLost' : this.#fate();
      this.#world.count(fate);
      if (fate === 'unsyncedKept') write.makeDurable();
      else isLosing = true;
    }
    this.#pending = [];
  }

  /** Flips a bit in the checkpoint, which a node survives; false when there is none. */
  flipCheckpointBit(): boolean {
    const pieces = this.#checkpoint?.pieces.map((piece) => piece.slice());
    if (pieces === undefined || this.#damagedPieces !== undefined) return false;
    const piece = this.#dice.pick(pieces);
    const at = this.#dice.below(piece.length);
    piece[at] = piece[at]! ^ (1 << this.#dice.below(8));
    this.#damagedPieces = pieces;
    this.#world.trace.add(() => `disk ${this.nodeId}: a bit of the checkpoint flips`);
    return true;
  }

  /** Flips a bit in a durable record; false when there is none that could carry it. */
  flipBit(): boolean {
    const candidates = this.#records.filter(
      ({ entry, damaged }) => damaged === undefined && entry.type === 'command',
    );
    if (candidates.length === 0) return false;
    const record = this.#dice.pick(candidates);
    const { entry } = record;
    const part = entry.payload.length > 0 && this.#dice.chance(0.5) ? 'payload' : 'head';
    const bytes = entry[part].slice();
    const at = this.#dice.below(bytes.length);
    bytes[at] = bytes[at]! ^ (1 << this.#dice.below(8));
    record.damaged = { ...entry, [part]: bytes };
    this.#damagedCount += 1;
    this.#world.trace.add(
      () => `disk ${this.nodeId}: a bit of entry ${entry.index}'s ${part} flips at byte ${at}`,
    );
    return true;
  }

  #fate(): 'unsyncedLost' | 'unsyncedKept' | 'writeTorn' {
    return this.#dice.weighted([
      ['unsyncedLost', 6],
      // An unfinished record at the end is cut when the log is opened, so nothing of it is left.
      ['writeTorn', 2],
      ['unsyncedKept', 2],
    ]);
  }

  #verified(record: DiskRecord): Entry {
    if (record.damaged === undefined) return record.entry;
    if (this.bugs.acceptsDamage) return record.damaged;
    const { index } = record.entry;
    throw new DiskError('CORRUPTION', `record ${index} does not match its checksum`);
  }

  #forget(record: DiskRecord): void {
    if (record.damaged !== undefined) this.#damagedCount -= 1;
  }

  #write(user: DiskUser, kind: WriteKind, makeDurable: () => void): Promise<void> {
    const { syncUs, jitterUs } = this.#world.profile.disk;
    const durationUs = syncUs + this.#dice.below(jitterUs + 1) + this.slownessUs;
    // One head: a write is not done before those that began earlier.
    const nowUs = this.#world.time.nowUs;
    this.#busyUntilUs = Math.max(this.#busyUntilUs, nowUs + durationUs);
    const write = { kind, makeDurable, isDone: false };
    this.#pending.push(write);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const delayUs = this.#busyUntilUs - nowUs;
    this.#world.time.after(delayUs, 'disk', this.nodeId, () => {
      if (!write.isDone) this.#finish(user, write, { resolve, reject });
    });
    if (this.#isCrashDue(write)) {
      const crashUs = this.#dice.below(delayUs + 1);
      this.#world.time.after(crashUs, 'fault', this.nodeId, () => this.#crashUser(user, 'writing'));
    }
    if (this.bugs.acknowledgesEarly) resolve();
    return promise;
  }

  #finish(
    user: DiskUser,
    write: PendingWrite,
    answer: { readonly resolve: () => void; readonly reject: (error: Error) => void },
  ): void {
    write.isDone = true;
    this.#pending.splice(this.#pending.indexOf(write), 1);
    if (this.#isSwallowing) return user.run(answer.resolve);
    if (this.writeFault !== 'none') return this.#fail(user, write, answer);
    write.makeDurable();
    if (this.#isCrashDue(write)) this.#crashUser(user, 'between two disk operations');
    user.run(answer.resolve);
  }

  #fail(
    user: DiskUser,
    write: PendingWrite,
    answer: { readonly resolve: () => void; readonly reject: (error: Error) => void },
  ): void {
    const fault = this.writeFault;
    this.#world.trace.add(() => `disk ${this.nodeId}: a write fails (${fault})`);
    if (fault === 'failOnce') this.writeFault = 'none';
    if (this.bugs.swallowsErrors) {
      this.#isSwallowing = true;
      return user.run(answer.resolve);
    }
    // After a failed sync the bytes may be there or not; a full disk took none of them.
    if (fault === 'failOnce' && this.#dice.chance(0.3)) write.makeDurable();
    const error = new DiskError('STORAGE_FAILED', fault === 'full' ? 'ENOSPC' : 'EIO');
    user.run(() => answer.reject(error));
  }

  /** Votes are rare and what a crash is most likely to break. */
  #isCrashDue({ kind }: PendingWrite): boolean {
    const { crashRate } = this.#world.profile.disk;
    return (
      !this.#world.isPeaceful && this.#dice.chance(kind === 'save' ? 8 * crashRate : crashRate)
    );
  }

  #crashUser(user: DiskUser, reason: string): void {
    this.#world.count('crashAtDisk');
    user.kill(reason);
  }
}
