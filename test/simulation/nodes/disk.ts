// The disk of one node: what survives its processes. Writes become durable some time after they were
// begun; a crash in between loses, keeps or tears them. Damage and errors come from the nemesis.

import { assert } from '@queen-ts/base';
import type { CheckpointMeta, Entry, HardState, PurgedRecord } from '@queen-ts/raft';
import type { Dice } from '../world/dice.ts';
import type { World } from '../world/world.ts';
import type { StoredCheckpoint } from './checkpoints.ts';
import type { DiskBugs } from './disk-bugs.ts';
import { DiskError } from './disk-error.ts';
import { DiskImage } from './disk-image.ts';
import type { DiskCheckpoint, DiskRecord, StagedSnapshot } from './disk-image.ts';

type WriteKind = 'append' | 'save' | 'checkpoint' | 'compact' | 'purge' | 'stage' | 'install';

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
  readonly #image = new DiskImage();
  #hardState = ZERO_STATE;
  #pending: PendingWrite[] = [];
  #busyUntilUs = 0;
  /** Brings back what was purged since the last sync. */
  #unsyncedPurges: (() => void)[] = [];
  /** With the bug that installs without a sync: up to here records are lost at the next crash. */
  #unsyncedIndex = 0;
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
    return this.#image.lastIndex;
  }

  /** Up to here records belong to the archive. */
  get startIndex(): number {
    return this.#image.startIndex;
  }

  get startTerm(): number {
    return this.#image.startTerm;
  }

  /** Durable entries of type membership, in order. */
  get memberships(): readonly Entry[] {
    return this.records.flatMap(({ entry }) => (entry.type === 'membership' ? [entry] : []));
  }

  get hasDamage(): boolean {
    return this.#image.hasDamage;
  }

  /** Durable records, the archived ones first. */
  get records(): readonly DiskRecord[] {
    return [...this.#image.records.values()].toSorted((a, b) => a.entry.index - b.entry.index);
  }

  /** What a process that starts now would find. */
  get hardState(): HardState {
    if (!this.bugs.trustsTail) return this.#hardState;
    return { ...this.#hardState, commitIndex: this.lastIndex };
  }

  /** The durable entry at `index` as it was written, damaged or not. */
  written(index: number): Entry | undefined {
    return this.#image.records.get(index)?.entry;
  }

  /** Term of the durable entry at `index`, if it is known. */
  term(index: number): number | undefined {
    const { startIndex, startTerm } = this.#image;
    return index === startIndex ? startTerm : this.written(index)?.term;
  }

  /** Whether these bytes of an archived payload can be read. */
  keeps(range: { index: number; from: number; toExclusive: number }): boolean {
    const record = this.#image.records.get(range.index);
    if (record?.kept === undefined) return record !== undefined;
    return record.kept.some(
      ({ from, toExclusive }) => from <= range.from && toExclusive >= range.toExclusive,
    );
  }

  /** All records, verified. Throws CORRUPTION when one is damaged. */
  readAll(): Entry[] {
    return this.records.map((record) => this.#verified(record));
  }

  /** The entry that a reader gets for `entry`. Throws CORRUPTION when its record is damaged. */
  check(entry: Entry): Entry {
    const record = this.#image.records.get(entry.index);
    return record?.entry === entry ? this.#verified(record) : entry;
  }

  /** Makes `entries` durable; they replace what lies at and after the first one's index. */
  append(user: DiskUser, entries: readonly Entry[]): Promise<void> {
    assert(entries.length > 0, 'append of nothing');
    return this.#write(user, 'append', () => {
      this.#image.append(entries);
      this.#unsyncedPurges = [];
      this.#onAppended(entries);
    });
  }

  /** Moves the start of the log. */
  compact(user: DiskUser, toIndex: number): Promise<void> {
    return this.#write(user, 'compact', () => {
      this.#image.compact(toIndex);
      this.#world.count('logStartMoved');
      this.#world.trace.add(() => `disk ${this.nodeId}: the log starts after ${toIndex}`);
    });
  }

  /** Purges archived records; until the next sync a crash may bring them back. */
  purge(user: DiskUser, purged: readonly PurgedRecord[]): Promise<void> {
    return this.#write(user, 'purge', () => {
      this.#unsyncedPurges.push(this.#image.purge(purged));
      const neighbour = (purged.at(-1)?.index ?? 0) + 1;
      if (this.bugs.purgesNeighbours && neighbour <= this.startIndex) {
        this.#image.purge([{ index: neighbour, kept: [] }]);
      }
      this.#world.count('archivePurged');
      this.#world.trace.add(() => `disk ${this.nodeId}: purges ${indexesOf(purged)}`);
    });
  }

  /** Writes a part of a snapshot out of sight: it takes its time, and a crash forgets it. */
  stage(user: DiskUser): Promise<void> {
    return this.#write(user, 'stage', () => {});
  }

  /** Puts a snapshot in the place of log, archive and checkpoints, in one step. */
  install(user: DiskUser, snapshot: StagedSnapshot): Promise<void> {
    return this.#write(user, 'install', () => {
      this.#image.install(snapshot);
      this.#unsyncedPurges = [];
      const { meta } = snapshot.checkpoint;
      this.#unsyncedIndex = this.bugs.installsUnsynced ? meta.index : 0;
      this.#world.count('snapshotInstalled');
      this.#world.trace.add(() => `disk ${this.nodeId}: a snapshot at ${meta.index} is durable`);
      this.#onCheckpoint(meta);
    });
  }

  /** The records up to `lastIndex`, verified, for a snapshot. */
  recordsUpTo(lastIndex: number): DiskRecord[] {
    const records = this.records.filter(({ entry }) => entry.index <= lastIndex);
    return records.map((record) => ({
      ...record,
      entry: this.#verified(record),
      damaged: undefined,
    }));
  }

  /** Makes the hard state durable. */
  save(user: DiskUser, state: HardState): Promise<void> {
    return this.#write(user, 'save', () => {
      this.#hardState = this.bugs.forgetsVotes ? { ...state, votedFor: 0 } : state;
    });
  }

  /** Makes a checkpoint durable; of those before it, the one at `keptIndex` stays. */
  saveCheckpoint(user: DiskUser, checkpoint: StoredCheckpoint, keptIndex: number): Promise<void> {
    return this.#write(user, 'checkpoint', () => {
      const kept = this.#image.checkpoints.filter(({ stored }) => stored.meta.index === keptIndex);
      this.#image.checkpoints = [...kept, { stored: checkpoint, damagedPieces: undefined }];
      this.#world.trace.add(
        () => `disk ${this.nodeId}: checkpoint at ${checkpoint.meta.index} is durable`,
      );
      this.#onCheckpoint(checkpoint.meta);
    });
  }

  /** The checkpoints that are whole, oldest first. */
  get checkpoints(): readonly StoredCheckpoint[] {
    const isRead = ({ damagedPieces }: DiskCheckpoint): boolean => {
      return damagedPieces === undefined || this.bugs.acceptsDamage;
    };
    return this.#image.checkpoints.filter(isRead).map(({ stored, damagedPieces }) => {
      return damagedPieces === undefined ? stored : { ...stored, pieces: damagedPieces };
    });
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
    // What was deleted without a sync is back, all of it or nothing.
    if (this.#dice.chance(0.5)) {
      for (const undo of this.#unsyncedPurges.toReversed()) undo();
    }
    this.#unsyncedPurges = [];
    for (let index = 1; index <= this.#unsyncedIndex; index += 1) this.#image.records.delete(index);
    this.#unsyncedIndex = 0;
  }

  /**
   * Flips a bit in the newest checkpoint, which a node survives that has another one, or a log from the
   * first entry on; false when it would not.
   */
  flipCheckpointBit(): boolean {
    const { checkpoints, startIndex } = this.#image;
    const newest = checkpoints.at(-1);
    const isWhole = checkpoints.every(({ damagedPieces }) => damagedPieces === undefined);
    if (newest === undefined || !isWhole || (startIndex > 0 && checkpoints.length < 2))
      return false;
    const pieces = newest.stored.pieces.map((piece) => piece.slice());
    const piece = this.#dice.pick(pieces);
    const at = this.#dice.below(piece.length);
    piece[at] = piece[at]! ^ (1 << this.#dice.below(8));
    newest.damagedPieces = pieces;
    this.#world.trace.add(() => `disk ${this.nodeId}: a bit of the newest checkpoint flips`);
    return true;
  }

  /** Flips a bit in a durable record; false when there is none that could carry it. */
  flipBit(): boolean {
    const candidates = this.records.filter(
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

function indexesOf(records: readonly PurgedRecord[]): string {
  return records.map(({ index, kept }) => (kept.length > 0 ? `${index} in part` : index)).join(' ');
}
