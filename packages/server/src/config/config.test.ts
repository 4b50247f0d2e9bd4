// What the environment may say, and what stops a start.

import { resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ConfigError } from './config-error.ts';
import { readConfig } from './config.ts';
import { settingsWithoutEffect } from './unsupported.ts';

function refusal(environment: Record<string, string>): string {
  try {
    readConfig(environment);
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
  return 'accepted';
}

describe('readConfig', () => {
  test('an empty environment gives the documented defaults', () => {
    expect(readConfig({})).toEqual({
      port: 6632,
      bindAddress: '0.0.0.0',
      dataDirectory: resolve('data'),
      nodeId: 1,
      bodyBytesMax: 64 * 1024 * 1024,
      entryBytesMax: 96 * 1024 * 1024,
      popTimeoutMs: 30_000,
      pushTimeoutMs: 30_000,
      statementTimeoutMs: 30_000,
      defaultSubscriptionMode: 'all',
      admitBytesMax: 128 * 1024 * 1024,
      admitHoldMs: 15_000,
      encryptionKey: undefined,
      storesPlaintextWithoutKey: false,
      retentionIntervalMs: 5000,
      partitionCleanupDays: 30,
      purgeHoldSeconds: 600,
      purgeHoldBytes: 1024 * 1024 * 1024,
      checkpointEveryBytes: 64 * 1024 * 1024,
      diskHighPercent: 85,
      diskLowPercent: 80,
      cluster: undefined,
      promoteLagEntriesMax: 1000,
      readyLagEntriesMax: 1000,
      electionTimeoutMs: 150,
      heartbeatMs: 50,
      logLevel: 'info',
      logJson: false,
    });
  });

  test('an empty or blank value counts as absent', () => {
    expect(readConfig({ PORT: '', QUEEN_LOG_JSON: ' ', LOG_LEVEL: '' })).toEqual(readConfig({}));
  });

  test('every supported setting has an effect', () => {
    const config = readConfig({
      PORT: '0',
      QUEEN_BIND_ADDR: '::1',
      QUEEN_RAFT_DIR: '/somewhere',
      QUEEN_RAFT_NODE_ID: '7',
      QUEEN_RAFT_REPLICATOR: 'local',
      QUEEN_MAX_BODY_BYTES: '4096',
      QUEEN_RAFT_ENTRY_MAX_BYTES: '8192',
      DEFAULT_TIMEOUT: '90000',
      QUEEN_STMT_TIMEOUT_MS: '1500',
      DEFAULT_SUBSCRIPTION_MODE: 'New-Only',
      QUEEN_RAFT_ADMIT_MAX_MB: '2',
      QUEEN_RAFT_ADMIT_HOLD_MS: '10',
      QUEEN_ENCRYPTION_KEY: 'Ab'.repeat(32),
      QUEEN_ENCRYPTION_MISSING_KEY: 'plaintext',
      RETENTION_INTERVAL: '250',
      PARTITION_CLEANUP_DAYS: '7',
      QUEEN_RAFT_PURGE_HOLD_S: '0',
      QUEEN_RAFT_PURGE_HOLD_BYTES: '1000',
      QUEEN_RAFT_DURABLE_EVERY_BYTES: '70000',
      QUEEN_RAFT_DISK_HIGH_PCT: '70',
      QUEEN_RAFT_DISK_LOW_PCT: '60',
      QUEEN_RAFT_PROMOTE_MAX_LAG: '5',
      QUEEN_RAFT_READY_LAG_ENTRIES: '6',
      QUEEN_RAFT_ELECTION_MS: '1000',
      QUEEN_RAFT_HEARTBEAT_MS: '100',
      LOG_LEVEL: 'DEBUG',
      QUEEN_LOG_JSON: 'Yes',
    });
    expect(config).toEqual({
      port: 0,
      bindAddress: '::1',
      dataDirectory: '/somewhere',
      nodeId: 7,
      bodyBytesMax: 4096,
      entryBytesMax: 8192,
      popTimeoutMs: 90_000,
      // Only a pop may take longer than a minute.
      pushTimeoutMs: 60_000,
      statementTimeoutMs: 1500,
      defaultSubscriptionMode: 'new',
      admitBytesMax: 2 * 1024 * 1024,
      admitHoldMs: 10,
      encryptionKey: Buffer.alloc(32, 0xab),
      storesPlaintextWithoutKey: true,
      retentionIntervalMs: 250,
      partitionCleanupDays: 7,
      purgeHoldSeconds: 0,
      purgeHoldBytes: 1000,
      checkpointEveryBytes: 70_000,
      diskHighPercent: 70,
      diskLowPercent: 60,
      cluster: undefined,
      promoteLagEntriesMax: 5,
      readyLagEntriesMax: 6,
      electionTimeoutMs: 1000,
      heartbeatMs: 100,
      logLevel: 'debug',
      logJson: true,
    });
  });

  test('DEFAULT_TIMEOUT wins over its alias', () => {
    expect(readConfig({ POP_DEFAULT_TIMEOUT_MS: '5' }).popTimeoutMs).toBe(5);
    const both = { POP_DEFAULT_TIMEOUT_MS: '5', DEFAULT_TIMEOUT: '7' };
    expect(readConfig(both).popTimeoutMs).toBe(7);
  });

  test.each(['true', '1', 'yes', 'on', 'TRUE', 'On'])('%s switches on', (word) => {
    expect(readConfig({ QUEEN_LOG_JSON: word }).logJson).toBe(true);
  });

  test.each(['false', '0', 'no', 'off', 'OFF'])('%s switches off', (word) => {
    expect(readConfig({ QUEEN_LOG_JSON: word }).logJson).toBe(false);
  });

  test.each([
    [{ PORT: '6632x' }, 'PORT="6632x" is not valid: use a whole number from 0 to 65535'],
    [{ PORT: '65536' }, 'PORT="65536" is not valid: use a whole number from 0 to 65535'],
    [{ PORT: '-1' }, 'PORT="-1"'],
    [{ PORT: '1e3' }, 'PORT="1e3"'],
    [{ QUEEN_LOG_JSON: 'ja' }, 'QUEEN_LOG_JSON="ja" is not valid: use true/false, 1/0'],
    [{ PARTITION_CLEANUP_DAYS: '0' }, 'PARTITION_CLEANUP_DAYS="0"'],
    [{ LOG_LEVEL: 'loud' }, 'LOG_LEVEL="loud" is not valid: use one of trace, debug, info'],
    [{ DEFAULT_SUBSCRIPTION_MODE: 'nwe' }, 'DEFAULT_SUBSCRIPTION_MODE="nwe"'],
    [{ QUEEN_BIND_ADDR: '0.0.0.0:80' }, 'QUEEN_BIND_ADDR="0.0.0.0:80"'],
    [{ QUEEN_STMT_TIMEOUT_MS: '60001' }, 'QUEEN_STMT_TIMEOUT_MS="60001"'],
    [{ QUEEN_MAX_BODY_BYTES: '0' }, 'QUEEN_MAX_BODY_BYTES="0"'],
    [{ QUEEN_RAFT_NODE_ID: '0' }, 'QUEEN_RAFT_NODE_ID="0"'],
    [
      { QUEEN_RAFT_ELECTION_MS: '100', QUEEN_RAFT_HEARTBEAT_MS: '51' },
      'QUEEN_RAFT_HEARTBEAT_MS="51" is not valid: use at most half of QUEEN_RAFT_ELECTION_MS (100)',
    ],
  ])('refuses %j in one line that says what is allowed', (environment, message) => {
    const text = refusal(environment as Record<string, string>);
    expect(text).toContain(message);
    expect(text).not.toContain('\n');
  });

  test('takes the node id from the ordinal of the host name', () => {
    const ordinal = { QUEEN_RAFT_NODE_ID: 'ordinal' };
    expect(readConfig({ ...ordinal, HOSTNAME: 'queen-2' }).nodeId).toBe(3);
    expect(refusal({ ...ordinal, HOSTNAME: 'queen' })).toContain('HOSTNAME "queen"');
  });
});

describe('the marks of the disk', () => {
  test('the low one follows a high one below its default, and never lies above it', () => {
    const marks = (environment: Record<string, string>): unknown => {
      const { diskHighPercent, diskLowPercent } = readConfig(environment);
      return [diskHighPercent, diskLowPercent];
    };
    expect(marks({ QUEEN_RAFT_DISK_HIGH_PCT: '50' })).toEqual([50, 50]);
    expect(marks({ QUEEN_RAFT_DISK_HIGH_PCT: '100' })).toEqual([100, 80]);
    expect(refusal({ QUEEN_RAFT_DISK_HIGH_PCT: '0' })).toContain('from 1 to 100');
    expect(refusal({ QUEEN_RAFT_DISK_LOW_PCT: '90' })).toContain('HIGH_PCT (85)');
  });
});

describe('the key of encryption', () => {
  test.each(['secret-key', 'ab'.repeat(31), 'ab'.repeat(33), 'zz'.repeat(32)])(
    'must have 64 hexadecimal digits, and is never shown: %s',
    (key) => {
      const text = refusal({ QUEEN_ENCRYPTION_KEY: key });
      expect(text).toBe('QUEEN_ENCRYPTION_KEY is not valid: use 64 hexadecimal digits');
    },
  );
});

describe('settings that this build does not have', () => {
  test.each([{ JWT_ENABLED: '1' }, { QUEEN_TENANCY_HEADER: 'on' }])(
    '%j stops the start and shows no value',
    (environment) => {
      const [[name, value]] = Object.entries(environment) as [[string, string]];
      const text = refusal(environment as Record<string, string>);
      expect(text).toMatch(new RegExp(`^${name} is set, but this build does not have`));
      if (value.length > 4) expect(text).not.toContain(value);
    },
  );

  test('switched off, they are accepted', () => {
    expect(refusal({ JWT_ENABLED: 'false', QUEEN_TENANCY_HEADER: '0' })).toBe('accepted');
  });

  test('a switch with an unknown word stops the start too', () => {
    expect(refusal({ JWT_ENABLED: 'enabled' })).toContain('JWT_ENABLED="enabled" is not valid');
  });

  test('an unknown replicator stops the start', () => {
    expect(refusal({ QUEEN_RAFT_REPLICATOR: 'paxos' })).toContain('local');
  });

  test('tuning without effect and misspelt names are reported', () => {
    const environment = {
      PORT: '1',
      QUEEN_RAFT_DRI: '/data',
      POP_WAIT_MAX_INTERVAL_MS: '5',
      QUEEN_RAFT_DIR: '/data',
      QUEEN_LANES: '',
      QUEEN_PORT_6632_TCP: 'tcp://10.0.0.1:6632',
      QUEEN_SERVICE_HOST: '10.0.0.1',
      HOME: '/root',
    };
    expect(settingsWithoutEffect(environment)).toEqual([
      'POP_WAIT_MAX_INTERVAL_MS',
      'QUEEN_RAFT_DRI',
    ]);
  });
});
