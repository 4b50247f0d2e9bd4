// The configuration of a node: the environment, read once, typed and validated. Nothing else in the
// product reads environment variables. `docs/operating/configuration.md` describes each of them.

import {
  BODY_BYTES_MAX_DEFAULT,
  ENTRY_BYTES_MAX_DEFAULT,
  POP_TIMEOUT_MS_MAX,
} from '@queen-ts/protocol';
import { hostname } from 'node:os';
import { isIP } from 'node:net';
import { resolve } from 'node:path';
import type { EncryptionSettings } from '../encryption/encryption.ts';
import { readCluster, readPromoteLag, readReadyLag } from './cluster-settings.ts';
import type { ClusterSettings } from './cluster-settings.ts';
import { badValue } from './config-error.ts';
import { readEncryption } from './encryption-settings.ts';
import { readLogSettings } from './log-settings.ts';
import type { LogSettings } from './log-settings.ts';
import { readBoolean, readChoice, readInteger, readText } from './environment.ts';
import type { Environment } from './environment.ts';
import { refuseUnsupported } from './unsupported.ts';

/** Levels of the log, least severe first; `silent` turns it off. */
export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent';

/** What a node is started with. Sizes are in bytes and durations in milliseconds. */
export interface Config extends EncryptionSettings, LogSettings {
  /** 0 lets the system choose a free port. */
  readonly port: number;
  readonly bindAddress: string;
  /** Absolute path. */
  readonly dataDirectory: string;
  readonly nodeId: number;
  readonly bodyBytesMax: number;
  /** Largest planned command. */
  readonly entryBytesMax: number;
  /** Default `timeout` of a pop. */
  readonly popTimeoutMs: number;
  /** Deadline of a push: the same, up to a minute. */
  readonly pushTimeoutMs: number;
  /** Deadline of acks, lease extensions and everything else. */
  readonly statementTimeoutMs: number;
  readonly defaultSubscriptionMode: 'all' | 'new';
  /** Bytes of pushes admitted at once; 0 means no limit. */
  readonly admitBytesMax: number;
  /** How long a push waits to be admitted. */
  readonly admitHoldMs: number;
  /** Time from the start of one retention pass to the next. */
  readonly retentionIntervalMs: number;
  /** How long a partition is empty and unused before it is removed. */
  readonly partitionCleanupDays: number;
  /** Messages are refused once this much of a disk is used, in percent. */
  readonly diskHighPercent: number;
  /** They are taken again once less than this is used; at most the high mark. */
  readonly diskLowPercent: number;
  /** Undefined for a node that is alone. */
  readonly cluster: ClusterSettings | undefined;
  /** Entries that a learner may lag behind and still be promoted. */
  readonly promoteLagEntriesMax: number;
  /** Committed entries that this node may have to apply and still be ready. */
  readonly readyLagEntriesMax: number;
  readonly electionTimeoutMs: number;
  readonly heartbeatMs: number;
  readonly logLevel: LogLevel;
  readonly logJson: boolean;
}

/** Longest deadline of a request that is not a pop. */
const WRITE_TIMEOUT_MS_MAX = 60_000;

const PORT_DEFAULT = 6632;
const SIZE_MAX = 2 ** 31 - 1;
const MEBIBYTE = 1024 * 1024;
const HOST_NAME = /^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$/;
const ORDINAL_SUFFIX = /-(\d{1,9})$/;

const SUBSCRIPTION_MODES: ReadonlyMap<string, 'all' | 'new'> = new Map([
  ['all', 'all'],
  ['new', 'new'],
  ['new-only', 'new'],
  ['new_only', 'new'],
  ['newonly', 'new'],
]);

const LOG_LEVELS: ReadonlyMap<string, LogLevel> = new Map(
  (['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const).map((level) => [
    level,
    level,
  ]),
);

/** Reads and checks every setting. Throws ConfigError for the first that is wrong. */
export function readConfig(environment: Environment): Config {
  refuseUnsupported(environment);
  const statementTimeoutMs = readInteger(environment, 'QUEEN_STMT_TIMEOUT_MS', {
    min: 1,
    max: WRITE_TIMEOUT_MS_MAX,
    fallback: 30_000,
  });
  const popTimeoutMs = readPopTimeout(environment);
  const nodeId = readNodeId(environment);
  const cluster = readCluster(environment, nodeId);
  return {
    port: readInteger(environment, 'PORT', { min: 0, max: 65_535, fallback: PORT_DEFAULT }),
    bindAddress: readBindAddress(environment),
    dataDirectory: resolve(readText(environment, 'QUEEN_RAFT_DIR') ?? 'data'),
    nodeId,
    cluster,
    promoteLagEntriesMax: readPromoteLag(environment),
    readyLagEntriesMax: readReadyLag(environment),
    bodyBytesMax: readSize(environment, 'QUEEN_MAX_BODY_BYTES', BODY_BYTES_MAX_DEFAULT),
    entryBytesMax: readSize(environment, 'QUEEN_RAFT_ENTRY_MAX_BYTES', ENTRY_BYTES_MAX_DEFAULT),
    popTimeoutMs,
    pushTimeoutMs: Math.min(popTimeoutMs, WRITE_TIMEOUT_MS_MAX),
    statementTimeoutMs,
    defaultSubscriptionMode: readChoice(
      environment,
      'DEFAULT_SUBSCRIPTION_MODE',
      SUBSCRIPTION_MODES,
      'all',
    ),
    ...readAdmission(environment),
    ...readEncryption(environment),
    ...readUpkeep(environment),
    ...readLogSettings(environment),
    ...readDiskMarks(environment),
    ...readRaftTimes(environment, cluster !== undefined),
    logLevel: readChoice(environment, 'LOG_LEVEL', LOG_LEVELS, 'info'),
    logJson: readBoolean(environment, 'QUEEN_LOG_JSON', false),
  };
}

function readSize(environment: Environment, name: string, fallback: number): number {
  return readInteger(environment, name, { min: 1024, max: SIZE_MAX, fallback });
}

function readPopTimeout(environment: Environment): number {
  const range = { min: 1, max: POP_TIMEOUT_MS_MAX };
  const alias = readInteger(environment, 'POP_DEFAULT_TIMEOUT_MS', { ...range, fallback: 30_000 });
  return readInteger(environment, 'DEFAULT_TIMEOUT', { ...range, fallback: alias });
}

function readBindAddress(environment: Environment): string {
  const text = readText(environment, 'QUEEN_BIND_ADDR');
  if (text === undefined) return '0.0.0.0';
  if (isIP(text) === 0 && !HOST_NAME.test(text)) {
    throw badValue('QUEEN_BIND_ADDR', text, 'an address or host name without a port (see PORT)');
  }
  return text;
}

function readNodeId(environment: Environment): number {
  const name = 'QUEEN_RAFT_NODE_ID';
  if (readText(environment, name)?.toLowerCase() !== 'ordinal') {
    return readInteger(environment, name, { min: 1, max: SIZE_MAX, fallback: 1 });
  }
  const host = readText(environment, 'HOSTNAME') ?? hostname();
  const suffix = ORDINAL_SUFFIX.exec(host)?.[1];
  if (suffix === undefined) {
    throw badValue(name, 'ordinal', `a number, since HOSTNAME ${JSON.stringify(host)} has none`);
  }
  return Number(suffix) + 1;
}

function readAdmission(environment: Environment): Pick<Config, 'admitBytesMax' | 'admitHoldMs'> {
  const megabytes = readInteger(environment, 'QUEEN_RAFT_ADMIT_MAX_MB', {
    min: 0,
    max: 1_048_576,
    fallback: 128,
  });
  return {
    admitBytesMax: megabytes * MEBIBYTE,
    admitHoldMs: readInteger(environment, 'QUEEN_RAFT_ADMIT_HOLD_MS', {
      min: 0,
      max: WRITE_TIMEOUT_MS_MAX,
      fallback: 15_000,
    }),
  };
}

function readUpkeep(
  environment: Environment,
): Pick<Config, 'retentionIntervalMs' | 'partitionCleanupDays'> {
  return {
    retentionIntervalMs: readInteger(environment, 'RETENTION_INTERVAL', {
      min: 100,
      max: 86_400_000,
      fallback: 5000,
    }),
    partitionCleanupDays: readInteger(environment, 'PARTITION_CLEANUP_DAYS', {
      min: 1,
      max: 36_500,
      fallback: 30,
    }),
  };
}

function readDiskMarks(
  environment: Environment,
): Pick<Config, 'diskHighPercent' | 'diskLowPercent'> {
  const name = 'QUEEN_RAFT_DISK_LOW_PCT';
  const range = { min: 1, max: 100 };
  const high = { ...range, fallback: 85 };
  const diskHighPercent = readInteger(environment, 'QUEEN_RAFT_DISK_HIGH_PCT', high);
  const low = { ...range, fallback: Math.min(80, diskHighPercent) };
  const diskLowPercent = readInteger(environment, name, low);
  if (diskLowPercent > diskHighPercent) {
    const most = `at most QUEEN_RAFT_DISK_HIGH_PCT (${diskHighPercent})`;
    throw badValue(name, String(diskLowPercent), most);
  }
  return { diskHighPercent, diskLowPercent };
}

function readRaftTimes(
  environment: Environment,
  isMember: boolean,
): Pick<Config, 'electionTimeoutMs' | 'heartbeatMs'> {
  const electionTimeoutMs = readInteger(environment, 'QUEEN_RAFT_ELECTION_MS', {
    min: 20,
    max: 60_000,
    fallback: isMember ? 1000 : 150,
  });
  const heartbeatMs = readInteger(environment, 'QUEEN_RAFT_HEARTBEAT_MS', {
    min: 10,
    max: 30_000,
    fallback: Math.min(isMember ? 100 : 50, Math.floor(electionTimeoutMs / 2)),
  });
  if (heartbeatMs * 2 > electionTimeoutMs) {
    throw badValue(
      'QUEEN_RAFT_HEARTBEAT_MS',
      String(heartbeatMs),
      `at most half of QUEEN_RAFT_ELECTION_MS (${electionTimeoutMs})`,
    );
  }
  return { electionTimeoutMs, heartbeatMs };
}
