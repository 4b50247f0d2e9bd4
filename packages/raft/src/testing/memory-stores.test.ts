// The in-memory stores keep the contracts that the real ones keep.

import { describe, expect, it } from 'vitest';
import { describeHardStateStoreContract } from './hard-state-store-contract.ts';
import { describeLogStoreContract } from './log-store-contract.ts';
import { MemoryCheckpointStore } from './memory-checkpoint-store.ts';
import { MemoryHardStateStore } from './memory-hard-state-store.ts';
import { MemoryLogStore } from './memory-log-store.ts';
import { MemorySnapshotStore } from './memory-snapshot-store.ts';
import { describeSnapshotStoreContract } from './snapshot-store-contract.ts';

const EMPTY = new Uint8Array(0);

describeLogStoreContract('memory', () => {
  let store = new MemoryLogStore();
  return Promise.resolve({
    store,
    reopen: () => {
      store = store.crash();
      return Promise.resolve(store);
    },
    dispose: () => store.close(),
  });
});

describeSnapshotStoreContract('memory', () => {
  let log = new MemoryLogStore();
  let checkpoints = new MemoryCheckpointStore((index) => log.term(index));
  let snapshots = new MemorySnapshotStore(log, checkpoints, 10_000);
  return Promise.resolve({
    get log() {
      return log;
    },
    get checkpoints() {
      return checkpoints;
    },
    get snapshots() {
      return snapshots;
    },
    reopen: () => {
      log = log.crash();
      const survivor = log;
      checkpoints = checkpoints.crash((index) => survivor.term(index));
      snapshots = new MemorySnapshotStore(log, checkpoints, 10_000);
      return Promise.resolve();
    },
    dispose: () => log.close(),
  });
});

describeHardStateStoreContract('memory', () => {
  const store = new MemoryHardStateStore(77);
  return Promise.resolve({
    store,
    reopen: () => Promise.resolve(store.crash()),
    dispose: () => Promise.resolve(),
  });
});

describe('the in-memory stores as fakes', () => {
  it('lose what was begun but not synced', () => {
    const log = new MemoryLogStore();
    log.begin([{ index: 1, term: 1, type: 'noop', head: EMPTY, payload: EMPTY }]);
    expect(log.lastIndex).toBe(1);
    expect(log.crash().lastIndex).toBe(0);
    const hardState = new MemoryHardStateStore(1);
    hardState.begin({ term: 2, votedFor: 0, commitIndex: 0 });
    expect(hardState.crash().current.term).toBe(0);
  });

  it('poison themselves on a failed write', async () => {
    const log = new MemoryLogStore();
    log.failWrites();
    const entry = { index: 1, term: 1, type: 'noop', head: EMPTY, payload: EMPTY } as const;
    await expect(log.append([entry])).rejects.toMatchObject({ code: 'STORAGE_FAILED' });
    const hardState = new MemoryHardStateStore(1);
    hardState.failWrites();
    const saving = hardState.save({ term: 1, votedFor: 0, commitIndex: 0 });
    await expect(saving).rejects.toMatchObject({ code: 'STORAGE_FAILED' });
  });
});
