// The lower bound of the durable log, kept outside LevelDB: the file that notices when LevelDB opens
// happily with its tail or a middle file gone. A slot file (slot-file.ts) of kind BOUN whose body is,
// big-endian:
//
//   offset  size  field
//   0       8     durable index: every record up to it was synced
//   8       4     checksum of that record (of the log start, when the log is empty)
//   12      4     checksum of the log start, 0 for a log that starts at 1
//   16      8     index of the log start: entries begin one after it
//   24      8     term of the log start
//
// The bound trails the log: it is written after the sync of an append and off its path, at most once
// in BOUND_INTERVAL_MS, at once when it is BOUND_LAG_ENTRIES_MAX behind, and at close. Before a suffix
// at or below it is truncated, it is lowered first.

import { assert } from '@queen-ts/base';

import { readU64, viewOf, writeU64 } from './big-endian.ts';
import { corruption } from './errors.ts';
import type { FailureLatch } from './failure-latch.ts';
import type { NodeIdentity } from './identity.ts';
import { createSlotFile, SlotFile, type SlotHandle } from './slot-file.ts';

/** File name inside the data directory. */
export const BOUND_FILE = 'durable';

/** Longest time between an append's sync and the start of the bound's write, in milliseconds. */
const BOUND_INTERVAL_MS = 50;

/** Most entries the bound trails the log by before a write is started without waiting. */
export const BOUND_LAG_ENTRIES_MAX = 4096;

const KIND = 'BOUN';
const BODY_BYTES = 32;

/** Runs `run` once after `delayMs`, unless the returned function is called before. */
export type Schedule = (run: () => void, delayMs: number) => () => void;

/** A record named by its position and content. */
export interface LogPoint {
  readonly index: number;
  readonly checksum: number;
}

/** The position just before the first entry; all zero for a log that starts at index 1. */
export interface LogStart {
  readonly index: number;
  readonly term: number;
  readonly checksum: number;
}

/** Where the bound is kept, whose it is and who hears of a failure. */
export interface DurableBoundOptions {
  readonly path: string;
  readonly owner: NodeIdentity;
  readonly latch: FailureLatch;
  readonly schedule: Schedule;
  /** Lets tests stand between the file and the disk. */
  readonly wrap?: (handle: SlotHandle) => SlotHandle;
}

/** Creates the file for an empty log. The caller syncs the directory. */
export async function createDurableBound(
  path: string,
  owner: NodeIdentity,
  start: LogStart,
): Promise<void> {
  const { index, checksum } = start;
  await createSlotFile({ path, kind: KIND, owner }, encode(start, { index, checksum }));
}

/** The open bound. */
export class DurableBound {
  readonly #options: DurableBoundOptions;
  readonly #slots: SlotFile;
  #start: LogStart;
  #written: LogPoint;
  #target: LogPoint;
  #cancelTimer: (() => void) | undefined;
  #writing: Promise<void> | undefined;

  private constructor(
    options: DurableBoundOptions,
    slots: SlotFile,
    found: { readonly start: LogStart; readonly durable: LogPoint },
  ) {
    this.#options = options;
    this.#slots = slots;
    this.#start = found.start;
    this.#written = found.durable;
    this.#target = found.durable;
  }

  /** Opens an existing bound. Throws CORRUPTION, FORMAT_UNSUPPORTED or NODE_MISMATCH. */
  static async open(options: DurableBoundOptions): Promise<DurableBound> {
    const { path, owner, wrap } = options;
    const slots = await SlotFile.open({ path, kind: KIND, owner }, wrap);
    try {
      return new DurableBound(options, slots, decode(path, slots.body));
    } catch (error) {
      await slots.close();
      throw error;
    }
  }

  /** Path of the file, for messages. */
  get path(): string {
    return this.#options.path;
  }

  /** See {@link SlotFile.warning}. */
  get warning(): string | undefined {
    return this.#slots.warning;
  }

  /** The position just before the first entry. */
  get start(): LogStart {
    return this.#start;
  }

  /** The bound on disk. */
  get written(): LogPoint {
    return this.#written;
  }

  /** Notes that every record up to `point` is synced; the file follows on its own. */
  advance(point: LogPoint): void {
    assert(
      point.index >= this.#target.index,
      () => `bound ${this.#target.index} to ${point.index}`,
    );
    this.#target = point;
    if (this.#writing !== undefined) return;
    if (point.index - this.#written.index >= BOUND_LAG_ENTRIES_MAX) this.#startWriting();
    else
      this.#cancelTimer ??= this.#options.schedule(() => this.#startWriting(), BOUND_INTERVAL_MS);
  }

  /** Resolves when the file promises nothing beyond `point`, before what follows is truncated. */
  async retreat(point: LogPoint): Promise<void> {
    if (this.#target.index > point.index) this.#target = point;
    await this.#settle();
    if (this.#written.index > point.index) await this.#write();
  }

  /** Resolves when the file says that the log starts at `start`, before what precedes is deleted. */
  async moveStart(start: LogStart): Promise<void> {
    assert(
      start.index >= this.#start.index && start.index <= this.#target.index,
      () => `start ${this.#start.index} to ${start.index} with bound ${this.#target.index}`,
    );
    await this.#settle();
    this.#options.latch.check();
    this.#start = start;
    await this.#write();
  }

  /** Resolves when the file has caught up. Rejects with STORAGE_FAILED. */
  async flush(): Promise<void> {
    await this.#settle();
    this.#options.latch.check();
    if (this.#written !== this.#target) await this.#write();
  }

  /** Closes the file as it is. */
  async close(): Promise<void> {
    await this.#settle();
    await this.#slots.close();
  }

  #startWriting(): void {
    this.#stopTimer();
    if (this.#writing !== undefined || this.#options.latch.failure !== undefined) return;
    // A failure is kept by the latch, which tells the process; nobody waits for this write.
    void this.#write().catch(() => undefined);
  }

  /** Writes start and target. The caller has seen that no write is in flight. */
  #write(): Promise<void> {
    assert(this.#writing === undefined, 'overlapping writes of the bound');
    const writing = this.#writePoint(this.#target).finally(() => {
      this.#writing = undefined;
      if (this.#written !== this.#target) this.advance(this.#target);
    });
    this.#writing = writing;
    return writing;
  }

  async #writePoint(point: LogPoint): Promise<void> {
    try {
      await this.#slots.write(encode(this.#start, point));
    } catch (error) {
      throw this.#options.latch.trip(`writing ${this.#options.path}`, error);
    }
    this.#written = point;
  }

  /** Waits for writes in flight, and for those they start in turn; no timer is set afterwards. */
  async #settle(): Promise<void> {
    // Their failures are kept by the latch.
    while (this.#writing !== undefined) await this.#writing.catch(() => undefined);
    this.#stopTimer();
  }

  #stopTimer(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
  }
}

function encode(start: LogStart, durable: LogPoint): Uint8Array {
  const body = new Uint8Array(BODY_BYTES);
  const view = viewOf(body);
  writeU64(view, 0, durable.index);
  view.setUint32(8, durable.checksum);
  view.setUint32(12, start.checksum);
  writeU64(view, 16, start.index);
  writeU64(view, 24, start.term);
  return body;
}

function decode(path: string, body: Uint8Array): { start: LogStart; durable: LogPoint } {
  if (body.byteLength !== BODY_BYTES) throw corruption(path, `body of ${body.byteLength} bytes`);
  const view = viewOf(body);
  const index = readU64(view, 0);
  const startIndex = readU64(view, 16);
  const startTerm = readU64(view, 24);
  if (index === undefined || startIndex === undefined || startTerm === undefined) {
    throw corruption(path, 'a field out of range under a valid checksum');
  }
  if (index < startIndex) throw corruption(path, `bound ${index} before log start ${startIndex}`);
  return {
    start: { index: startIndex, term: startTerm, checksum: view.getUint32(12) },
    durable: { index, checksum: view.getUint32(8) },
  };
}
