// Builds a node's broker from its parts and brings its state up to what the log says.

import type { Clock, Rng } from '@queen-ts/base';
import { Engine } from '@queen-ts/engine';
import type { ClusterIdentity, EngineLimits } from '@queen-ts/engine';
import { decodeMembership, RaftNode } from '@queen-ts/raft';
import type {
  CheckpointStore,
  Entry,
  HardStateStore,
  LogPosition,
  LogStore,
  Message,
  NodeId,
  SnapshotStore,
} from '@queen-ts/raft';
import type { Broker } from './broker.ts';
import { sizeOfEntry } from './checkpoint-job.ts';
import type { DiskGate } from './disk-gate.ts';
import { InFlight } from './in-flight.ts';
import type { BrokerLimits } from './limits.ts';
import { LOG_LIMITS_DEFAULT } from './log-upkeep/limits.ts';
import type { LogLimits } from './log-upkeep/limits.ts';
import type { SnapshotParts } from './log-upkeep/log-upkeep.ts';
import type { SnapshotRequester } from './log-upkeep/snapshot-sender.ts';
import { loadState } from './load-state.ts';
import type { StoredState } from './load-state.ts';
import { LocalBroker } from './local-broker.ts';
import type { NodeBroker } from './node-broker.ts';
import type { Scheduler } from './scheduler.ts';

/** Everything a node's broker is made of; nothing here is global. */
export interface BrokerOptions {
  readonly nodeId: NodeId;
  /** Identity of this node's disk (RaftNodeOptions). */
  readonly incarnation: number;
  readonly hardState: HardStateStore;
  /** States to start from; must work before the log is open. */
  readonly checkpoints: CheckpointStore;
  /**
   * Opens the log, verifying it; `onEntry` gets every entry after `from` once, in index order, while
   * the log is read anyway. Rejects when the log does not hold the record at `from`.
   */
  readonly openLog: (onEntry: (entry: Entry) => void, from: LogPosition) => Promise<LogStore>;
  readonly clock: Clock;
  readonly rng: Rng;
  readonly scheduler: Scheduler;
  /** Refuses growth while it is closed; whoever knows the disks reports them to it. */
  readonly diskGate?: DiskGate;
  readonly engineLimits: EngineLimits;
  readonly limits: BrokerLimits;
  /** How much of the log stays, and how snapshots travel; {@link LOG_LIMITS_DEFAULT} if absent. */
  readonly logLimits?: LogLimits;
  /** States with their archive, for members that need one; absent: nobody gets any. */
  readonly snapshots?: SnapshotStore;
  /** Time without a leader before an election, in milliseconds; drawn from [x, 2x). */
  readonly electionMs: number;
  /** Time between heartbeats, in milliseconds: the period of the core's clock. */
  readonly heartbeatMs: number;
  /** Used if the log is empty: the identity that this node founds a cluster with. */
  readonly genesis: ClusterIdentity;
  /** Called once when the node cannot go on: acknowledge nothing, exit non-zero, restart. */
  readonly onFailure: (error: Error) => void;
}

/** The founding members and the way to them. */
export interface ClusterOptions {
  readonly voters: readonly NodeId[];
  /** Sends messages to their addressees; any may be lost. */
  readonly send: (messages: readonly Message[]) => void;
  /**
   * Asks a peer what is of kind `SNAPSHOT_REQUEST_KIND`; its `receiveSnapshot` gives the answer. Absent:
   * nobody gets snapshots from here.
   */
  readonly requestSnapshot?: SnapshotRequester;
  /** Called after role, leader or members changed. */
  readonly onChange?: () => void;
}

/** Starts a cluster of one; resolves when requests can be served. Rejects as {@link openBroker}. */
export async function startBroker(options: BrokerOptions): Promise<Broker> {
  const cluster = { voters: [options.nodeId], send: () => {} };
  const broker = await openBroker(options, cluster);
  await broker.start();
  return broker;
}

/**
 * Loads the newest checkpoint, opens the log from there and replays what is known to be committed; the
 * node neither votes nor serves before `start`. Rejects when the log or the only checkpoint that
 * reaches its start is damaged, or when they cannot be read or written.
 */
export async function openBroker(
  options: BrokerOptions,
  cluster: ClusterOptions,
): Promise<NodeBroker> {
  const { checkpoints, clock, scheduler } = options;
  const inFlight = new InFlight();
  const engineOptions = {
    payloads: inFlight,
    limits: options.engineLimits,
    tableSeed: options.rng.u32(),
  };
  const load = (): Promise<StoredState> =>
    loadState({ checkpoints, engineOptions, clock, scheduler });
  const stored = await load();
  const { engine } = stored;
  let { appliedIndex, membership } = stored;
  let grownBytes = 0;
  const committedIndex = Math.max(options.hardState.current.commitIndex, appliedIndex);
  const log = await options.openLog((entry) => {
    // What lies above the saved commit index is applied once the core knows that it is committed.
    if (entry.index > committedIndex) return;
    if (entry.type === 'command') engine.apply(entry);
    if (entry.type === 'membership') membership = entry.head;
    appliedIndex = entry.index;
    grownBytes += sizeOfEntry(entry);
  }, stored.position);
  inFlight.attach(log);
  const raft = new RaftNode({
    id: options.nodeId,
    incarnation: options.incarnation,
    voters: cluster.voters,
    learners: [],
    log,
    hardState: options.hardState.current,
    appliedIndex,
    ...(membership !== undefined && { membership: decodeMembership(membership) }),
    rng: options.rng,
    electionTicks: Math.max(2, Math.round(options.electionMs / options.heartbeatMs)),
    heartbeatTicks: 1,
    limits: {
      maxAppendBytes: options.limits.appendBytesMax,
      maxInflightBytes: options.limits.appendInFlightBytesMax,
      maxUncommittedBytes: uncommittedBytesMax(options),
    },
  });
  return new LocalBroker(
    {
      raft,
      log,
      hardState: options.hardState,
      send: cluster.send,
      createEngine: () => new Engine(engineOptions),
      loadState: load,
      checkpoints,
      inFlight,
      diskGate: options.diskGate,
      clock: options.clock,
      scheduler: options.scheduler,
      limits: options.limits,
      logLimits: options.logLimits ?? LOG_LIMITS_DEFAULT,
      snapshots: snapshotParts(options, cluster),
      rng: options.rng,
      tickUs: options.heartbeatMs * 1000,
      genesis: options.genesis,
      onFailure: options.onFailure,
      onChange: cluster.onChange,
    },
    { engine, appliedIndex, committedIndex: appliedIndex, membership, grownBytes },
  );
}

function snapshotParts(
  { snapshots: store, incarnation }: BrokerOptions,
  { requestSnapshot: request }: ClusterOptions,
): SnapshotParts | undefined {
  if (store === undefined || request === undefined) return undefined;
  return { store, incarnation, request };
}

/** Room for every entry that may be in flight, so that the core never refuses a planned one. */
function uncommittedBytesMax({ limits, engineLimits }: BrokerOptions): number {
  return limits.entriesInFlightMax * (limits.cycleBytesMax + engineLimits.entryBytesMax) * 2;
}
