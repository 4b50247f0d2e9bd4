// What lies durably on one disk: the log from its start on, what is left of the records before that (the
// archive), and two checkpoints. Knows nothing of time or of writes that are on their way.

import { assert } from '@queen-ts/base';
import type { Entry, PayloadRange, PurgedRecord } from '@queen-ts/raft';
import type { StoredCheckpoint } from './checkpoints.ts';

/** One durable log record. */
export interface DiskRecord {
  /** What was written. */
  readonly entry: Entry;
  /** What would be read now if nobody checked; undefined while the record is whole. */
  damaged: Entry | undefined;
  /** What is left of an archived payload; undefined: all of it. */
  kept: readonly PayloadRange[] | undefined;
}

/** A checkpoint, and its pieces as they would be read if nobody checked. */
export interface DiskCheckpoint {
  readonly stored: StoredCheckpoint;
  damagedPieces: readonly Uint8Array[] | undefined;
}

/** What a received snapshot puts in the place of everything. */
export interface StagedSnapshot {
  readonly checkpoint: StoredCheckpoint;
  readonly archive: readonly DiskRecord[];
}

/** Durable contents. */
export class DiskImage {
  readonly records = new Map<number, DiskRecord>();
  /** The newest is the last. */
  checkpoints: readonly DiskCheckpoint[] = [];
  /** Up to here records belong to the archive, where any may be missing. */
  startIndex = 0;
  startTerm = 0;
  lastIndex = 0;

  get hasDamage(): boolean {
    for (const { damaged } of this.records.values()) if (damaged !== undefined) return true;
    return false;
  }

  /** Appends consecutive records; they replace what lies at and after the first one's index. */
  append(entries: readonly Entry[]): void {
    const first = entries[0];
    assert(first !== undefined && first.index > this.startIndex, 'append into the archive');
    assert(first.index <= this.lastIndex + 1, () => `a hole before ${first.index}`);
    for (let index = first.index; index <= this.lastIndex; index += 1) this.records.delete(index);
    for (const entry of entries) {
      this.records.set(entry.index, { entry, damaged: undefined, kept: undefined });
      this.lastIndex = entry.index;
    }
  }

  /** Moves the start of the log. */
  compact(toIndex: number): void {
    if (toIndex <= this.startIndex) return;
    const record = this.records.get(toIndex);
    assert(record !== undefined, () => `the log's start moves to ${toIndex}, which is not there`);
    this.startIndex = toIndex;
    this.startTerm = record.entry.term;
  }

  /** Purges archived records; returns what brings them back. */
  purge(purged: readonly PurgedRecord[]): () => void {
    const before: [number, DiskRecord][] = [];
    for (const { index, kept } of purged) {
      const record = this.records.get(index);
      if (record === undefined) continue;
      assert(index <= this.startIndex, () => `record ${index} is purged from the log`);
      before.push([index, record]);
      if (kept.length === 0) this.records.delete(index);
      else this.records.set(index, { ...record, kept });
    }
    return () => before.forEach(([index, record]) => this.records.set(index, record));
  }

  /** Puts a snapshot in the place of everything. */
  install({ checkpoint, archive }: StagedSnapshot): void {
    this.records.clear();
    for (const record of archive) this.records.set(record.entry.index, record);
    this.checkpoints = [{ stored: checkpoint, damagedPieces: undefined }];
    this.startIndex = checkpoint.meta.index;
    this.startTerm = checkpoint.term;
    this.lastIndex = checkpoint.meta.index;
  }
}
