// A file that holds room on the disk for the one moment that must not fail for want of it: opening the log
// after the disk has filled up. Opening turns LevelDB's write-ahead file into a table and so needs as much
// again. The file is given up before the log is opened, and taken again once there is room.

import { open, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';

/** Size of the reserve: twice the largest write-ahead file (`WRITE_BUFFER_BYTES` of storage). */
export const RESERVE_BYTES = 64 * 1024 * 1024;

/** Less is no help any more. */
const RESERVE_BYTES_MIN = 4 * 1024 * 1024;

const RESERVE_FILE = 'reserve';
const PIECE_BYTES = 1024 * 1024;

/** There is none, or nobody may look: then opening the directory tells better what is wrong. */
const MISSING_CODES: readonly unknown[] = ['ENOENT', 'ENOTDIR', 'EACCES'];

const FULL_CODES: readonly unknown[] = ['ENOSPC', 'EDQUOT'];

/** The reserve of one data directory. */
export class DiskReserve {
  readonly #path: string;

  constructor(dataDirectory: string) {
    this.#path = join(dataDirectory, RESERVE_FILE);
  }

  /** Size of the file in bytes, 0 when there is none. */
  async size(): Promise<number> {
    try {
      return (await stat(this.#path)).size;
    } catch (error) {
      if (hasCode(error, MISSING_CODES)) return 0;
      throw error;
    }
  }

  /** Gives the room back; returns how much it was. */
  async free(): Promise<number> {
    const size = await this.size();
    await rm(this.#path, { force: true });
    return size;
  }

  /**
   * Takes room; returns whether there was enough. Nothing is kept of a reserve that is not complete, and
   * one of less than 4 MiB is not taken at all.
   */
  async take(sizeBytes: number): Promise<boolean> {
    if (sizeBytes < RESERVE_BYTES_MIN) return false;
    try {
      await this.#write(sizeBytes);
      return true;
    } catch (error) {
      await rm(this.#path, { force: true });
      if (hasCode(error, FULL_CODES)) return false;
      throw error;
    }
  }

  async #write(sizeBytes: number): Promise<void> {
    const file = await open(this.#path, 'w');
    try {
      // Not zeros: some file systems store none of those.
      const piece = Buffer.alloc(PIECE_BYTES, this.#path);
      for (let at = 0; at < sizeBytes; at += PIECE_BYTES) {
        await file.write(piece, 0, Math.min(PIECE_BYTES, sizeBytes - at));
      }
      await file.datasync();
    } finally {
      await file.close();
    }
  }
}

function hasCode(error: unknown, codes: readonly unknown[]): boolean {
  return error instanceof Error && 'code' in error && codes.includes(error.code);
}
