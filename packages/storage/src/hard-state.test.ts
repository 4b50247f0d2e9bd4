// The vote file as a HardStateStore, and its order of writing, syncing and answering.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { InvariantError } from '@queen-ts/base';
import type { NodeId } from '@queen-ts/raft';
import { describe, expect, it } from 'vitest';

import { describeHardStateStoreContract } from '@queen-ts/raft/testing';
import { FailureLatch } from './failure-latch.ts';
import { createHardStateFile, HardStateFile } from './hard-state.ts';
import type { SlotHandle } from './slot-file.ts';
import { NODE_ID, withTemporaryDirectory } from './testing/fixtures.ts';

const OWNER = { nodeId: NODE_ID, incarnation: 77 };
const VOTE = { term: 2, votedFor: 3 as NodeId, commitIndex: 5 };

describeHardStateStoreContract('vote file', async () => {
  const root = await mkdtemp(join(tmpdir(), 'queen-storage-'));
  const path = join(root, 'vote');
  const latch = new FailureLatch(() => undefined);
  await createHardStateFile(path, OWNER);
  let store = await HardStateFile.open({ path, owner: OWNER, latch });
  return {
    store,
    reopen: async () => {
      await store.close();
      store = await HardStateFile.open({ path, owner: OWNER, latch });
      return store;
    },
    dispose: async () => {
      await store.close();
      await rm(root, { recursive: true });
    },
  };
});

describe('HardStateFile', () => {
  it('resolves a save after both copies are written and synced, in this order', async () => {
    await withTemporaryDirectory(async (root) => {
      const calls: string[] = [];
      const { store } = await openWrapped(root, (handle) => ({
        write: (bytes, offset, length, position) => {
          calls.push(`write ${position}`);
          return handle.write(bytes, offset, length, position);
        },
        datasync: async () => {
          await handle.datasync();
          calls.push('synced');
        },
        close: () => handle.close(),
      }));
      await store.save(VOTE).then(() => calls.push('resolved'));
      expect(calls).toEqual(['write 4096', 'write 12288', 'synced', 'resolved']);
      await store.close();
    });
  });

  it.each(['write', 'datasync'] as const)('is poisoned for good by a failed %s', async (method) => {
    await withTemporaryDirectory(async (root) => {
      const cause = new Error('EIO: i/o error');
      let isFailing = true;
      const failures: string[] = [];
      const { store, latch } = await openWrapped(
        root,
        (handle) => ({
          write: handle.write.bind(handle),
          datasync: handle.datasync.bind(handle),
          close: handle.close.bind(handle),
          [method]: () => (isFailing ? Promise.reject(cause) : Promise.resolve()),
        }),
        failures,
      );
      await expect(store.save(VOTE)).rejects.toMatchObject({ code: 'STORAGE_FAILED', cause });
      isFailing = false;
      await expect(store.save(VOTE)).rejects.toMatchObject({ code: 'STORAGE_FAILED', cause });
      expect(store.current).toEqual({ term: 0, votedFor: 0, commitIndex: 0 });
      expect(latch.failure?.cause).toBe(cause);
      expect(failures.length).toBe(1);
      await store.close();
    });
  });

  it('lets a save in flight end before it closes', async () => {
    await withTemporaryDirectory(async (root) => {
      const { store } = await openWrapped(root, (handle) => handle);
      const saving = store.save(VOTE);
      await store.close();
      await saving;
      expect(store.current).toEqual(VOTE);
    });
  });

  it('refuses to take back a term, a vote or a commit index', async () => {
    await withTemporaryDirectory(async (root) => {
      const { store } = await openWrapped(root, (handle) => handle);
      await store.save(VOTE);
      for (const wrong of [
        { ...VOTE, term: 1 },
        { ...VOTE, votedFor: 4 as NodeId },
        { ...VOTE, votedFor: 0 as const },
        { ...VOTE, commitIndex: 4 },
      ]) {
        await expect(store.save(wrong)).rejects.toThrow(InvariantError);
      }
      await store.save({ term: 3, votedFor: 0, commitIndex: 5 });
      await store.close();
      await expect(store.save(VOTE)).rejects.toMatchObject({ code: 'STORE_CLOSED' });
    });
  });
});

async function openWrapped(
  root: string,
  wrap: (handle: SlotHandle) => SlotHandle,
  failures: string[] = [],
) {
  const path = join(root, 'vote');
  const latch = new FailureLatch((error) => failures.push(error.message));
  await createHardStateFile(path, OWNER);
  return { store: await HardStateFile.open({ path, owner: OWNER, latch, wrap }), latch };
}
