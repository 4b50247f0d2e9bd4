// The contract suite of snapshots on real files, and what only real files can show.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { describeSnapshotStoreContract } from '@queen-ts/raft/testing';

import { openBoth, saveLastTerm } from './testing/fixtures.ts';

let opened = 0;

for (const cacheBytes of [0, 67_108_864]) {
  describeSnapshotStoreContract(`LevelDB, ${cacheBytes} bytes of cache`, async () => {
    const path = await mkdtemp(join(tmpdir(), 'queen-storage-'));
    const nodeId = ++opened;
    const options = { nodeId, cacheBytes, writeBufferBytes: 65_536 };
    let both = await openBoth(path, options);
    return {
      get log() {
        return both.log;
      },
      get checkpoints() {
        return both.directory.checkpoints;
      },
      get snapshots() {
        return both.directory.snapshots;
      },
      reopen: async () => {
        await saveLastTerm(both);
        await both.directory.close();
        both = await openBoth(path, options);
      },
      dispose: async () => {
        await both.directory.close();
        await rm(path, { recursive: true });
      },
    };
  });
}
