// Settings of a member of a cluster.

import { describe, expect, test } from 'vitest';
import { ConfigError } from './config-error.ts';
import { readConfig } from './config.ts';
import type { Environment } from './environment.ts';

const PEERS = '1=queen-0:7400/queen-0:6632,2=queen-1:7400/queen-1:6632,3=queen-2:7400/queen-2:6632';
const LOCAL_PEERS = '1=127.0.0.1:7400/127.0.0.1:6632,2=localhost:7401/localhost:6633';
const MEMBER = { QUEEN_RAFT_REPLICATOR: 'raft', QUEEN_RAFT_PEERS: PEERS, QUEEN_RAFT_TOKEN: 'x' };

function refusal(environment: Environment): string {
  try {
    readConfig(environment);
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
  throw new Error('was not refused');
}

describe('a member', () => {
  test('listens on every address at the port that the others dial, with slower elections', () => {
    const { cluster, electionTimeoutMs, heartbeatMs } = readConfig({
      ...MEMBER,
      QUEEN_RAFT_NODE_ID: '2',
    });
    expect(cluster).toMatchObject({
      self: { id: 2, raft: 'queen-1:7400', http: 'queen-1:6632' },
      listen: { host: '0.0.0.0', port: 7400 },
      token: 'x',
      isJoining: false,
    });
    expect(cluster?.peers.map(({ id }) => id)).toEqual([1, 2, 3]);
    expect({ electionTimeoutMs, heartbeatMs }).toEqual({
      electionTimeoutMs: 1000,
      heartbeatMs: 100,
    });
  });

  test('takes its id from the ordinal of its host', () => {
    const environment = { ...MEMBER, QUEEN_RAFT_NODE_ID: 'ordinal', HOSTNAME: 'queen-2' };
    expect(readConfig(environment).cluster?.self.id).toBe(3);
  });

  test('may listen elsewhere, and join', () => {
    const { cluster } = readConfig({
      ...MEMBER,
      QUEEN_RAFT_LISTEN: '[::1]:7500',
      QUEEN_RAFT_JOIN: 'yes',
    });
    expect(cluster).toMatchObject({ listen: { host: '::1', port: 7500 }, isJoining: true });
  });

  test('needs no token while everything is on this machine', () => {
    const environment = {
      QUEEN_RAFT_REPLICATOR: 'openraft',
      QUEEN_RAFT_PEERS: LOCAL_PEERS,
      QUEEN_RAFT_LISTEN: '127.0.0.1:7400',
    };
    expect(readConfig(environment).cluster?.token).toBe('');
  });
});

describe('the start is refused', () => {
  test.each<[string, Environment, RegExp]>([
    ['peers without a token', { ...MEMBER, QUEEN_RAFT_TOKEN: '' }, /set QUEEN_RAFT_TOKEN$/],
    [
      'a port that is open to others without a token',
      { QUEEN_RAFT_REPLICATOR: 'raft', QUEEN_RAFT_PEERS: LOCAL_PEERS },
      /from other machines to 0\.0\.0\.0: set QUEEN_RAFT_TOKEN$/,
    ],
    ['an id that is no peer', { ...MEMBER, QUEEN_RAFT_NODE_ID: '4' }, /is not in QUEEN_RAFT_PEERS/],
    ['an id twice', { ...MEMBER, QUEEN_RAFT_PEERS: '1=a:1/a:2,1=b:1/b:2' }, /names id 1 twice/],
    [
      'an address twice',
      { ...MEMBER, QUEEN_RAFT_PEERS: '1=a:1/a:2,2=a:1/b:2' },
      /names raft a:1 twice/,
    ],
    ['no peers', { QUEEN_RAFT_REPLICATOR: 'raft' }, /needs QUEEN_RAFT_PEERS/],
    ['an address without a port', { ...MEMBER, QUEEN_RAFT_PEERS: '1=a/a:2' }, /QUEEN_RAFT_PEERS/],
    ['no address for clients', { ...MEMBER, QUEEN_RAFT_PEERS: '1=a:1' }, /QUEEN_RAFT_PEERS/],
    ['the id 0', { ...MEMBER, QUEEN_RAFT_PEERS: '0=a:1/a:2' }, /QUEEN_RAFT_PEERS/],
    ['a bad listening address', { ...MEMBER, QUEEN_RAFT_LISTEN: '7400' }, /QUEEN_RAFT_LISTEN/],
    [
      'joining nobody',
      { ...MEMBER, QUEEN_RAFT_PEERS: '1=a:1/a:2', QUEEN_RAFT_JOIN: '1' },
      /names nobody to join/,
    ],
    ['peers of a lone node', { QUEEN_RAFT_PEERS: PEERS }, /set QUEEN_RAFT_REPLICATOR=raft/],
    ['a lone node that joins', { QUEEN_RAFT_JOIN: 'on' }, /set QUEEN_RAFT_REPLICATOR=raft/],
  ])('for %s', (_name, environment, expected) => {
    expect(refusal(environment)).toMatch(expected);
  });

  test('without showing the token', () => {
    const text = refusal({ QUEEN_RAFT_TOKEN: 'a secret' });
    expect(text).toMatch(/^QUEEN_RAFT_TOKEN is set/);
    expect(text).not.toContain('a secret');
  });
});
