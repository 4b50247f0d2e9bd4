// The settings that make a node a member of a cluster (control-plane reference §8.2). Whatever could let
// a node found, join or open a cluster that the operator did not mean stops the start.

import { MEMBER_COUNT_MAX, parseAddress, peerSecurityProblem } from '@queen-ts/cluster';
import type { HostPort, NodeId } from '@queen-ts/cluster';
import { badValue, ConfigError } from './config-error.ts';
import { readBoolean, readChoice, readInteger, readText } from './environment.ts';
import type { Environment } from './environment.ts';

/** One member as `QUEEN_RAFT_PEERS` names it. */
export interface PeerSetting {
  readonly id: NodeId;
  /** `host:port` for other members. */
  readonly raft: string;
  /** `host:port` for clients; shown, never dialed. */
  readonly http: string;
}

/** What a member of a cluster is started with. */
export interface ClusterSettings {
  /** By ascending id; this node is among them. */
  readonly peers: readonly PeerSetting[];
  readonly self: PeerSetting;
  /** Where other members connect. */
  readonly listen: HostPort;
  /** The shared secret; `''` only while everything is on this machine. */
  readonly token: string;
  /** An empty node waits to be added instead of founding a cluster. */
  readonly isJoining: boolean;
}

const NODE_ID_MAX = 2 ** 31 - 1;
const WITH_REPLICATOR_ONLY = ['QUEEN_RAFT_PEERS', 'QUEEN_RAFT_LISTEN', 'QUEEN_RAFT_TOKEN'] as const;

const REPLICATORS: ReadonlyMap<string, 'local' | 'raft'> = new Map([
  ['local', 'local'],
  ['raft', 'raft'],
  ['openraft', 'raft'],
]);

/** Reads them; undefined for a node that is alone. Throws ConfigError. */
export function readCluster(environment: Environment, nodeId: number): ClusterSettings | undefined {
  const replicator = readChoice(environment, 'QUEEN_RAFT_REPLICATOR', REPLICATORS, 'local');
  const isJoining = readBoolean(environment, 'QUEEN_RAFT_JOIN', false);
  if (replicator === 'local') {
    const set = WITH_REPLICATOR_ONLY.find((name) => readText(environment, name) !== undefined);
    const name = set ?? (isJoining ? 'QUEEN_RAFT_JOIN' : undefined);
    if (name === undefined) return undefined;
    throw new ConfigError(
      `${name} is set, but this node is alone: set QUEEN_RAFT_REPLICATOR=raft, or unset it`,
    );
  }
  const peers = readPeers(environment);
  const self = peers.find(({ id }) => id === nodeId);
  if (self === undefined) {
    const ids = peers.map(({ id }) => id).join(', ');
    throw new ConfigError(
      `QUEEN_RAFT_NODE_ID=${nodeId} is not in QUEEN_RAFT_PEERS (${ids}): list every member there, this node too`,
    );
  }
  const listen = readListen(environment, self);
  const token = readText(environment, 'QUEEN_RAFT_TOKEN') ?? '';
  const problem = peerSecurityProblem({
    token,
    listenHost: listen.host,
    peers: peers.map(({ id, raft }) => ({ id, address: raft })),
  });
  if (problem !== undefined) throw new ConfigError(problem);
  if (isJoining && peers.length === 1) {
    throw new ConfigError('QUEEN_RAFT_JOIN is set, but QUEEN_RAFT_PEERS names nobody to join');
  }
  return { peers, self, listen, token, isJoining };
}

function readPeers(environment: Environment): readonly PeerSetting[] {
  const name = 'QUEEN_RAFT_PEERS';
  const text = readText(environment, name);
  if (text === undefined) {
    throw new ConfigError(`QUEEN_RAFT_REPLICATOR=raft needs ${name}: id=host:port/host:port,…`);
  }
  const peers = text
    .split(',')
    .filter((item) => item.trim() !== '')
    .map(readPeer);
  if (peers.length > MEMBER_COUNT_MAX) throw badValue(name, text, `${MEMBER_COUNT_MAX} members`);
  for (const key of ['id', 'raft'] as const) {
    const values = peers.map((peer) => peer[key]);
    const repeated = values.find((value, i) => values.indexOf(value) !== i);
    if (repeated !== undefined) throw new ConfigError(`${name} names ${key} ${repeated} twice`);
  }
  return peers.toSorted((a, b) => a.id - b.id);
}

function readPeer(item: string): PeerSetting {
  const name = 'QUEEN_RAFT_PEERS';
  const match = /^(\d{1,10})=([^/]+)\/(.+)$/.exec(item.trim());
  const id = Number(match?.[1]);
  const raft = match?.[2] ?? '';
  const http = match?.[3] ?? '';
  const isValid =
    id >= 1 &&
    id <= NODE_ID_MAX &&
    parseAddress(raft) !== undefined &&
    parseAddress(http) !== undefined;
  if (!isValid) throw badValue(name, item, 'id=raft_host:port/http_host:port');
  return { id: id as NodeId, raft, http };
}

function readListen(environment: Environment, self: PeerSetting): HostPort {
  const name = 'QUEEN_RAFT_LISTEN';
  const text = readText(environment, name);
  const own = parseAddress(self.raft);
  if (text === undefined) return { host: '0.0.0.0', port: own?.port ?? 0 };
  const listen = parseAddress(text);
  if (listen === undefined) throw badValue(name, text, 'host:port');
  return listen;
}

/** Entries that a learner may lag behind and still be promoted (`QUEEN_RAFT_PROMOTE_MAX_LAG`). */
export function readPromoteLag(environment: Environment): number {
  const range = { min: 0, max: 1_000_000_000, fallback: 1000 };
  return readInteger(environment, 'QUEEN_RAFT_PROMOTE_MAX_LAG', range);
}

/** Committed entries that a node may have to apply and still be ready (`QUEEN_RAFT_READY_LAG_ENTRIES`). */
export function readReadyLag(environment: Environment): number {
  const range = { min: 0, max: 1_000_000_000, fallback: 1000 };
  return readInteger(environment, 'QUEEN_RAFT_READY_LAG_ENTRIES', range);
}
