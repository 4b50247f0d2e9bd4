// The second door of @queen-ts/engine: a driver for tests of this and other packages.

export { ackCommand, popCommand, pushCommand } from './testing/commands.ts';
export type { AckItem, PopFields, PushItem } from './testing/commands.ts';
export { EngineDriver, MemoryPayloads, TEST_START_US } from './testing/driver.ts';
export type { AckedItem, Popped, PoppedMessage, PushedItem, Signal } from './testing/driver.ts';
export { dump } from './testing/dump.ts';
