// Exclusive use of a data directory. Node.js has no advisory file lock, but LevelDB takes one that the
// operating system releases with the process, so a small empty LevelDB of its own serves as the lock:
// it is taken before anything else in the directory is looked at closely or changed. It holds no data;
// a damaged one is replaced. A text file beside it names the holder for the error message only.

import { readFile, realpath, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { ClassicLevel } from 'classic-level';

import { StorageError } from './errors.ts';
import { levelCode } from './log-database.ts';

/** Directory name inside the data directory. */
export const LOCK_DIRECTORY = 'lock';

/**
 * Directories locked by this thread. LevelDB's file lock is per process and is lost when the same
 * process opens the lock file once more, so a second opening here must not get that far.
 */
const lockedPaths = new Set<string>();

/** A held lock. */
export class DirectoryLock {
  readonly #realPath: string;
  readonly #level: ClassicLevel;

  private constructor(realPath: string, level: ClassicLevel) {
    this.#realPath = realPath;
    this.#level = level;
  }

  /** Takes the lock of an existing directory. Throws DIRECTORY_LOCKED. */
  static async acquire(directory: string): Promise<DirectoryLock> {
    const realPath = await realpath(directory);
    if (lockedPaths.has(realPath)) throw lockedError(directory, `this process (${process.pid})`);
    lockedPaths.add(realPath);
    try {
      const level = await openLevel(directory);
      await nameOwner(directory, level);
      return new DirectoryLock(realPath, level);
    } catch (error) {
      lockedPaths.delete(realPath);
      throw error;
    }
  }

  /** Gives the lock back. */
  async release(): Promise<void> {
    await this.#level.close();
    lockedPaths.delete(this.#realPath);
  }
}

async function openLevel(directory: string): Promise<ClassicLevel> {
  const path = join(directory, LOCK_DIRECTORY);
  try {
    return await openLevelOnce(path);
  } catch (error) {
    if (levelCode(error) === 'LEVEL_LOCKED') throw lockedError(directory, await holder(directory));
  }
  // Whatever else is wrong with it, there is nothing in it to lose. If the disk is at fault, creating
  // it again says so.
  await ClassicLevel.destroy(path);
  return await openLevelOnce(path);
}

async function nameOwner(directory: string, level: ClassicLevel): Promise<void> {
  try {
    await writeFile(ownerPath(directory), `pid ${process.pid}\n`);
  } catch (error) {
    await level.close();
    throw error;
  }
}

async function openLevelOnce(path: string): Promise<ClassicLevel> {
  const options = { createIfMissing: true, errorIfExists: false, writeBufferSize: 65_536 };
  const level = new ClassicLevel(path, options);
  await level.open(options);
  return level;
}

async function holder(directory: string): Promise<string> {
  // The name is a courtesy: without it the message is less precise, not wrong.
  const text = await readFile(ownerPath(directory), 'utf8').catch(() => '');
  return /^pid \d+\n$/.test(text) ? `another process (${text.trim()})` : 'another process';
}

function ownerPath(directory: string): string {
  return join(directory, LOCK_DIRECTORY, 'owner');
}

function lockedError(directory: string, who: string): StorageError {
  const message = `${directory}: in use by ${who}`;
  return new StorageError({ code: 'DIRECTORY_LOCKED', message, details: { path: directory } });
}
