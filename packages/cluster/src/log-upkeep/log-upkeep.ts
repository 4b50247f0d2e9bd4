// Everything that happens to the log beside appending: its start moves, dead records of the archive are
// purged, and members that the log cannot bring up to date get snapshots.

import type { Clock, Rng } from '@queen-ts/base';
import type {
  CheckpointStore,
  Entry,
  LogStore,
  NodeId,
  RaftNode,
  SnapshotMessage,
  SnapshotRequest,
  SnapshotStore,
} from '@queen-ts/raft';
import type { Scheduler } from '../scheduler.ts';
import { ArchiveSweeper } from './archive-sweeper.ts';
import type { JudgedState } from './archive-sweeper.ts';
import type { LogLimits } from './limits.ts';
import { LogStart } from './log-start.ts';
import { SnapshotReceiver } from './snapshot-receiver.ts';
import { SnapshotSender } from './snapshot-sender.ts';
import type { SnapshotRequester } from './snapshot-sender.ts';

/** Where snapshots are kept, and how they get to other members. */
export interface SnapshotParts {
  readonly store: SnapshotStore;
  /** Incarnation of this node's disk. */
  readonly incarnation: number;
  readonly request: SnapshotRequester;
}

/** Parts of a {@link LogUpkeep}. */
export interface LogUpkeepParts {
  readonly raft: RaftNode;
  readonly log: LogStore;
  readonly checkpoints: CheckpointStore;
  /** Absent: members are not brought up to date by snapshots. */
  readonly snapshots: SnapshotParts | undefined;
  readonly clock: Clock;
  readonly scheduler: Scheduler;
  readonly rng: Rng;
  readonly limits: LogLimits;
  /** The state now, outside of any cycle; undefined while there is none. */
  readonly state: () => JudgedState | undefined;
  /** A complete snapshot is about to be handed to the core. */
  readonly snapshotArrived: (message: SnapshotMessage) => void;
  /** Makes the driver look at what the core wants done. */
  readonly deferPump: () => void;
  readonly onFailure: (error: unknown) => void;
}

/** Figures for the metrics. */
export interface LogUpkeepCounters {
  /** First index that is not archived. */
  readonly logFirstIndex: number;
  readonly purgedRecordsTotal: number;
  readonly purgedBytesTotal: number;
  readonly reclaimsTotal: number;
  readonly snapshotsSending: number;
  readonly snapshotsSentTotal: number;
  readonly snapshotsFailedTotal: number;
  readonly snapshotsInstalledTotal: number;
  readonly isReceivingSnapshot: boolean;
}

/** The upkeep of one node's log. */
export class LogUpkeep {
  readonly #parts: LogUpkeepParts;
  readonly #start: LogStart;
  readonly #sweeper: ArchiveSweeper;
  readonly #sender: SnapshotSender | undefined;
  readonly #receiver: SnapshotReceiver | undefined;
  #isStopped = false;

  /** @param committedIndex where the node stood when it started. */
  constructor(parts: LogUpkeepParts, committedIndex: number) {
    this.#parts = parts;
    const { raft, snapshots } = parts;
    const hasPeers = (): boolean => raft.status.membership.members.length > 1;
    const heldIndex = (): number => this.#heldIndex();
    this.#start = new LogStart({ ...parts, hasPeers, heldIndex }, committedIndex);
    this.#sweeper = new ArchiveSweeper(parts);
    if (snapshots === undefined) return;
    this.#sender = new SnapshotSender({
      ...parts,
      ...snapshots,
      report: (report) => {
        if (this.#isStopped) return;
        raft.reportSnapshot(report);
        parts.deferPump();
      },
    });
    this.#receiver = new SnapshotReceiver({
      ...parts,
      ...snapshots,
      nodeId: raft.status.id,
      isWanted: (index) => raft.status.role !== 'leader' && raft.status.commitIndex < index,
      take: (message) => this.#take(message),
    });
  }

  /** Figures for the metrics. */
  counters(): LogUpkeepCounters {
    const { purgedRecordsTotal, purgedBytesTotal, reclaimsTotal } = this.#sweeper.counters;
    const sent = this.#sender?.counters;
    return {
      logFirstIndex: this.#parts.log.firstIndex,
      purgedRecordsTotal,
      purgedBytesTotal,
      reclaimsTotal,
      snapshotsSending: sent?.running ?? 0,
      snapshotsSentTotal: sent?.finishedTotal ?? 0,
      snapshotsFailedTotal: sent?.failedTotal ?? 0,
      snapshotsInstalledTotal: this.#receiver?.installedTotal ?? 0,
      isReceivingSnapshot: this.#receiver?.isReceiving ?? false,
    };
  }

  /** Starts the sweep. */
  start(): void {
    this.#sweeper.start();
  }

  /** Notes a committed entry; every one, in order. */
  committed({ index }: Entry, sizeBytes: number): void {
    this.#start.committed(index, sizeBytes);
  }

  /** Moves the start of the log if it is time to. Called at the end of a turn. */
  poll(): void {
    if (this.#isStopped) return;
    this.#start.poll();
  }

  /** The core wants a member to get a snapshot. */
  snapshotWanted(request: SnapshotRequest): void {
    const { to } = request;
    // Without a way to send one the member stays where it is; the core asks again and again.
    if (this.#sender === undefined) {
      this.#parts.raft.reportSnapshot({ to, outcome: 'failed', index: 0 });
    } else this.#sender.send(request);
  }

  /** The leadership ended: whoever leads now sends what is needed. */
  leadershipLost(): void {
    void this.#sender?.stop().catch(this.#parts.onFailure);
  }

  /** The state was thrown away: what was judged by it may never have been. */
  stateLost(): void {
    this.#sweeper.reset();
  }

  /** Answers a peer's call about a snapshot. */
  serve(from: NodeId, bytes: Uint8Array): Promise<Uint8Array> {
    if (this.#receiver === undefined) return Promise.reject(new Error('no snapshots here'));
    return this.#receiver.serve(from, bytes);
  }

  /** Resolves when nothing touches the log any more, so that a snapshot may take its place. */
  async beforeInstall(): Promise<void> {
    await Promise.all([this.#sender?.stop(), this.#sweeper.pause(), this.#start.settled()]);
  }

  /** A snapshot has taken the place of the log. */
  async installed(index: number): Promise<void> {
    this.#start.replaced(index);
    await this.#receiver?.installed();
    if (!this.#isStopped) this.#sweeper.start();
  }

  /** Ends everything; resolves when nothing runs any more. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.beforeInstall();
    await this.#receiver?.stop();
  }

  /** Nothing after this index may leave the log: members that get a snapshot go on from there. */
  #heldIndex(): number {
    if (this.#sender === undefined) return Infinity;
    for (const peer of this.#parts.raft.status.peers) {
      if (peer.state === 'replicate') this.#sender.followed(peer.id);
    }
    return this.#sender.heldIndex;
  }

  /** Hands a complete snapshot to the core; true if the core takes it. */
  #take(message: SnapshotMessage): boolean {
    const { raft, deferPump, snapshotArrived } = this.#parts;
    if (this.#isStopped) return false;
    snapshotArrived(message);
    const { index } = message.snapshot;
    const before = raft.status.firstIndex;
    raft.step(message);
    deferPump();
    return before <= index && raft.status.firstIndex === index + 1;
  }
}
