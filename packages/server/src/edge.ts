// What the routes share: the broker, the clock, ids, limits, budgets and counters of this node.

import { UuidMinter } from '@queen-ts/base';
import type { Clock, Rng } from '@queen-ts/base';
import type { Broker, ClusterAdmin } from '@queen-ts/cluster';
import type { Logger } from 'pino';
import type { Config } from './config/config.ts';
import { Encryption } from './encryption/encryption.ts';
import type { EncryptionSettings } from './encryption/encryption.ts';
import { ByteBudget } from './http/byte-budget.ts';
import { EdgeCounters } from './metrics/edge-counters.ts';

/** Acks, lease extensions, configuration: small bodies, admitted apart from pushes. */
const CONTROL_BYTES_MAX = 64 * 1024 * 1024;

/** Pops in hand at once, parked ones included; more are refused. */
const POPS_MAX = 50_000;

/** The settings that the routes look at. */
export type EdgeConfig = Pick<
  Config,
  | 'bodyBytesMax'
  | 'popTimeoutMs'
  | 'pushTimeoutMs'
  | 'statementTimeoutMs'
  | 'defaultSubscriptionMode'
  | 'admitBytesMax'
  | 'admitHoldMs'
  | 'promoteLagEntriesMax'
  | 'readyLagEntriesMax'
  | 'electionTimeoutMs'
> &
  EncryptionSettings;

/** What an edge is built from. */
export interface EdgeParts {
  readonly broker: Broker;
  /** Changes and views of the cluster. */
  readonly admin: Pick<ClusterAdmin, keyof ClusterAdmin>;
  readonly clock: Clock;
  readonly rng: Rng;
  readonly config: EdgeConfig;
  readonly log: Logger;
  /** Ends the process: an invariant is broken. */
  readonly crash: (error: unknown) => void;
  /** Default: {@link POPS_MAX}. */
  readonly popsMax?: number;
}

/** The edge of one node. */
export interface Edge extends EdgeParts {
  readonly ids: UuidMinter;
  readonly counters: EdgeCounters;
  readonly encryption: Encryption;
  readonly pushBudget: ByteBudget;
  readonly controlBudget: ByteBudget;
  readonly popsMax: number;
  readonly startedUs: number;
}

/** Builds the edge. */
export function createEdge(parts: EdgeParts): Edge {
  const { admitBytesMax, admitHoldMs } = parts.config;
  return {
    ...parts,
    ids: new UuidMinter(parts.clock, parts.rng),
    counters: new EdgeCounters(),
    encryption: new Encryption(parts, parts.config),
    pushBudget: new ByteBudget({ bytesMax: admitBytesMax, holdMs: admitHoldMs }),
    controlBudget: new ByteBudget({ bytesMax: CONTROL_BYTES_MAX, holdMs: admitHoldMs }),
    popsMax: parts.popsMax ?? POPS_MAX,
    startedUs: parts.clock.monotonicUs(),
  };
}

/** The deadline of a request that has `timeoutMs` from now, in monotonic microseconds. */
export function deadlineIn(edge: Edge, timeoutMs: number): number {
  return edge.clock.monotonicUs() + timeoutMs * 1000;
}
