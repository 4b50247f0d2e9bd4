// Durable file operations that Node.js does not have in one call.

import { open, rename } from 'node:fs/promises';
import { dirname } from 'node:path';

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
