// The testing door of @queen-ts/raft: in-memory stores whose unsynced writes can be lost, and the
// contract suites that every store runs, real and fake alike. Needs vitest; never in production.

export { describeHardStateStoreContract } from './testing/hard-state-store-contract.ts';
export type { HardStateStoreFixture } from './testing/hard-state-store-contract.ts';
export { describeLogStoreContract } from './testing/log-store-contract.ts';
export type { LogStoreFixture } from './testing/log-store-contract.ts';
export { MemoryCheckpointStore } from './testing/memory-checkpoint-store.ts';
export { MemoryHardStateStore } from './testing/memory-hard-state-store.ts';
export { MemoryLogStore } from './testing/memory-log-store.ts';
export { MemoryStoreError } from './testing/memory-store-error.ts';
export { MemorySnapshotStore } from './testing/memory-snapshot-store.ts';
export { describeSnapshotStoreContract } from './testing/snapshot-store-contract.ts';
export type { SnapshotFixture } from './testing/snapshot-store-contract.ts';
