// Durable file operations that Node.js does not have in one call.

import { mkdir, open, rename } from 'node:fs/promises';
import { dirname } from 'node:path';

import { hasSystemCode } from './errors.ts';

/** Makes the entries of `directory` durable: creations, renames and removals in it. */
export async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Replaces the file at `path` so that after a crash it is either the old or the new one. */
export async function writeFileAtomically(path: string, text: string): Promise<void> {
  const temporary = `${path}.tmp`;
  const handle = await open(temporary, 'w');
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(temporary, path);
  await syncDirectory(dirname(path));
}

/**
 * Makes the directory at `path` with its parents, where there are none. Node.js has this as an option
 * of `mkdir`, which never comes back where a file system takes no directories, as below `/proc`.
 */
export async function makeDirectory(path: string): Promise<void> {
  try {
    await mkdir(path);
  } catch (error) {
    // What is no directory shows when it is used.
    if (hasSystemCode(error, 'EEXIST')) return;
    const parent = dirname(path);
    if (!hasSystemCode(error, 'ENOENT') || parent === path) throw error;
    await makeDirectory(parent);
    await makeLeaf(path);
  }
}

/** Another process may be making the same one. */
async function makeLeaf(path: string): Promise<void> {
  try {
    await mkdir(path);
  } catch (error) {
    if (!hasSystemCode(error, 'EEXIST')) throw error;
  }
}
