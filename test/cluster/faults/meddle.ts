// Loaded into a member before its own code (`node --import`): moves the wall clock that it sees and
// slows its syncs, as told over the process's channel. The product itself knows nothing of it.

import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

/** What the harness tells a member. */
export interface Meddling {
  /** Added to the wall clock, in milliseconds. */
  readonly clockOffsetMs?: number;
  /** Added to each synced write of the log, in milliseconds. */
  readonly syncDelayMs?: number;
}

interface SyncedWriter {
  _batch(operations: unknown, options: { readonly sync?: boolean }): Promise<void>;
}

const state = { clockOffsetMs: 0, syncDelayMs: 0 };

const trueNow = Date.now;
Date.now = () => trueNow() + state.clockOffsetMs;

// The copy of the library that the storage package loads.
const storage = fileURLToPath(new URL('../../../packages/storage/package.json', import.meta.url));
const { ClassicLevel } = createRequire(storage)('classic-level') as {
  ClassicLevel: { prototype: SyncedWriter };
};
const { prototype } = ClassicLevel;
const trueBatch = Reflect.get(prototype, '_batch') as SyncedWriter['_batch'];
prototype._batch = async function delayedBatch(this: SyncedWriter, operations, options) {
  await trueBatch.call(this, operations, options);
  if (options.sync !== true || state.syncDelayMs === 0) return;
  await new Promise((resolve) => setTimeout(resolve, state.syncDelayMs));
};

process.on('message', (meddling: Meddling) => {
  Object.assign(state, meddling);
  process.send?.({ done: meddling });
});
// The channel must not keep a stopping member alive.
process.channel?.unref();
