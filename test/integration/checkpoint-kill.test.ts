// A real process killed while it takes checkpoints, again and again in one directory: the state that a
// start comes to from the newest checkpoint is the one that the whole log gives, and nothing that was
// acknowledged is missing.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { cp, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { randomBelow, SeededRng } from '@queen-ts/base';
import { Engine, ENGINE_LIMITS_DEFAULT, EngineRestorer } from '@queen-ts/engine';
import { dump } from '@queen-ts/engine/testing';
import { toNodeId } from '@queen-ts/raft';
import type { LogReader } from '@queen-ts/raft';
import { openDataDirectory } from '@queen-ts/storage';
import { afterEach, beforeEach, expect, it } from 'vitest';

const PROCESS = new URL('../support/checkpointing-process.ts', import.meta.url).pathname;
const ROUNDS = 8;

/** A process that has said this much without a checkpoint is killed all the same. */
const LINES_MAX = 5000;

let root: string;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'queen-checkpoints-'));
});

afterEach(async () => {
  await rm(root, { recursive: true, force: true });
});

it('a kill at any moment of a checkpoint costs nothing', async () => {
  const path = join(root, 'data');
  const rng = new SeededRng(41);
  const tails = new Map<number, number>();
  let interrupted = 0;
  let newest = 0;
  for (let round = 1; round <= ROUNDS; round += 1) {
    const startedFrom = await runUntilKilled(path, tails, {
      seed: round,
      lines: 60 + randomBelow(rng, 90),
      // Every other kill waits for a checkpoint to be in the making; the rest fall where they fall.
      meetsCheckpoint: round % 2 === 0,
    });
    // What the start before had found is still there, or something newer.
    expect(startedFrom).toBeGreaterThanOrEqual(newest);
    const names = await readdir(join(path, 'checkpoints'));
    interrupted += names.includes('writing') ? 1 : 0;

    const whole = join(root, 'whole');
    await cp(path, whole, { recursive: true });
    await rm(join(whole, 'checkpoints'), { recursive: true });
    const fromCheckpoint = await recover(path);
    const fromLog = await recover(whole);
    await rm(whole, { recursive: true });
    expect([fromLog.index, fromCheckpoint.index > 0]).toEqual([0, true]);
    expect(fromCheckpoint.digest).toBe(fromLog.digest);
    expect(fromCheckpoint.rows).toEqual(fromLog.rows);
    expect(fromCheckpoint.rememberedIds).toBe(fromLog.rememberedIds);
    for (const [partition, tail] of tails) {
      expect(fromCheckpoint.tails.get(`c-${partition}`)).toBeGreaterThanOrEqual(tail);
    }
    newest = fromCheckpoint.index;
  }
  // Otherwise no kill has met a checkpoint, and the test has shown nothing.
  expect(interrupted).toBeGreaterThan(0);
  expect(newest).toBeGreaterThan(100);
});

/**
 * Lets the process work until it has said so many lines, and until a checkpoint is being written if
 * the kill is to meet one; returns which checkpoint it began from.
 */
async function runUntilKilled(
  path: string,
  tails: Map<number, number>,
  options: { readonly seed: number; readonly lines: number; readonly meetsCheckpoint: boolean },
): Promise<number> {
  const args = ['--conditions=source', PROCESS, path, String(options.seed)];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = once(child, 'exit');
  let lines = 0;
  let startedFrom = -1;
  for await (const line of createInterface({ input: child.stdout })) {
    const [verb, first = '', second = ''] = line.split(' ');
    if (verb === 'started') startedFrom = Number(first);
    else tails.set(Number(first), Number(second));
    lines += 1;
    const isWriting = existsSync(join(path, 'checkpoints', 'writing'));
    const isMet = isWriting || !options.meetsCheckpoint || lines >= LINES_MAX;
    if (lines >= options.lines && isMet) child.kill('SIGKILL');
  }
  await exited;
  expect(lines).toBeGreaterThanOrEqual(options.lines);
  return startedFrom;
}

/** What a start comes to when everything in the log is committed. */
async function recover(path: string) {
  const directory = await openDataDirectory({
    path,
    nodeId: toNodeId(1),
    rng: new SeededRng(1),
    schedule: () => () => undefined,
  });
  let log: LogReader | undefined;
  const payloads = { payload: (range: Parameters<LogReader['payload']>[0]) => log!.payload(range) };
  const options = { payloads, limits: ENGINE_LIMITS_DEFAULT };
  let restorer = new EngineRestorer(options);
  const loaded = await directory.checkpoints.load({
    begin: () => {
      restorer = new EngineRestorer(options);
    },
    piece: (bytes) => restorer.accept(bytes),
  });
  const engine = loaded === undefined ? new Engine(options) : restorer.finish();
  log = await directory.openLog({
    from: loaded?.position ?? { index: 0, term: 0, checksum: 0 },
    onEntry: (entry) => {
      if (entry.type === 'command') engine.apply(entry);
    },
  });
  const { partitions } = engine.state;
  const tails = new Map<string, number>();
  partitions.numbers.forEach((_, row) => {
    tails.set(partitions.names.nameText(row), partitions.tail.get(row));
  });
  // Rows of old blocks are read from the log.
  const rows = dump(engine);
  await directory.close();
  expect(directory.warnings).toEqual([]);
  const { rememberedIds } = engine.counters();
  return {
    index: loaded?.meta.index ?? 0,
    digest: engine.digest(),
    rows,
    rememberedIds,
    tails,
  };
}
