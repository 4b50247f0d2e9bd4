// Looks at the disk of this node once a second, tells the gate how full it is, and keeps the reserve.

import type { DiskGate } from '@queen-ts/cluster';
import { statfs } from 'node:fs/promises';
import type { Logger } from 'pino';
import { DiskReserve, RESERVE_BYTES } from './disk-reserve.ts';

/** Time between two looks, in milliseconds. */
const LOOK_MS = 1000;

/** The reserve is taken once this part of the disk is used: before, filling it up takes long enough. */
const RESERVE_FROM_USED = 0.5;

/** Room as the file system gives it to this user, in bytes. */
export interface DiskRoom {
  readonly usedBytes: number;
  readonly freeBytes: number;
}

/** Asks the file system that holds `path`. What is set aside for its owner counts as neither. */
export async function readDiskRoom(path: string): Promise<DiskRoom> {
  const { bsize, blocks, bfree, bavail } = await statfs(path);
  return { usedBytes: (blocks - bfree) * bsize, freeBytes: bavail * bsize };
}

/** The used part in [0, 1]; a file system that does not tell its size counts as empty. */
export function usedPart({ usedBytes, freeBytes }: DiskRoom): number {
  const total = usedBytes + freeBytes;
  return total === 0 ? 0 : usedBytes / total;
}

/** What a watch is made of. */
export interface DiskWatchParts {
  readonly dataDirectory: string;
  readonly gate: DiskGate;
  readonly log: Logger;
  /** Default: {@link readDiskRoom}. */
  readonly readRoom?: (path: string) => Promise<DiskRoom>;
  /** Default: {@link RESERVE_BYTES}. */
  readonly reserveBytes?: number;
}

/** The disk of one node. */
export class DiskWatch {
  readonly #parts: DiskWatchParts;
  readonly #reserve: DiskReserve;
  readonly #reserveBytes: number;
  #room: DiskRoom = { usedBytes: 0, freeBytes: 0 };
  #freedBytes = 0;
  #tell: (used: number) => void = () => {};
  #isUnreadable = false;
  #wasClosed = false;
  #isStopped = false;
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> = Promise.resolve();

  constructor(parts: DiskWatchParts) {
    this.#parts = parts;
    this.#reserve = new DiskReserve(parts.dataDirectory);
    this.#reserveBytes = parts.reserveBytes ?? RESERVE_BYTES;
  }

  /** What the watch reports to. */
  get gate(): DiskGate {
    return this.#parts.gate;
  }

  /** What the last look saw. */
  get room(): DiskRoom {
    return this.#room;
  }

  /** Call before the log is opened: makes room for that if there is too little. */
  async makeRoom(): Promise<void> {
    const { dataDirectory, log } = this.#parts;
    const readRoom = this.#parts.readRoom ?? readDiskRoom;
    if ((await this.#reserve.size()) === 0) return;
    const { freeBytes } = await readRoom(dataDirectory);
    if (freeBytes >= this.#reserveBytes) return;
    this.#freedBytes = await this.#reserve.free();
    log.warn({ freedBytes: this.#freedBytes }, 'disk full: gave up the reserve to open the log');
  }

  /**
   * Call once the log is open: looks at once, then every second until {@link stop}.
   * @param tell is told the used part of the disk and sees to it that the gate knows.
   */
  async start(tell: (used: number) => void): Promise<void> {
    this.#tell = tell;
    // Half of it stays for acks and deletions, which are to make room; the next start needs some too.
    if (this.#freedBytes > 0) await this.#reserve.take(this.#freedBytes / 2);
    await this.#look();
    this.#arm();
  }

  /** Ends the looks. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    await this.#looking;
  }

  #arm(): void {
    if (this.#isStopped) return;
    this.#timer = setTimeout(() => {
      this.#looking = this.#look().then(() => this.#arm());
    }, LOOK_MS);
    this.#timer.unref();
  }

  /** Never rejects: what cannot be read is not known to be full, and a write that fails ends the node. */
  async #look(): Promise<void> {
    const { dataDirectory, gate, log } = this.#parts;
    try {
      this.#room = await (this.#parts.readRoom ?? readDiskRoom)(dataDirectory);
      this.#tell(usedPart(this.#room));
      await this.#keepReserve();
      this.#isUnreadable = false;
    } catch (error) {
      if (!this.#isUnreadable) log.warn({ err: error }, 'the disk does not tell how full it is');
      this.#isUnreadable = true;
    }
    // What others tell may have changed it since the last look.
    if (gate.isClosed === this.#wasClosed) return;
    this.#wasClosed = gate.isClosed;
    const disk = gate.worstVoterDisk;
    if (gate.isClosed) log.warn({ disk }, 'disk nearly full: refusing messages');
    else log.info({ disk }, 'disk has room again: taking messages');
  }

  async #keepReserve(): Promise<void> {
    const size = this.#reserveBytes;
    const isTime = usedPart(this.#room) >= RESERVE_FROM_USED && !this.#parts.gate.isClosed;
    // It must not be what closes the gate.
    const hasRoom = this.#room.freeBytes > size * 4;
    if (!isTime || !hasRoom || (await this.#reserve.size()) >= size) return;
    await this.#reserve.take(size);
  }
}
