// Compares what the engine lists with the model: queues with their counts, and dead letters.

import { deepStrictEqual } from 'node:assert/strict';
import { decodeUtf8, formatUuid } from '@queen-ts/base';
import type { DeadLetterView, Engine, QueueView } from '@queen-ts/engine';
import { modelDeadLetters } from './admin.ts';
import { modelListQueues } from './queues.ts';
import type { ModelQueueView } from './queues.ts';
import type { ModelQueues } from './state.ts';

/** Throws an AssertionError at the first difference. */
export function compareListing(engine: Engine, model: ModelQueues, nowUs: number): void {
  const views = [...engine.listQueues({ nowUs })].sort(byAge);
  const expected = modelListQueues(model, nowUs).sort(byAge);
  deepStrictEqual(
    views.map(({ name }) => name),
    expected.map(({ name }) => name),
    'listed queues',
  );
  views.forEach((view, i) => compareQueue(view, expected[i]!));
  const partitions = expected.reduce((sum, view) => sum + view.partitions, 0);
  deepStrictEqual(engine.queueCount(), model.size, 'queue count');
  deepStrictEqual(engine.partitionCount(), partitions, 'partition count');
  compareDeadLetters(engine, model);
}

function compareQueue(view: QueueView, expected: ModelQueueView): void {
  const { createdUs, options, partitions, segments } = view;
  const { total, pending, processing, deadLetter, completed } = view.messages;
  const wanted = expected.messages;
  deepStrictEqual(
    {
      createdUs,
      options,
      partitions,
      segments,
      total,
      deadLetter,
      unacked: pending + processing,
      processing,
      completed: expected.completed.includes(completed) ? true : completed,
    },
    {
      createdUs: expected.createdUs,
      options: expected.options,
      partitions: expected.partitions,
      segments: expected.segments,
      total: wanted.total,
      deadLetter: wanted.deadLetter,
      unacked: wanted.pending + wanted.processing,
      processing: wanted.processing,
      completed: true,
    },
    `listing of ${view.name}`,
  );
}

interface AgedView {
  readonly name: string;
  readonly createdUs: number;
}

/** Newest first; queues of one cycle have no order between them. */
function byAge(a: AgedView, b: AgedView): number {
  return b.createdUs - a.createdUs || (a.name < b.name ? -1 : 1);
}

/** Compares the listing of dead letters and returns it. */
export function compareDeadLetters(engine: Engine, model: ModelQueues): readonly DeadLetterView[] {
  const { deadLetters, total } = engine.listDeadLetters({ limit: 1000 });
  const seen = deadLetters.map((letter) => ({
    queue: letter.queue,
    partition: letter.partition,
    group: letter.group,
    offset: letter.offset,
    failedUs: letter.failedUs,
    id: formatUuid(letter.messageId),
    txn: letter.transactionId,
    payload: decodeUtf8(letter.payload, 0, letter.payload.length),
  }));
  const expected = modelDeadLetters(model).map((letter) => ({
    queue: letter.queue,
    partition: letter.partition,
    group: letter.group,
    offset: letter.offset,
    failedUs: letter.failedUs,
    id: letter.message.id,
    txn: letter.message.txn ?? letter.message.id,
    payload: letter.message.payload,
  }));
  deepStrictEqual(seen, expected, 'listing of dead letters');
  deepStrictEqual(total, expected.length, 'number of dead letters');
  return deadLetters;
}
