// Everything an engine remembers. Planning reads it; only the functions of `apply/` and `readiness.ts`
// change it. What `readiness.ts` keeps (rings, wheels, signals) is derived and never in the digest.

import type { Id128, PayloadReader } from '@queen-ts/protocol';
import { Cursors } from './cursors.ts';
import { DeadLetters } from './dead-letters.ts';
import { Digest } from './digest.ts';
import { OpenBlocks } from './open-blocks.ts';
import { Partitions } from './partitions.ts';
import type { GroupState, QueueState } from './queue-state.ts';
import { Signals } from './signals.ts';
import { BlockIndex } from './tables/block-index.ts';
import type { BlockCacheSizes } from './tables/block-index.ts';
import { DedupIndex } from './tables/dedup-index.ts';
import { RecentRequests } from './tables/recent-requests.ts';
import { TimingWheel } from './tables/timing-wheel.ts';

/** Ids are forgotten at most this much later than they may be. */
const DEDUP_SLICE_US = 60_000_000;

/** How long requests are remembered by their ids, and what their outcomes may take. */
const MINTED_REQUESTS = { windowUs: 60_000_000, bytesMax: 32 * 1024 * 1024 };
const CLIENT_REQUESTS = { windowUs: 600_000_000, bytesMax: 16 * 1024 * 1024 };

/** What a cluster fixes once, in its first command entry. */
export interface ClusterIdentity {
  readonly clusterId: Id128;
  /** Key of the transaction-id hash: four words. */
  readonly hashKey: Uint32Array;
}

/** Which kinds of requests are paused. */
export interface Maintenance {
  readonly pushPaused: boolean;
  readonly popPaused: boolean;
}

/** The state of one engine. */
export class State {
  identity: ClusterIdentity | undefined = undefined;
  maintenance: Maintenance = { pushPaused: false, popPaused: false };
  /** Time of the newest entry. */
  nowUs = 0;
  /** Index of the entry that is planned or applied, or was last. */
  entryIndex = 0;
  /** Index of the newest entry that had effects and is complete. */
  closedIndex = 0;
  /** Time of that entry: a cycle that had no effects moves `nowUs` on, but is no entry. */
  closedUs = 0;
  /** The entry's payload while it is planned or applied: apply reads appended keys from it. */
  readonly payload: PayloadReader;

  readonly queuesByName = new Map<string, QueueState>();
  readonly queues = new Map<number, QueueState>();
  /** Counts changes of queues and their options. */
  queuesVersion = 0;
  readonly groups = new Map<number, GroupState>();
  readonly partitions: Partitions;
  readonly cursors: Cursors;
  readonly blocks: BlockIndex;
  readonly openBlocks: OpenBlocks;
  readonly dedup = new DedupIndex({ sliceUs: DEDUP_SLICE_US });
  readonly deadLetters = new DeadLetters();
  /** Outcomes by request id: those that nodes minted, and the keys of clients. */
  readonly mintedRequests = new RecentRequests(MINTED_REQUESTS);
  readonly clientRequests = new RecentRequests(CLIENT_REQUESTS);
  readonly digest = new Digest();

  /** Numbers to give out next. */
  nextQueue = 1;
  nextGroup = 1;
  nextPartition = 1;
  nextDeadLetter = 1;

  /** Deleted queues whose partitions are not all removed, oldest first. */
  readonly deletedQueues: QueueState[] = [];

  /** Ends of leases by row of deliveries, and of delays and windows by partition row. */
  readonly leaseEnds = new TimingWheel();
  readonly deferralEnds = new TimingWheel();
  readonly signals = new Signals();
  /** Longest memory of ids over all queues, for which version of the queues, and when to look. */
  rememberUs = 0;
  rememberVersion = -1;
  forgetAtUs = 0;
  /** Scratch for one 128-bit value. */
  readonly words = new Uint32Array(4);
  /** Whether somebody drains the signals: on the leader. */
  isSignalling = false;

  /** Seeds the hashes of everything that clients name. */
  readonly tableSeed: number;

  constructor(payload: PayloadReader, tableSeed: number, blockCache: BlockCacheSizes) {
    this.payload = payload;
    this.tableSeed = tableSeed;
    this.partitions = new Partitions(tableSeed);
    this.blocks = new BlockIndex(payload, this.partitions, blockCache);
    this.openBlocks = new OpenBlocks(payload, this.blocks);
    this.cursors = new Cursors(tableSeed);
  }

  /** The live queue of a partition, or undefined when its queue is deleted. */
  queueOf(partitionRow: number): QueueState | undefined {
    const queue = this.queues.get(this.partitions.queue.get(partitionRow));
    return queue === undefined || queue.isDeleted ? undefined : queue;
  }
}
