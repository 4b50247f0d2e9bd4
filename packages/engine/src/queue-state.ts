// What the engine knows of one queue and of its groups. Queues and groups are few: plain objects.

import { assert } from '@queen-ts/base';
import type { GroupMode, Id128, QueueOptions } from '@queen-ts/protocol';
import { GROUP_MODE } from '@queen-ts/protocol';
import { U32Column } from './tables/chunked-columns.ts';
import { ReadyRing } from './tables/ready-ring.ts';
import { TICK_US } from './tables/timing-wheel.ts';

const US_PER_SECOND = 1_000_000;

/** Ids are remembered for acks this long even with a shorter dedup window (reference §12). */
const REMEMBER_SECONDS_MIN = 900;

/** The partitions of one queue by ordinal; ordinals of removed ones are used again. */
class PartitionList {
  readonly #rows = new U32Column();
  readonly #free: number[] = [];
  #end = 0;

  /** Ordinals are below this. */
  get end(): number {
    return this.#end;
  }

  /** Partitions present. */
  get count(): number {
    return this.#end - this.#free.length;
  }

  /** The ordinal that the next {@link set} must use. */
  nextOrdinal(): number {
    return this.#free.at(-1) ?? this.#end;
  }

  /** Row at an ordinal below {@link end}, or 0 when it was removed. */
  row(ordinal: number): number {
    return this.#rows.get(ordinal);
  }

  /** Row of the highest ordinal in use, or 0. */
  last(): number {
    for (let ordinal = this.#end - 1; ordinal >= 0; ordinal -= 1) {
      const row = this.#rows.get(ordinal);
      if (row !== 0) return row;
    }
    return 0;
  }

  /** Puts a row at {@link nextOrdinal}. */
  set(ordinal: number, row: number): void {
    if (ordinal === this.#end) {
      this.#end += 1;
      this.#rows.ensure(this.#end);
    } else {
      this.#free.pop();
    }
    this.#rows.set(ordinal, row);
  }

  /** Puts a row at any ordinal that is free; {@link endRestore} follows when all rows are in. */
  restore(ordinal: number, row: number): void {
    this.#rows.ensure(ordinal + 1);
    assert(this.#rows.get(ordinal) === 0, () => `two partitions at ordinal ${ordinal}`);
    this.#rows.set(ordinal, row);
    this.#end = Math.max(this.#end, ordinal + 1);
  }

  /** Makes the ordinals that {@link restore} left out free. */
  endRestore(): void {
    for (let ordinal = this.#end - 1; ordinal >= 0; ordinal -= 1) {
      if (this.#rows.get(ordinal) === 0) this.#free.push(ordinal);
    }
  }

  /** Removes the row at an ordinal. */
  remove(ordinal: number): void {
    this.#rows.set(ordinal, 0);
    this.#free.push(ordinal);
  }
}

/** One queue. */
export class QueueState {
  readonly number: number;
  readonly name: string;
  readonly id: Id128;
  readonly createdUs: number;
  options: QueueOptions;
  /** True once deleted: invisible, its partitions wait for their removal. */
  isDeleted = false;
  readonly partitions = new PartitionList();
  /** In the order they were created. */
  readonly groups: GroupState[] = [];
  readonly #groupsByName = new Map<string, GroupState>();
  /** Retained messages and blocks of all partitions, and the size of the blocks in bytes. */
  retainedMessages = 0;
  retainedBlocks = 0;
  retainedBytes = 0;
  deadLetters = 0;
  /** Time of the newest append that its partitions saw, 0 before the first. Derived. */
  newestAppendUs = 0;

  constructor(queue: {
    readonly number: number;
    readonly name: string;
    readonly id: Id128;
    readonly createdUs: number;
    readonly options: QueueOptions;
  }) {
    this.number = queue.number;
    this.name = queue.name;
    this.id = queue.id;
    this.createdUs = queue.createdUs;
    this.options = queue.options;
  }

  /** The group of a name. */
  groupByName(name: string): GroupState | undefined {
    return this.#groupsByName.get(name);
  }

  /** Adds a group whose name is free. */
  addGroup(group: GroupState): void {
    this.groups.push(group);
    this.#groupsByName.set(group.name, group);
  }

  /** Removes a group. */
  removeGroup(group: GroupState): void {
    this.groups.splice(this.groups.indexOf(group), 1);
    this.#groupsByName.delete(group.name);
  }

  /** Age at which an append becomes deliverable, in microseconds. */
  get delayUs(): number {
    return Math.max(0, this.options.delayedProcessing) * US_PER_SECOND;
  }

  /** Quiet time before a partition delivers, in microseconds. */
  get windowUs(): number {
    return Math.max(0, this.options.windowBuffer) * US_PER_SECOND;
  }

  /** What keeps the newest message of the queue from being delivered now, if anything does. */
  holdAt(nowUs: number): 'window' | 'delayed' | undefined {
    // Timers end a hold at whole ticks.
    const isYounger = (us: number): boolean =>
      us > 0 && Math.ceil((this.newestAppendUs + us) / TICK_US) * TICK_US > nowUs;
    if (isYounger(this.windowUs)) return 'window';
    return isYounger(this.delayUs) ? 'delayed' : undefined;
  }

  /** Age up to which a transaction id is a duplicate, in microseconds; 0 means never. */
  get dedupUs(): number {
    return this.options.dedupWindowSeconds * US_PER_SECOND;
  }

  /** How long transaction ids are remembered, in microseconds. */
  get rememberUs(): number {
    const { dedupWindowSeconds, completedRetentionSeconds } = this.options;
    return (
      Math.max(dedupWindowSeconds, completedRetentionSeconds, REMEMBER_SECONDS_MIN) * US_PER_SECOND
    );
  }
}

/** One group of one queue. */
export class GroupState {
  readonly number: number;
  readonly queue: QueueState;
  readonly name: string;
  /** False while only pops of single partitions used it: it has cursors but no subscription. */
  isRegistered = false;
  registeredUs = 0;
  mode: GroupMode = GROUP_MODE.ALL;
  fromUs = 0;
  conflation = false;
  /** Ordinals of partitions to look at; a superset of what can be claimed below the walk. */
  readonly ready = new ReadyRing();
  /** Ordinals from here on were not looked at yet since the group was registered. */
  walkFrom = 0;
  /** Cursors, and those among them with a lease whose end has not been noticed. */
  cursors = 0;
  leases = 0;
  /** Dead letters filed for the group: while there are any, its row keeps their group's name. */
  deadLetters = 0;

  constructor(group: {
    readonly number: number;
    readonly queue: QueueState;
    readonly name: string;
  }) {
    this.number = group.number;
    this.queue = group.queue;
    this.name = group.name;
  }
}
