// What planning works with: the state it reads, the entry it writes, and scratch memory. An effect is
// written and applied in one step, so the state always is what the entry so far makes of it.

import { ByteWriter } from '@queen-ts/base';
import { BLOCK_LINKS_SIZE_MAX, EntryWriter } from '@queen-ts/protocol';
import type { Effect, LinkedBlock } from '@queen-ts/protocol';
import { applyEffect } from '../apply/apply.ts';
import type { EngineLimits } from '../limits.ts';
import type { QueueState } from '../queue-state.ts';
import type { State } from '../state.ts';
import { writeNextLinks } from './block-links.ts';
import { IdMatcher } from './id-matcher.ts';
import { PartitionSweep } from './partition-sweep.ts';

const SCRATCH_ITEMS_MIN = 1024;

/** One planning cycle at a time. */
export class PlanContext {
  readonly state: State;
  readonly limits: EngineLimits;
  readonly head = new EntryWriter();
  /** Replaced for every cycle: the finished payload is handed over. */
  payload = new ByteWriter({ capacity: 0 });
  /** Scratch for the outcome that is remembered. */
  readonly outcomeBytes = new ByteWriter({ capacity: 256 });
  /** Matches the ids of ack targets. */
  readonly matcher: IdMatcher;
  /** Counts pops by label, so that none of the queues is always first. */
  labelTurn = 0;
  /** Queues by labels, valid for one version of the queue table. */
  readonly labelled = new Map<string, readonly QueueState[]>();
  labelledVersion = -1;
  /** Passes of retention and of the cleanup of partitions. */
  readonly retention = new PartitionSweep();
  readonly cleanup = new PartitionSweep();
  readonly #links = new Uint8Array(BLOCK_LINKS_SIZE_MAX);
  #items = new Uint32Array(SCRATCH_ITEMS_MIN);

  constructor(state: State, limits: EngineLimits) {
    this.state = state;
    this.limits = limits;
    this.matcher = new IdMatcher(state.tableSeed);
  }

  /** Writes an effect to the entry and applies it. */
  emit(effect: Effect): void {
    this.head.effect(effect);
    applyEffect(this.state, effect);
  }

  /** Links of the next block of a partition, encoded; valid until the next call. */
  linksOf(row: number, block: LinkedBlock): Uint8Array {
    const size = writeNextLinks(this.#links, this.state.blocks, row, block);
    return this.#links.subarray(0, size);
  }

  /** Scratch for one command's item positions; valid until the next call. */
  items(count: number): Uint32Array {
    if (this.#items.length < count) this.#items = new Uint32Array(count * 2);
    return this.#items;
  }
}
