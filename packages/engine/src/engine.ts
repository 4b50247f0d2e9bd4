// The queue state machine. On the leader it turns commands into effects and applies them at once
// (apply-ahead planning, ADR 0004); on every other node it applies the entries that carry them. It
// owns no clock, no randomness and no I/O: time and ids come with the calls.

import { assert, ByteWriter, CodecError, InvariantError } from '@queen-ts/base';
import { EFFECT, EntryHeadReader, writeOutcome } from '@queen-ts/protocol';
import type { Command, Outcome, PayloadReader, PopCommand, RequestId } from '@queen-ts/protocol';
import { applyEffect } from './apply/apply.ts';
import { FrozenState } from './checkpoint/frozen-state.ts';
import { EntryPayloads } from './entry-payloads.ts';
import type { EngineLimits } from './limits.ts';
import { PlanContext } from './plan/context.ts';
import { holdUs } from './plan/hold.ts';
import { planHousekeeping } from './plan/housekeeping.ts';
import { planCommand } from './plan/plan.ts';
import { memoryOf, recall } from './plan/repeats.ts';
import { planCleanup, planRetention } from './plan/retention.ts';
import { readDeadLetters } from './queries/dead-letters.ts';
import type { DeadLetterFilter, DeadLetterList } from './queries/dead-letters.ts';
import { readQueues } from './queries/list-queues.ts';
import { readMessage } from './queries/messages.ts';
import type { MessageAddress, MessageView } from './queries/messages.ts';
import type { QueueFilter, QueueList } from './queries/queue-view.ts';
import { completed, EngineView } from './queries/view.ts';
import { forgetIds } from './memory.ts';
import { advanceTimers, nextTimerUs } from './readiness.ts';
import { State } from './state.ts';
import { BLOCK_CACHE_SIZES_DEFAULT } from './tables/block-index.ts';
import type { BlockCacheSizes } from './tables/block-index.ts';
import type { ClusterIdentity, Maintenance } from './state.ts';

/** Timers that applying one entry fires, on top of those it sets. */
const TIMERS_PER_ENTRY = 64;

/** What an engine is built from. */
export interface EngineOptions {
  /**
   * Reads payload bytes of entries that were applied or closed before. The entry being planned is
   * read from the engine's own buffer and never asked for here.
   */
  readonly payloads: PayloadReader;
  readonly limits: EngineLimits;
  /**
   * Seeds the hash tables, since clients choose names: any 32-bit integer, random in production. It
   * never shows in entries, answers or digests. Default 0.
   */
  readonly tableSeed?: number;
  /** What the places of blocks may take in memory besides the newest of each partition. */
  readonly blockCache?: BlockCacheSizes;
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

/** Receives what became claimable. Numbers are those of `queueName` and `partitionName`. */
export interface SignalVisitor {
  /**
   * Messages were appended, or the delay or window that held them back is over: every group of the
   * queue may find them. Partition 0 stands for
   * all of them: the queue has other labels, no delay any more, or pops were resumed.
   */
  appended(queueNumber: number, partitionNumber: number): void;
  /**
   * A (partition, group) became claimable otherwise: its lease ended, or a pop left messages behind. Partition 0 means that the group should look at the whole queue.
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
  /** Retained append blocks. */
  readonly blocks: number;
  /** Client transaction ids remembered for dedup. */
  readonly rememberedIds: number;
  /** Requests whose outcome a repeat gets. */
  readonly recentRequests: number;
  /** Allocated size of the tables in bytes. */
  readonly tableBytes: number;
}

/** The state of all queues, and the rules that change it. */
export class Engine {
  readonly #state: State;
  readonly #context: PlanContext;
  readonly #payloads: EntryPayloads;
  #isCycleOpen = false;
  #isFrozen = false;

  constructor(options: EngineOptions) {
    this.#payloads = new EntryPayloads(options.payloads);
    const { tableSeed = 0, blockCache = BLOCK_CACHE_SIZES_DEFAULT } = options;
    this.#state = new State(this.#payloads, tableSeed, blockCache);
    this.#context = new PlanContext(this.#state, options.limits);
  }

  /** Time of the newest entry planned or applied, in microseconds; 0 before the first. */
  get nowUs(): number {
    return this.#state.nowUs;
  }

  /** Undefined until the genesis effect is planned or applied. */
  get identity(): ClusterIdentity | undefined {
    return this.#state.identity;
  }

  /** Which kinds of requests are paused. */
  get maintenance(): Maintenance {
    return this.#state.maintenance;
  }

  /** The tables, for snapshots, queries and tests in this package. Read-only. */
  get state(): State {
    return this.#state;
  }

  /** Starts a cycle. Throws InvariantError when one is open or time or index do not advance. */
  openCycle(cycle: CycleStart): void {
    assert(!this.#isCycleOpen, () => `cycle ${cycle.index} opened inside another`);
    this.#isCycleOpen = true;
    this.#state.isSignalling = true;
    const timers = this.#context.limits.timersFiredMax;
    const afterUs = this.#state.nowUs;
    this.#startEntry({ index: cycle.index, nowUs: cycle.nowUs, afterUs, timers });
    this.#context.payload = new ByteWriter({ capacity: cycle.payloadSizeHint });
    this.#context.head.open({
      nowUs: cycle.nowUs,
      firstPartition: this.#state.nextPartition,
    });
    this.#payloads.openPlanned(cycle.index, this.#context.payload);
    this.#state.openBlocks.startCycle();
  }

  /** Fixes the cluster's identity. Inside a cycle, once, before any other effect. */
  planGenesis(identity: ClusterIdentity): void {
    this.#assertOpen();
    const [a, b, c, d] = identity.hashKey;
    const hashKey = [a ?? 0, b ?? 0, c ?? 0, d ?? 0] as const;
    this.#context.emit({ kind: EFFECT.GENESIS, clusterId: identity.clusterId, hashKey });
  }

  /** Work of the open cycle so far, as the bytes of stored blocks looked at and dead letters filed. */
  get cycleCostBytes(): number {
    return this.#state.openBlocks.costBytes;
  }

  /**
   * Decides one command and applies its effects at once. Inside a cycle. A request whose id is
   * remembered gets its first outcome and has no effects; one with effects is remembered.
   */
  plan(command: Command, request?: RequestId): Outcome {
    this.#assertOpen();
    if (request === undefined) return planCommand(this.#context, command);
    const { head } = this.#context;
    const repeated = recall(this.#state, command, request);
    if (repeated !== undefined) return repeated;
    const effectsBefore = head.effectCount;
    const outcome = planCommand(this.#context, command);
    if (head.effectCount > effectsBefore) this.#remember(request, outcome, command);
    return outcome;
  }

  /** Whether a request with this id had effects not long ago: a repeat gets its outcome. */
  remembers(request: RequestId): boolean {
    return memoryOf(this.#state, request).find(request.words) !== undefined;
  }

  /**
   * How long a waiting pop should be held back so that its batch fills, in microseconds; 0 means that it
   * should be planned now. Inside a cycle; has no effect.
   */
  holdUs(command: PopCommand): number {
    this.#assertOpen();
    return holdUs(this.#context, command);
  }

  /**
   * Removes up to `budget` partitions of deleted queues. Inside a cycle. Returns how many it removed;
   * fewer than the budget means that nothing is left to do.
   */
  planHousekeeping(budget: number): number {
    this.#assertOpen();
    return planHousekeeping(this.#context, budget);
  }

  /**
   * Looks at up to `budget` partitions of queues with a retention rule and removes appends that may
   * go. Inside a cycle. Returns whether the pass over all of them is complete.
   */
  planRetention(budget: number): boolean {
    this.#assertOpen();
    return planRetention(this.#context, budget);
  }

  /**
   * Looks at up to `budget` partitions and removes those that are empty, without dead letters, and
   * were not written, claimed or acked for `idleUs`. Inside a cycle. Returns whether the pass over
   * all of them is complete.
   */
  planCleanup(limits: { readonly budget: number; readonly idleUs: number }): boolean {
    this.#assertOpen();
    return planCleanup(this.#context, limits);
  }

  /** Ends the cycle. Undefined when nothing had an effect: then the index stays unused. */
  closeCycle(): EntryParts | undefined {
    this.#assertOpen();
    this.#isCycleOpen = false;
    const { head, payload } = this.#context;
    let parts: EntryParts | undefined;
    if (head.effectCount > 0) {
      parts = { head: head.finish(), payload: finished(payload) };
      this.#endEntry(parts.head);
    } else {
      assert(payload.length === 0, () => `${payload.length} bytes of payload without an effect`);
    }
    this.#state.openBlocks.endCycle();
    this.#payloads.close();
    this.#context.payload = new ByteWriter({ capacity: 0 });
    return parts;
  }

  /** Applies an entry of the log; `index` grows by any step. Throws InvariantError on damage. */
  apply(entry: { readonly index: number } & EntryParts): void {
    assert(!this.#isCycleOpen, () => `entry ${entry.index} applied inside a cycle`);
    try {
      this.#applyEffects(entry);
    } catch (error) {
      if (!(error instanceof CodecError)) throw error;
      throw new InvariantError(`entry ${entry.index} cannot be decoded: ${error.message}`);
    }
  }

  /**
   * Ends leases, delays and windows that ran out by `nowUs` and signals what they held back. Fires
   * at most `limits.timersFiredMax` timers; returns whether more are due.
   */
  advanceTo(nowUs: number): boolean {
    return advanceTimers(this.#state, nowUs, this.#context.limits.timersFiredMax);
  }

  /**
   * When to look at the timers again, in microseconds: late by less than a millisecond, which is their
   * resolution, at times early. Infinity when none is set.
   */
  nextTimerUs(): number {
    return nextTimerUs(this.#state);
  }

  /** Reports and forgets what became claimable since the last call. */
  drainSignals(visitor: SignalVisitor): void {
    this.#state.signals.drain((queue, groupNumber, partition) => {
      if (groupNumber === 0) {
        visitor.appended(queue, partition);
        return;
      }
      const group = this.#state.groups.get(groupNumber);
      if (group === undefined || group.queue.isDeleted) return;
      visitor.armed(group.queue.number, group.name, partition);
    });
  }

  /** Name of a queue; undefined once it is deleted. */
  queueName(queueNumber: number): string | undefined {
    const queue = this.#state.queues.get(queueNumber);
    return queue === undefined || queue.isDeleted ? undefined : queue.name;
  }

  /** Labels of a queue; undefined once it is deleted. */
  queueLabels(queueNumber: number): QueueLabels | undefined {
    const queue = this.#state.queues.get(queueNumber);
    return queue === undefined || queue.isDeleted ? undefined : queue.options;
  }

  /** Whether a queue encrypts its messages; false when there is none. */
  encrypts(queueName: string): boolean {
    return this.#state.queuesByName.get(queueName)?.options.encryptionEnabled === true;
  }

  /** Name of a partition; undefined once it is removed. */
  partitionName(partitionNumber: number): string | undefined {
    const row = this.#state.partitions.numbers.get(partitionNumber);
    return row === 0 ? undefined : this.#state.partitions.names.nameText(row);
  }

  /** The state as reads see it. Leases count as live when they end after `nowUs`. */
  view(nowUs: number): EngineView {
    return new EngineView(this.#state, nowUs);
  }

  /** Lists queues, newest first, at once: for tests and tools. */
  listQueues(filter: QueueFilter & { readonly nowUs: number }): QueueList {
    return completed(readQueues(this.view(filter.nowUs), filter));
  }

  /** Lists dead letters, newest first, at once: for tests and tools. Payloads are lent. */
  listDeadLetters(filter: DeadLetterFilter): DeadLetterList {
    return completed(readDeadLetters(this.view(this.nowUs), filter));
  }

  /** Finds a message by its address at once: for tests and tools. */
  findMessage(address: MessageAddress & { readonly nowUs: number }): MessageView | undefined {
    return completed(readMessage(this.view(address.nowUs), address));
  }

  /** Number of queues that are not deleted. */
  queueCount(): number {
    return this.#state.queuesByName.size;
  }

  /** Number of partitions of queues that are not deleted. */
  partitionCount(): number {
    return this.#state.partitions.count - this.#partitionsToRemove();
  }

  /** Sizes of the state. */
  counters(): EngineCounters {
    const { partitions, groups, cursors, leaseEnds, deadLetters, blocks, dedup } = this.#state;
    const { mintedRequests, clientRequests } = this.#state;
    const tables = [
      partitions,
      cursors,
      deadLetters,
      blocks,
      dedup,
      mintedRequests,
      clientRequests,
    ];
    return {
      queues: this.queueCount(),
      partitions: this.partitionCount(),
      groups: groups.size,
      cursors: cursors.count,
      liveLeases: leaseEnds.size,
      deadLetters: deadLetters.count,
      partitionsToRemove: this.#partitionsToRemove(),
      blocks: blocks.blockCount,
      rememberedIds: dedup.count,
      recentRequests: mintedRequests.count + clientRequests.count,
      tableBytes: tables.reduce((sum, table) => sum + table.bytes, 0),
    };
  }

  /**
   * Rolling digest over everything applied, 16 hex digits. Equal on two nodes that applied the same
   * entries in the same order (I9); compare at equal indexes only.
   */
  digest(): string {
    return this.#state.digest.text();
  }

  /**
   * Takes a picture of the state as of the newest entry, in well under 5 ms for a million partitions;
   * between cycles, and one at a time until it is released. Cycles and entries may go on.
   */
  freeze(): FrozenState {
    assert(!this.#isCycleOpen, 'freeze inside a cycle');
    assert(!this.#isFrozen, 'a second freeze before the first is released');
    this.#isFrozen = true;
    return new FrozenState(this.#state, () => {
      this.#isFrozen = false;
    });
  }

  #applyEffects(entry: { readonly index: number } & EntryParts): void {
    const state = this.#state;
    const reader = new EntryHeadReader(entry.head);
    // Followers have nobody to wake, but their wheels must not fill up.
    state.isSignalling = false;
    const timers = TIMERS_PER_ENTRY + reader.effectCount;
    // Not `nowUs`: this node may have led, and its last cycles may have been without effect.
    const afterUs = state.closedUs;
    this.#startEntry({ index: entry.index, nowUs: reader.nowUs, afterUs, timers });
    assert(
      reader.firstPartition === state.nextPartition,
      () => `entry ${entry.index} starts at partition ${reader.firstPartition}`,
    );
    this.#payloads.openApplied(entry.index, entry.payload);
    for (let effect = reader.next(); effect !== undefined; effect = reader.next()) {
      applyEffect(state, effect);
    }
    this.#payloads.close();
    for (const { request, bytes } of reader.outcomes()) {
      memoryOf(state, request).insert(request.words, bytes, state.nowUs);
    }
    this.#endEntry(entry.head);
  }

  #remember(request: RequestId, outcome: Outcome, command: Command): void {
    const { state, head, outcomeBytes } = this.#context;
    outcomeBytes.clear();
    const isSameCommand = !request.isClientKey;
    if (!writeOutcome(outcomeBytes, outcome, { command, isSameCommand })) return;
    head.outcome(request, outcomeBytes.written());
    memoryOf(state, request).insert(request.words, outcomeBytes.written(), state.nowUs);
  }

  #startEntry(entry: {
    readonly index: number;
    readonly nowUs: number;
    /** Time that it must be after. */
    readonly afterUs: number;
    readonly timers: number;
  }): void {
    const state = this.#state;
    const { index, nowUs, afterUs } = entry;
    // An index that was opened without an effect is opened again.
    assert(index > state.closedIndex, () => `entry ${index} after entry ${state.closedIndex}`);
    assert(
      Number.isSafeInteger(nowUs) && nowUs > afterUs,
      () => `entry ${index} at ${nowUs} us, the one before was at ${afterUs} us`,
    );
    state.entryIndex = index;
    state.nowUs = nowUs;
    advanceTimers(state, nowUs, entry.timers);
    forgetIds(state);
    state.mintedRequests.forget(nowUs);
    state.clientRequests.forget(nowUs);
  }

  #endEntry(head: Uint8Array): void {
    const { digest, entryIndex, partitions, cursors, deadLetters, groups, queues } = this.#state;
    this.#state.closedIndex = entryIndex;
    this.#state.closedUs = this.#state.nowUs;
    digest.number(entryIndex);
    digest.bytes(head);
    // What the effects left behind, so that equal heads on unequal states are found as well.
    digest.number(queues.size);
    digest.number(groups.size);
    digest.number(partitions.count);
    digest.number(cursors.count);
    digest.number(deadLetters.count);
  }

  #partitionsToRemove(): number {
    let count = 0;
    for (const queue of this.#state.deletedQueues) count += queue.partitions.count;
    return count;
  }

  #assertOpen(): void {
    assert(this.#isCycleOpen, 'planning outside of a cycle');
  }
}

/** The written bytes; copied when the buffer is much larger, which the log would keep alive. */
function finished(payload: ByteWriter): Uint8Array {
  const written = payload.written();
  return written.length * 2 < payload.bytes.length ? written.slice() : written;
}
