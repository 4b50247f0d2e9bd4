// Queues, each followed by its groups, in the order of their numbers. They are few and plain objects,
// so they are copied when the state is frozen. Counters over rows are stored to be compared with what
// the restored rows add up to.

import { assert, CodecError } from '@queen-ts/base';
import type { ByteReader, ByteWriter } from '@queen-ts/base';
import { EFFECT, readEffect, writeEffect } from '@queen-ts/protocol';
import type { GroupPutEffect, QueuePutEffect } from '@queen-ts/protocol';
import { GroupState, QueueState } from '../queue-state.ts';
import type { State } from '../state.ts';
import { RECORD } from './format.ts';

/** What the rows of a queue add up to. */
export interface QueueSums {
  readonly retainedMessages: number;
  readonly retainedBlocks: number;
  readonly retainedBytes: number;
  readonly deadLetters: number;
}

/** A queue as it was when the state was frozen. */
export interface FrozenQueue {
  readonly queue: QueuePutEffect;
  /** 1 for the queue that was deleted first, and so on; 0 for a live one. */
  readonly deletedPosition: number;
  readonly sums: QueueSums;
  readonly groups: readonly GroupPutEffect[];
}

/** Copies the queues and groups of a state. */
export function freezeQueues(state: State): FrozenQueue[] {
  const queues = [...state.queues.values()].toSorted((a, b) => a.number - b.number);
  return queues.map((queue) => ({
    queue: {
      kind: EFFECT.QUEUE_PUT,
      queue: queue.number,
      name: queue.name,
      id: queue.id,
      createdUs: queue.createdUs,
      options: queue.options,
    },
    deletedPosition: queue.isDeleted ? state.deletedQueues.indexOf(queue) + 1 : 0,
    sums: sumsOf(queue),
    groups: queue.groups.toSorted((a, b) => a.number - b.number).map(groupPut),
  }));
}

/** Writes one queue. */
export function writeQueue(writer: ByteWriter, frozen: FrozenQueue, nowUs: number): void {
  const { sums } = frozen;
  writer.u8(RECORD.QUEUE);
  writeEffect(writer, frozen.queue, nowUs);
  writer.varint(frozen.deletedPosition);
  writer.varint(sums.retainedMessages);
  writer.varint(sums.retainedBlocks);
  writer.varint(sums.retainedBytes);
  writer.varint(sums.deadLetters);
}

/** Writes one group, after its queue. */
export function writeGroup(writer: ByteWriter, group: GroupPutEffect, nowUs: number): void {
  writer.u8(RECORD.GROUP);
  writeEffect(writer, group, nowUs);
}

/** Reads queues and groups into a state. */
export class QueueReader {
  readonly #state: State;
  readonly #sums = new Map<QueueState, QueueSums>();
  readonly #deleted: QueueState[] = [];

  constructor(state: State) {
    this.#state = state;
  }

  /** Reads the fields of a queue after the kind byte. */
  queue(reader: ByteReader): void {
    const state = this.#state;
    const effect = readEffect(reader, state.nowUs);
    if (effect.kind !== EFFECT.QUEUE_PUT) throw new CodecError(`queue of kind ${effect.kind}`);
    const { queue: number, name, id, createdUs, options } = effect;
    const queue = new QueueState({ number, name, id, createdUs, options });
    const deletedPosition = reader.varint();
    this.#sums.set(queue, {
      retainedMessages: reader.varint(),
      retainedBlocks: reader.varint(),
      retainedBytes: reader.varint(),
      deadLetters: reader.varint(),
    });
    state.queues.set(number, queue);
    queue.isDeleted = deletedPosition > 0;
    if (queue.isDeleted) this.#deleted[deletedPosition - 1] = queue;
    else state.queuesByName.set(name, queue);
  }

  /** Reads the fields of a group after the kind byte. */
  group(reader: ByteReader): void {
    const state = this.#state;
    const effect = readEffect(reader, state.nowUs);
    const isGroup = effect.kind === EFFECT.GROUP_PUT;
    const queue = isGroup ? state.queues.get(effect.queue) : undefined;
    if (!isGroup || queue === undefined) throw new CodecError('group of no queue');
    // Its ring is empty and its walk at the start: it will look at all its queue's partitions.
    const group = new GroupState({ number: effect.group, queue, name: effect.name });
    group.isRegistered = effect.registered;
    group.registeredUs = effect.registeredUs;
    group.mode = effect.mode;
    group.fromUs = effect.fromUs;
    group.conflation = effect.conflation;
    state.groups.set(group.number, group);
    queue.addGroup(group);
  }

  /** Checks and completes the queues once all their rows are in. */
  finish(): void {
    for (const queue of this.#state.queues.values()) {
      queue.partitions.endRestore();
      const stored = JSON.stringify(this.#sums.get(queue));
      const found = JSON.stringify(sumsOf(queue));
      assert(found === stored, () => `queue ${queue.number} has ${found} where ${stored} was`);
    }
    this.#state.deletedQueues.push(...this.#deleted);
  }
}

function sumsOf(queue: QueueState): QueueSums {
  const { retainedMessages, retainedBlocks, retainedBytes, deadLetters } = queue;
  return { retainedMessages, retainedBlocks, retainedBytes, deadLetters };
}

function groupPut(group: GroupState): GroupPutEffect {
  return {
    kind: EFFECT.GROUP_PUT,
    group: group.number,
    queue: group.queue.number,
    name: group.name,
    registered: group.isRegistered,
    registeredUs: group.registeredUs,
    mode: group.mode,
    fromUs: group.fromUs,
    conflation: group.conflation,
  };
}
