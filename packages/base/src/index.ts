// The public door of @queen-ts/base.

export { assert, InvariantError, unreachable } from './assert.ts';
export type { Clock } from './clock.ts';
export { randomBelow, SeededRng } from './rng.ts';
export type { Rng } from './rng.ts';
