// How much of the log a node keeps, and how often its state is written beside it.

import { readInteger } from './environment.ts';
import type { Environment } from './environment.ts';

const MEBIBYTE = 1024 * 1024;

/** Settings of log and checkpoints. */
export interface LogSettings {
  /** How long entries stay in the log for a member that is away, in seconds. */
  readonly purgeHoldSeconds: number;
  /** What is kept for it at most. */
  readonly purgeHoldBytes: number;
  /** Growth of the log after which a checkpoint is taken; the log keeps as much behind its end. */
  readonly checkpointEveryBytes: number;
}

/** Reads them. Throws ConfigError. */
export function readLogSettings(environment: Environment): LogSettings {
  return {
    purgeHoldSeconds: readInteger(environment, 'QUEEN_RAFT_PURGE_HOLD_S', {
      min: 0,
      max: 604_800,
      fallback: 600,
    }),
    purgeHoldBytes: readInteger(environment, 'QUEEN_RAFT_PURGE_HOLD_BYTES', {
      min: 0,
      max: 1024 * 1024 * MEBIBYTE,
      fallback: 1024 * MEBIBYTE,
    }),
    checkpointEveryBytes: readInteger(environment, 'QUEEN_RAFT_DURABLE_EVERY_BYTES', {
      min: 65_536,
      max: 16_384 * MEBIBYTE,
      fallback: 64 * MEBIBYTE,
    }),
  };
}
