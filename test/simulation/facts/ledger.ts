// What the committed entries say, kept as plainly as possible and apart from the engine: the messages
// of every partition, the cursors of every group. The invariants compare everything else with it.

import { assert, decodeUtf8 } from '@queen-ts/base';
import { BLOCK_FRAME, BlockReader, EFFECT, EntryHeadReader, payloadOf } from '@queen-ts/protocol';
import type { AppendEffect, CursorPutEffect, Effect } from '@queen-ts/protocol';
import type { Entry } from '@queen-ts/raft';
import { valueOf } from './message-value.ts';

/** A cursor as its last effect left it, and every lease that it ever carried. */
export interface CursorFacts {
  readonly latest: CursorPutEffect;
  /** Lease ids as text, oldest first. */
  readonly leases: readonly string[];
}

/** A partition. */
export interface PartitionFacts {
  readonly number: number;
  readonly queue: string;
  readonly name: string;
  /** Its queue was deleted, and with it all that it holds. */
  isDeleted: boolean;
  /** Messages below it were removed by retention. */
  logStart: number;
  /** The value of the message at each offset. */
  readonly values: number[];
  /** By group name. */
  readonly cursors: Map<string, CursorFacts>;
  /** Values of dead letters, by group name. */
  readonly deadLetters: Map<string, Set<number>>;
}

/** Where a value was stored. */
export interface Place {
  readonly partition: PartitionFacts;
  readonly offset: number;
  /** Log time of the append. */
  readonly createdUs: number;
}

/** Sees each effect before the ledger takes it in. */
export type EffectVisitor = (effect: Effect, at: { index: number; nowUs: number }) => void;

/** Facts from the committed entries, in order. */
export class Ledger {
  readonly #queues = new Map<number, string>();
  readonly #groups = new Map<number, string>();
  readonly #partitions = new Map<number, PartitionFacts>();
  readonly #byQueue = new Map<string, PartitionFacts[]>();
  readonly #places = new Map<number, Place>();
  #nextPartition = 1;

  /** The partitions of a queue, in the order of their creation. */
  partitionsOf(queue: string): readonly PartitionFacts[] {
    return this.#byQueue.get(queue) ?? [];
  }

  partition(number: number): PartitionFacts | undefined {
    return this.#partitions.get(number);
  }

  /** Where a message with this value is stored. */
  placeOf(value: number): Place | undefined {
    return this.#places.get(value);
  }

  groupName(number: number): string {
    return this.#groups.get(number) ?? `group ${number}`;
  }

  /** Takes in the next committed entry. */
  take(entry: Entry, visit: EffectVisitor): void {
    if (entry.type !== 'command') return;
    const reader = new EntryHeadReader(entry.head);
    const at = { index: entry.index, nowUs: reader.nowUs };
    this.#nextPartition = reader.firstPartition;
    for (let effect = reader.next(); effect !== undefined; effect = reader.next()) {
      visit(effect, at);
      this.#apply(effect, entry);
    }
  }

  #apply(effect: Effect, entry: Entry): void {
    switch (effect.kind) {
      case EFFECT.QUEUE_PUT:
        this.#queues.set(effect.queue, effect.name);
        break;
      case EFFECT.QUEUE_DELETE: {
        const queue = this.#queues.get(effect.queue) ?? '';
        for (const partition of this.partitionsOf(queue)) partition.isDeleted = true;
        this.#byQueue.delete(queue);
        break;
      }
      case EFFECT.GROUP_PUT:
        this.#groups.set(effect.group, effect.name);
        break;
      case EFFECT.PARTITION_PUT:
        this.#addPartition(effect.queue, effect.name);
        break;
      case EFFECT.LOG_START:
        this.#known(effect.partition).logStart = effect.offset;
        break;
      case EFFECT.APPEND:
        this.#append(effect, entry);
        break;
      case EFFECT.CURSOR_PUT:
        this.#putCursor(effect);
        break;
      case EFFECT.DEAD_LETTER_PUT: {
        const partition = this.#known(effect.partition);
        const group = this.groupName(effect.group);
        const letters = partition.deadLetters.get(group) ?? new Set();
        partition.deadLetters.set(group, letters.add(partition.values[effect.offset] ?? -1));
        break;
      }
      default:
        // Nothing else is asked about.
        break;
    }
  }

  #addPartition(queueNumber: number, name: Uint8Array): void {
    const queue = this.#queues.get(queueNumber) ?? `queue ${queueNumber}`;
    const partition: PartitionFacts = {
      number: this.#nextPartition,
      queue,
      name: decodeUtf8(name, 0, name.length) ?? '',
      isDeleted: false,
      logStart: 0,
      values: [],
      cursors: new Map(),
      deadLetters: new Map(),
    };
    this.#nextPartition += 1;
    this.#partitions.set(partition.number, partition);
    this.#byQueue.set(queue, [...this.partitionsOf(queue), partition]);
  }

  #append(effect: AppendEffect, entry: Entry): void {
    const partition = this.#known(effect.partition);
    valuesOf(effect, entry).forEach((value, i) => {
      partition.values[effect.baseOffset + i] = value;
      const { createdUs } = effect;
      this.#places.set(value, { partition, offset: effect.baseOffset + i, createdUs });
    });
  }

  #putCursor(effect: CursorPutEffect): void {
    const { cursors } = this.#known(effect.partition);
    const group = this.groupName(effect.group);
    const known = cursors.get(group);
    const lease = leaseText(effect.leaseId);
    const isNew = effect.leaseToExclusive > 0 && known?.leases.at(-1) !== lease;
    const leases = known?.leases ?? [];
    cursors.set(group, { latest: effect, leases: isNew ? [...leases, lease] : leases });
  }

  #known(number: number): PartitionFacts {
    const partition = this.#partitions.get(number);
    assert(partition !== undefined, () => `no partition ${number}`);
    return partition;
  }
}

/** The values that an append carries, in offset order. */
export function valuesOf(effect: AppendEffect, entry: Entry): number[] {
  const { blockStart, blockSize, count } = effect;
  const address = { entryIndex: entry.index, blockStart, blockSize };
  const { bytes, spans } = new BlockReader(payloadOf(entry.payload), address).frames(0, count);
  return Array.from({ length: count }, (_, i) => {
    return valueOf(bytes, spans[i * BLOCK_FRAME.WIDTH + BLOCK_FRAME.PAYLOAD_START]!);
  });
}

/** A lease id as text. */
export function leaseText(id: readonly number[]): string {
  return id.join('.');
}
