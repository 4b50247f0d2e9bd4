// What one consumer group received, checked message by message: the right payload, in push order
// inside each partition, each once, none left out. Knows nothing of HTTP.

import { parseTransactionId } from './flights.ts';
import type { Flight } from './flights.ts';
import type { DeliveredMessage } from './broker-client.ts';

/** What went wrong in a group; all zero in a run that verifies. */
export interface Faults {
  /** Messages that came after a later one of their partition. */
  readonly orderViolations: number;
  /** Messages that came again. */
  readonly duplicates: number;
  /** Messages that never came. */
  readonly gaps: number;
  /** Messages that are not what was sent: payload, partition, offset or id. */
  readonly altered: number;
}

interface Lane {
  lastOffset: number;
  /** Offsets already delivered: distinguishes a repeat from a late arrival. */
  readonly offsets: Set<number>;
}

/** The account of one group in one run. */
export class Ledger {
  readonly #generation: number;
  readonly #flights: readonly Flight[];
  /** Offset by flight position; -1 until the flight is delivered. */
  readonly #deliveredOffsets: Float64Array;
  readonly #lanes = new Map<string, Lane>();
  #received = 0;
  #leftovers = 0;
  #orderViolations = 0;
  #duplicates = 0;
  #altered = 0;

  constructor(generation: number, flights: readonly Flight[]) {
    this.#generation = generation;
    this.#flights = flights;
    this.#deliveredOffsets = new Float64Array(flights.length).fill(-1);
  }

  /** Different messages of this generation received so far. */
  get received(): number {
    return this.#received;
  }

  /** Messages of earlier generations: an interrupted run leaves them to the next. */
  get leftovers(): number {
    return this.#leftovers;
  }

  get isComplete(): boolean {
    return this.#received === this.#flights.length;
  }

  get partitions(): number {
    return this.#lanes.size;
  }

  /** Accounts for a message, in the order of delivery. */
  add(message: DeliveredMessage): void {
    const isRepeat = this.#addOffset(message.partition, message.offset);
    const identity = parseTransactionId(message.transactionId);
    const flight = identity && this.#flights[identity.position];
    if (identity === undefined || flight === undefined) {
      this.#altered += 1;
      return;
    }
    const isIntact =
      flight.partition === message.partition && flight.payloadText === JSON.stringify(message.data);
    if (!isIntact) this.#altered += 1;
    if (isRepeat) return;
    if (identity.generation !== this.#generation) {
      this.#leftovers += 1;
      return;
    }
    if (this.#deliveredOffsets[flight.position] !== -1) {
      // The same message at a second offset.
      this.#duplicates += 1;
      return;
    }
    this.#deliveredOffsets[flight.position] = message.offset;
    this.#received += 1;
  }

  /**
   * Compares with what the broker answered to the pushes: `pushedOffsets` holds the offset of each
   * flight by position. Both must name the same offset, and the push order must be the offset order.
   */
  close(pushedOffsets: Float64Array): Faults {
    let gaps = 0;
    let altered = this.#altered;
    for (const { position } of this.#flights) {
      const delivered = this.#deliveredOffsets[position];
      if (delivered === -1) gaps += 1;
      else if (delivered !== pushedOffsets[position]) altered += 1;
    }
    return {
      orderViolations: this.#orderViolations,
      duplicates: this.#duplicates,
      gaps,
      altered,
    };
  }

  /** Returns whether the offset was delivered before. */
  #addOffset(partition: string, offset: number): boolean {
    let lane = this.#lanes.get(partition);
    if (lane === undefined) {
      lane = { lastOffset: -1, offsets: new Set() };
      this.#lanes.set(partition, lane);
    }
    if (lane.offsets.has(offset)) {
      this.#duplicates += 1;
      return true;
    }
    if (offset < lane.lastOffset) this.#orderViolations += 1;
    lane.offsets.add(offset);
    lane.lastOffset = Math.max(lane.lastOffset, offset);
    return false;
  }
}
