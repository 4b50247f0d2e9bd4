// Opens this node as what its configuration says: alone, or as a member with a way to the others.

import {
  BROKER_LIMITS_DEFAULT,
  LOG_LIMITS_DEFAULT,
  Member,
  TcpTransport,
  TRANSPORT_LIMITS_DEFAULT,
} from '@queen-ts/cluster';
import type { BrokerOptions, NodeId, Place, TransportEvent } from '@queen-ts/cluster';
import { ENGINE_LIMITS_DEFAULT } from '@queen-ts/engine';
import type { DataDirectory } from '@queen-ts/storage';
import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import type { Logger } from 'pino';
import type { ClusterSettings } from '../config/cluster-settings.ts';
import type { Config } from '../config/config.ts';
import type { DiskWatch } from '../disk/disk-watch.ts';
import { VERSION } from '../version.ts';
import { newClusterIdentity } from './genesis.ts';
import { SYSTEM_CLOCK, SYSTEM_SCHEDULER } from './system.ts';
import type { SystemRng } from './system.ts';

const DAY_US = 86_400_000_000;

/** A wiped voter must not vote: it has forgotten what it promised (ADR 0002). */
const IDENTITY_REFUSED =
  'this disk is not the one that the cluster admitted under this id: remove the member, add it as a learner and promote it';

/** What a member is opened with. */
export interface MemberParts {
  readonly directory: DataDirectory;
  readonly disk: DiskWatch;
  readonly rng: SystemRng;
  readonly log: Logger;
  readonly onFailure: (error: unknown) => void;
}

/** Loads state and log; the member neither votes nor serves before its start. */
export function openMember(config: Config, parts: MemberParts): Promise<Member> {
  const { cluster } = config;
  const nodeId = nodeIdOf(config);
  const options = {
    ...brokerOptions(config, parts),
    facts: { hostname: hostname(), version: VERSION },
    onIdentityRefused: () => parts.log.error({ nodeId }, IDENTITY_REFUSED),
  };
  if (cluster === undefined) {
    const configured = new Map<NodeId, Place>();
    return Member.open({ ...options, configured, voters: [nodeId], openTransport: undefined });
  }
  const { incarnation } = parts.directory.identity;
  const { peers, isJoining } = cluster;
  const founders = peers.map(({ id }) => id).filter((id) => !isJoining || id !== nodeId);
  return Member.open({
    ...options,
    configured: new Map(peers.map(({ id, raft, http }) => [id, { raft, http }])),
    voters: founders,
    openTransport: (local) =>
      new TcpTransport({
        ...transportOptions(cluster),
        nodeId,
        incarnation,
        clusterId: local.replica.engine.identity?.clusterId,
        clock: SYSTEM_CLOCK,
        scheduler: SYSTEM_SCHEDULER,
        rng: parts.rng,
        randomBytes,
        limits: TRANSPORT_LIMITS_DEFAULT,
        onEvent: (event) => logEvent(parts.log, event),
      }),
  });
}

function transportOptions({ token, listen, self, peers }: ClusterSettings) {
  return {
    token,
    listen,
    advertise: self.raft,
    peers: peers.map(({ id, raft }) => ({ id, address: raft })),
  };
}

/** Connections come and go with their members; who is refused should be looked at. */
function logEvent(log: Logger, { kind, peer, connectionClass, message }: TransportEvent): void {
  const isExpected = kind === 'connected' || kind === 'disconnected';
  log[isExpected ? 'info' : 'warn']({ peer, connectionClass, event: kind }, message);
}

function brokerOptions(config: Config, parts: MemberParts): BrokerOptions {
  const { directory, disk, rng, onFailure } = parts;
  return {
    nodeId: nodeIdOf(config),
    incarnation: directory.identity.incarnation,
    hardState: directory.hardState,
    checkpoints: directory.checkpoints,
    snapshots: directory.snapshots,
    openLog: (onEntry, from) => directory.openLog({ onEntry, from }),
    clock: SYSTEM_CLOCK,
    rng,
    scheduler: SYSTEM_SCHEDULER,
    diskGate: disk.gate,
    engineLimits: { ...ENGINE_LIMITS_DEFAULT, entryBytesMax: config.entryBytesMax },
    limits: {
      ...BROKER_LIMITS_DEFAULT,
      checkpointLogBytesMin: config.checkpointEveryBytes,
      retentionIntervalUs: config.retentionIntervalMs * 1000,
      partitionIdleUs: config.partitionCleanupDays * DAY_US,
    },
    logLimits: {
      ...LOG_LIMITS_DEFAULT,
      holdUs: config.purgeHoldSeconds * 1_000_000,
      holdBytesMax: config.purgeHoldBytes,
      trailBytesMin: config.checkpointEveryBytes,
      reclaimBytesMin: config.checkpointEveryBytes,
    },
    electionMs: config.electionTimeoutMs,
    heartbeatMs: config.heartbeatMs,
    genesis: newClusterIdentity(SYSTEM_CLOCK, rng),
    onFailure,
  };
}

/** Brands the number, whose range the configuration has checked. */
export function nodeIdOf(config: Config): NodeId {
  return config.nodeId as NodeId;
}
