// When the bound is written, when it is lowered, and who hears that it could not be.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import {
  BOUND_LAG_ENTRIES_MAX,
  createDurableBound,
  DurableBound,
  type LogPoint,
} from './durable-bound.ts';
import type { StorageError } from './errors.ts';
import { FailureLatch } from './failure-latch.ts';
import type { SlotHandle } from './slot-file.ts';
import { ManualSchedule, NODE_ID } from './testing/fixtures.ts';

const OWNER = { nodeId: NODE_ID, incarnation: 77 };

describe('DurableBound', () => {
  let root: string;
  let path: string;
  let manual: ManualSchedule;
  let failures: StorageError[];

  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'queen-storage-'));
    path = join(root, 'durable');
    manual = new ManualSchedule();
    failures = [];
    await createDurableBound(path, OWNER, { index: 0, term: 0, checksum: 0 });
  });

  afterEach(() => rm(root, { recursive: true }));

  function open(wrap: (handle: SlotHandle) => SlotHandle = (handle) => handle) {
    const latch = new FailureLatch((error) => failures.push(error));
    return DurableBound.open({ path, owner: OWNER, latch, schedule: manual.schedule, wrap });
  }

  async function storedPoint(): Promise<LogPoint> {
    const bound = await open();
    await bound.close();
    return bound.written;
  }

  const point = (index: number): LogPoint => ({ index, checksum: index * 7 });

  it('is written once per interval, with the newest point', async () => {
    const bound = await open();
    for (let index = 1; index <= 100; index++) bound.advance(point(index));
    expect(manual.pendingCount).toBe(1);
    expect(bound.written.index).toBe(0);
    manual.runAll();
    await vi.waitUntil(() => bound.written.index === 100);
    expect(manual.pendingCount).toBe(0);
    await bound.close();
    expect(await storedPoint()).toEqual(point(100));
  });

  it('does not wait for the interval when it is far behind', async () => {
    const bound = await open();
    bound.advance(point(BOUND_LAG_ENTRIES_MAX - 1));
    expect(manual.pendingCount).toBe(1);
    bound.advance(point(BOUND_LAG_ENTRIES_MAX));
    expect(manual.pendingCount).toBe(0);
    await vi.waitUntil(() => bound.written.index === BOUND_LAG_ENTRIES_MAX);
    await bound.close();
  });

  it('follows up on points that came while it was being written', async () => {
    const bound = await open();
    bound.advance(point(1));
    manual.runAll();
    bound.advance(point(2));
    await vi.waitUntil(() => manual.pendingCount === 1);
    expect(bound.written).toEqual(point(1));
    await bound.flush();
    expect(bound.written).toEqual(point(2));
    await bound.close();
    expect(manual.pendingCount).toBe(0);
  });

  it('is lowered on disk before a retreat resolves, and not touched if it is low enough', async () => {
    const bound = await open();
    bound.advance(point(50));
    await bound.flush();
    bound.advance(point(60));
    await bound.retreat(point(55));
    expect(bound.written).toEqual(point(50));
    await bound.retreat(point(20));
    expect(bound.written).toEqual(point(20));
    expect(manual.pendingCount).toBe(0);
    await bound.close();
    expect(await storedPoint()).toEqual(point(20));
  });

  it('tells the process when a write in the background fails', async () => {
    const cause = new Error('EIO: i/o error');
    const bound = await open((handle) => ({
      write: handle.write.bind(handle),
      datasync: () => Promise.reject(cause),
      close: handle.close.bind(handle),
    }));
    bound.advance(point(1));
    manual.runAll();
    await vi.waitUntil(() => failures.length === 1);
    expect(failures[0]).toMatchObject({ code: 'STORAGE_FAILED', cause });
    await expect(bound.flush()).rejects.toMatchObject({ code: 'STORAGE_FAILED' });
    await bound.close();
  });
});
