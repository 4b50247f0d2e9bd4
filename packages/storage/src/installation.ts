// Puts a finished snapshot in the place of log, durable bound and checkpoints, so that a crash at any
// moment leaves either the old ones or, after the next start, the new ones:
//
//   1. `incoming/` is complete and durable. Without the marker it is removed by the next start.
//   2. `incoming/complete` is created, durably: from here on it only goes forward.
//   3. For each of log, durable, checkpoints: the old one is removed, the new one is renamed to its
//      place. What is no longer in `incoming/` has been moved already.
//   4. The marker goes last, then the directory.

import { access, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';

import { CHECKPOINT_DIRECTORY } from './checkpoint-directory.ts';
import { BOUND_FILE } from './durable-bound.ts';
import { hasSystemCode } from './errors.ts';
import { syncDirectory, writeFileAtomically } from './files.ts';
import { LOG_DIRECTORY } from './log-database.ts';

/** Directory name inside the data directory. */
export const INCOMING_DIRECTORY = 'incoming';

const COMPLETE_FILE = 'complete';
const MOVED_NAMES = [CHECKPOINT_DIRECTORY, BOUND_FILE, LOG_DIRECTORY];

/** The point of no return: what is in `incoming/` is complete, durable, and accepted. */
export async function markComplete(directoryPath: string): Promise<void> {
  await writeFileAtomically(join(directoryPath, INCOMING_DIRECTORY, COMPLETE_FILE), '');
}

/**
 * Goes forward with a snapshot that was accepted, or removes one that was not. Nothing of the directory
 * may be open. Idempotent; returns whether there was one.
 */
export async function settleIncoming(directoryPath: string): Promise<boolean> {
  const incoming = join(directoryPath, INCOMING_DIRECTORY);
  if (!(await exists(incoming))) return false;
  const marker = join(incoming, COMPLETE_FILE);
  const isComplete = await exists(marker);
  if (isComplete) {
    for (const name of MOVED_NAMES) await replace(join(incoming, name), join(directoryPath, name));
    // The renames must not be lost when the marker is gone.
    await syncDirectory(directoryPath);
    await syncDirectory(incoming);
    await rm(marker);
    await syncDirectory(incoming);
  }
  await rm(incoming, { recursive: true, force: true });
  await syncDirectory(directoryPath);
  return isComplete;
}

async function replace(from: string, to: string): Promise<void> {
  if (!(await exists(from))) return;
  await rm(to, { recursive: true, force: true });
  await rename(from, to);
}

async function exists(path: string): Promise<boolean> {
  try {
    await access(path);
    return true;
  } catch (error) {
    if (hasSystemCode(error, 'ENOENT')) return false;
    throw error;
  }
}
