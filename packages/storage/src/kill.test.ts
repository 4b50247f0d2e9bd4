// A real process killed while it appends, again and again in one directory: what it said was appended
// is there, byte for byte, and the log continues.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

import { randomBelow, SeededRng } from '@queen-ts/base';
import type { Entry } from '@queen-ts/raft';
import { describe, expect, it } from 'vitest';

import {
  entryOf,
  openBoth,
  readAll,
  sameEntry,
  withTemporaryDirectory,
} from './testing/fixtures.ts';

const APPENDING_PROCESS = new URL('./testing/appending-process.ts', import.meta.url).pathname;
const ROUND_COUNT = 4;

describe('a killed process', () => {
  it('leaves every acknowledged entry behind', async () => {
    await withTemporaryDirectory(async (root) => {
      const path = join(root, 'data');
      const rng = new SeededRng(77);
      /** Acknowledged entries; those from `uncertainFrom` on may have been replaced by the last append. */
      let model: Entry[] = [];
      for (let round = 1; round <= ROUND_COUNT; round++) {
        const uncertainFrom = await appendUntilKilled(path, model, {
          seed: round,
          lineCount: 50 + randomBelow(rng, 150),
        });
        const { directory, log } = await openBoth(path);
        const found = readAll(log);
        await directory.close();
        const certain = model.slice(0, uncertainFrom - 1);
        expect(certain.every((entry, i) => sameEntry(entry, found[i]))).toBe(true);
        expect(found.length).toBeGreaterThanOrEqual(certain.length);
        model = found;
      }
      expect(model.length).toBeGreaterThan(100);
    });
  }, 60_000);
});

/** Updates `model` by what the process acknowledges; returns the first index that is in doubt. */
async function appendUntilKilled(
  path: string,
  model: Entry[],
  options: { readonly seed: number; readonly lineCount: number },
): Promise<number> {
  const args = ['--conditions=source', APPENDING_PROCESS, path, String(options.seed)];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = once(child, 'exit');
  let uncertainFrom = Infinity;
  let lineCount = 0;
  for await (const line of createInterface({ input: child.stdout })) {
    const [verb, from = 0, count = 0, term = 0, payloadBytes = 0] = line
      .split(' ')
      .map((word, i) => (i === 0 ? word : Number(word))) as [string, ...number[]];
    if (verb === 'truncating') {
      uncertainFrom = from;
      continue;
    }
    uncertainFrom = Infinity;
    model.length = from - 1;
    for (let i = 0; i < count; i++) model.push(entryOf({ index: from + i, term, payloadBytes }));
    if (++lineCount === options.lineCount) child.kill('SIGKILL');
  }
  await exited;
  expect(lineCount).toBeGreaterThanOrEqual(options.lineCount);
  return Math.min(uncertainFrom, model.length + 1);
}
