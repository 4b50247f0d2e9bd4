// Settings of the wider product that this build does not have. One that changes who may do what, or
// where data lives, stops the start: running without it would be worse than not running. Any other
// is reported once, so that nobody believes it has an effect.

import { ConfigError } from './config-error.ts';
import { readBoolean, readText } from './environment.ts';
import type { Environment } from './environment.ts';

/** Refused when set to anything. The value is never shown: some are secrets. */
const REFUSED_WHEN_SET: ReadonlyMap<string, string> = new Map([
  ['QUEEN_RAFT_FORCE_RECOVER', 'recovery of a lost quorum'],
  ['QUEEN_RAFT_APPLY_SKIP', 'stepping over an entry'],
  ['QUEEN_LINK_SOURCE', 'standby clusters'],
  ['QUEEN_LINK_TOKEN', 'standby clusters'],
]);

/** Refused when switched on. */
const REFUSED_WHEN_ON: ReadonlyMap<string, string> = new Map([
  ['JWT_ENABLED', 'authentication'],
  ['QUEEN_TENANCY_HEADER', 'tenancy'],
  ['QUEEN_KV_TRUSTED_PROXY', 'tenancy'],
  ['QUEEN_LINK_STANDBY', 'standby clusters'],
  ['QUEEN_KAFKA_EMBEDDED', 'the Kafka facade'],
  ['QUEEN_S3_EMBEDDED', 'the S3 sink'],
]);

/** Variables that have an effect. */
const SUPPORTED: ReadonlySet<string> = new Set([
  'PORT',
  'QUEEN_BIND_ADDR',
  'QUEEN_RAFT_DIR',
  'QUEEN_RAFT_NODE_ID',
  'QUEEN_RAFT_REPLICATOR',
  'QUEEN_RAFT_PEERS',
  'QUEEN_RAFT_LISTEN',
  'QUEEN_RAFT_TOKEN',
  'QUEEN_RAFT_JOIN',
  'QUEEN_RAFT_PROMOTE_MAX_LAG',
  'QUEEN_RAFT_READY_LAG_ENTRIES',
  'QUEEN_MAX_BODY_BYTES',
  'QUEEN_RAFT_ENTRY_MAX_BYTES',
  'DEFAULT_TIMEOUT',
  'POP_DEFAULT_TIMEOUT_MS',
  'QUEEN_STMT_TIMEOUT_MS',
  'DEFAULT_SUBSCRIPTION_MODE',
  'QUEEN_ENCRYPTION_KEY',
  'QUEEN_ENCRYPTION_MISSING_KEY',
  'QUEEN_RAFT_ADMIT_MAX_MB',
  'QUEEN_RAFT_ADMIT_HOLD_MS',
  'RETENTION_INTERVAL',
  'PARTITION_CLEANUP_DAYS',
  'QUEEN_RAFT_PURGE_HOLD_S',
  'QUEEN_RAFT_PURGE_HOLD_BYTES',
  'QUEEN_RAFT_DURABLE_EVERY_BYTES',
  'QUEEN_RAFT_DISK_HIGH_PCT',
  'QUEEN_RAFT_DISK_LOW_PCT',
  'QUEEN_RAFT_ELECTION_MS',
  'QUEEN_RAFT_HEARTBEAT_MS',
  'LOG_LEVEL',
  'QUEEN_LOG_JSON',
]);

const PRODUCT_NAME = /^(QUEEN_|JWT_|POP_WAIT_|RETENTION_|PARTITION_CLEANUP_)/;
/** What Kubernetes puts into every container for a service that is called `queen`. */
const SERVICE_LINK = /^QUEEN_(SERVICE_(HOST|PORT)|PORT)(_|$)/;

/** Throws ConfigError if the environment asks for a protection or a role that is not there. */
export function refuseUnsupported(environment: Environment): void {
  for (const [name, feature] of REFUSED_WHEN_SET) {
    if (readText(environment, name) !== undefined) throw notInThisBuild(name, feature);
  }
  for (const [name, feature] of REFUSED_WHEN_ON) {
    if (readBoolean(environment, name, false)) throw notInThisBuild(name, feature);
  }
}

/** Returns the names, sorted, that look like settings of this product and have no effect. */
export function settingsWithoutEffect(environment: Environment): readonly string[] {
  const names = Object.keys(environment).filter(
    (name) =>
      PRODUCT_NAME.test(name) &&
      !SERVICE_LINK.test(name) &&
      !SUPPORTED.has(name) &&
      !REFUSED_WHEN_ON.has(name) &&
      readText(environment, name) !== undefined,
  );
  return names.sort();
}

function notInThisBuild(name: string, feature: string): ConfigError {
  return new ConfigError(`${name} is set, but this build does not have ${feature} yet: unset it`);
}
