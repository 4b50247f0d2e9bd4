// The queue state machine. On the leader it turns commands into effects and applies them at once
// (apply-ahead planning, ADR 0004); on every other node it applies the entries that carry them. It
// owns no clock, no randomness and no I/O: time and ids come with the calls.

import type { Command, Id128, Outcome, PayloadReader } from '@queen-ts/protocol';
import { InvariantError } from '@queen-ts/base';
import type { EngineLimits } from './limits.ts';
import type { QueueFilter, QueueList } from './queries/queue-view.ts';

/** What an engine is built from. */
export interface EngineOptions {
  /**
   * Reads payload bytes of entries that were applied or closed before. The entry being planned is
   * read from the engine's own buffer and never asked for here.
   */
  readonly payloads: PayloadReader;
  readonly limits: EngineLimits;
}

/** Opens one planning cycle: everything planned until it is closed becomes one log entry. */
export interface CycleStart {
  /** Log index that the entry will have. */
  readonly index: number;
  /** Wall time of the entry in microseconds; greater than that of every entry before. */
  readonly nowUs: number;
  /** Expected payload size in bytes; the buffer grows when it is too small. */
  readonly payloadSizeHint: number;
}

/** What an entry carries; both buffers are handed over and never touched again. */
export interface EntryParts {
  readonly head: Uint8Array;
  readonly payload: Uint8Array;
}

/** What a cluster fixes once, in its first command entry. */
export interface ClusterIdentity {
  readonly clusterId: Id128;
  /** Key of the transaction-id hash: four words. */
  readonly hashKey: Uint32Array;
}

/** Receives what became claimable. Numbers are those of `queueName` and `partitionName`. */
export interface SignalVisitor {
  /** Messages were appended: every group of the queue may find them. */
  appended(queueNumber: number, partitionNumber: number): void;
  /**
   * A (partition, group) became claimable otherwise: its lease ended, a delay or window ran out, or a
   * pop left messages behind. Partition 0 means that the group should look at the whole queue.
   */
  armed(queueNumber: number, group: string, partitionNumber: number): void;
}

/** Labels of a queue, for pops by label. */
export interface QueueLabels {
  readonly namespace: string;
  readonly task: string;
}

/** Sizes for metrics. */
export interface EngineCounters {
  readonly queues: number;
  readonly partitions: number;
  readonly groups: number;
  readonly cursors: number;
  readonly liveLeases: number;
  readonly deadLetters: number;
  /** Partitions of deleted queues that `planHousekeeping` still has to remove. */
  readonly partitionsToRemove: number;
}

/** The state of all queues, and the rules that change it. */
export class Engine {
  constructor(options: EngineOptions) {
    void options;
  }

  /** Time of the newest entry planned or applied, in microseconds; 0 before the first. */
  get nowUs(): number {
    return notBuilt();
  }

  /** Undefined until the genesis effect is planned or applied. */
  get identity(): ClusterIdentity | undefined {
    return notBuilt();
  }

  /** Starts a cycle. Throws InvariantError when one is open or time or index do not advance. */
  openCycle(cycle: CycleStart): void {
    notBuilt(cycle);
  }

  /** Fixes the cluster's identity. Inside a cycle, once, before any other effect. */
  planGenesis(identity: ClusterIdentity): void {
    notBuilt(identity);
  }

  /** Decides one command and applies its effects at once. Inside a cycle. */
  plan(command: Command): Outcome {
    return notBuilt(command);
  }

  /**
   * Removes up to `budget` partitions of deleted queues. Inside a cycle. Returns how many it removed;
   * fewer than the budget means that nothing is left to do.
   */
  planHousekeeping(budget: number): number {
    return notBuilt(budget);
  }

  /** Ends the cycle. Undefined when nothing had an effect: then the index stays unused. */
  closeCycle(): EntryParts | undefined {
    return notBuilt();
  }

  /** Applies an entry of the log; `index` grows by any step. Throws InvariantError on damage. */
  apply(entry: { readonly index: number } & EntryParts): void {
    notBuilt(entry);
  }

  /**
   * Ends leases, delays and windows that ran out by `nowUs` and signals what they held back. Fires
   * at most `limits.timersFiredMax` timers; returns whether more are due.
   */
  advanceTo(nowUs: number): boolean {
    return notBuilt(nowUs);
  }

  /** When the next timer is due, in microseconds; never late, at times early. Infinity when none. */
  nextTimerUs(): number {
    return notBuilt();
  }

  /** Reports and forgets what became claimable since the last call. */
  drainSignals(visitor: SignalVisitor): void {
    notBuilt(visitor);
  }

  /** Name of a queue; undefined once it is deleted. */
  queueName(queueNumber: number): string | undefined {
    return notBuilt(queueNumber);
  }

  /** Labels of a queue; undefined once it is deleted. */
  queueLabels(queueNumber: number): QueueLabels | undefined {
    return notBuilt(queueNumber);
  }

  /** Name of a partition; undefined once it is removed. */
  partitionName(partitionNumber: number): string | undefined {
    return notBuilt(partitionNumber);
  }

  /** Lists queues, newest first. Leases count as live when they end after `nowUs`. */
  listQueues(filter: QueueFilter & { readonly nowUs: number }): QueueList {
    return notBuilt(filter);
  }

  /** Number of queues that are not deleted. */
  queueCount(): number {
    return notBuilt();
  }

  /** Number of partitions of queues that are not deleted. */
  partitionCount(): number {
    return notBuilt();
  }

  /** Sizes of the state. */
  counters(): EngineCounters {
    return notBuilt();
  }

  /**
   * Rolling digest over everything applied, 8 hex digits twice. Equal on two nodes that applied the
   * same entries in the same order (I9); compare at equal indexes only.
   */
  digest(): string {
    return notBuilt();
  }
}

function notBuilt(...given: readonly unknown[]): never {
  throw new InvariantError(`the engine cannot do this yet (${given.length} arguments)`);
}
