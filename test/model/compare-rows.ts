// Compares the rows that the log adds up to with the model's state, and settles in the model what the
// reference leaves open: partition numbers, ids of implicit queues, and counters with several values.

import { deepStrictEqual, ok } from 'node:assert/strict';
import { formatUuid, idsEqual } from '@queen-ts/base';
import { ZERO_ID } from '@queen-ts/protocol';
import type { CursorPutEffect, GroupPutEffect } from '@queen-ts/protocol';
import type { DeadLetterRow, LogRows, PartitionRow } from './log-rows.ts';
import type {
  ModelCursor,
  ModelDeadLetter,
  ModelLease,
  ModelPartition,
  ModelQueue,
  ModelQueues,
} from './state.ts';

/** Throws an AssertionError at the first difference. */
export function compareRows(queues: ModelQueues, rows: LogRows): void {
  const found = [...rows.queues.values()];
  deepStrictEqual(found.map(({ name }) => name).sort(), [...queues.keys()].sort(), 'queues');
  for (const row of found) {
    const queue = queues.get(row.name)!;
    const id = formatUuid(row.id);
    queue.id ??= id;
    deepStrictEqual(
      { id, createdUs: row.createdUs, options: row.options },
      { id: queue.id, createdUs: queue.createdUs, options: queue.options },
      `queue ${row.name}`,
    );
    const groups = [...rows.groups.values()].filter((group) => group.queue === row.queue);
    compareGroups(queue, groups, rows);
    comparePartitions(queue, row.queue, { rows, groups });
    compareDeadLetters(queue, row.queue, rows);
  }
}

/** A group that is not registered and has no cursor may be there or not: it makes no difference. */
function compareGroups(queue: ModelQueue, groups: readonly GroupPutEffect[], rows: LogRows): void {
  const cursors = [...rows.cursors.values()];
  const seen = groups
    .filter(({ registered, group }) => registered || cursors.some((it) => it.group === group))
    .map(({ name, registered, fromUs, conflation }) => {
      return registered ? { name, fromUs, conflation } : { name };
    });
  const partitions = [...queue.partitions.values()];
  const expected = [...queue.groups]
    .map(([name, { registration }]) => ({ name, ...registration }))
    .filter((it) => 'fromUs' in it || partitions.some(({ cursors: all }) => all.has(it.name)));
  deepStrictEqual(seen.sort(byName), expected.sort(byName), `groups of ${queue.name}`);
}

function byName(a: { readonly name: string }, b: { readonly name: string }): number {
  if (a.name === b.name) return 0;
  return a.name < b.name ? -1 : 1;
}

interface Found {
  readonly rows: LogRows;
  readonly groups: readonly GroupPutEffect[];
}

function comparePartitions(queue: ModelQueue, queueNumber: number, found: Found): void {
  const partitions = [...found.rows.partitions.values()].filter((it) => it.queue === queueNumber);
  const names = partitions.map(({ name }) => name);
  deepStrictEqual(names.sort(), [...queue.partitions.keys()].sort(), `partitions of ${queue.name}`);
  for (const row of partitions) {
    const partition = queue.partitions.get(row.name)!;
    partition.number ??= row.number;
    comparePartition(`${queue.name}/${row.name}`, partition, row);
    compareCursors(queue, partition, found);
  }
}

function comparePartition(where: string, partition: ModelPartition, row: PartitionRow): void {
  deepStrictEqual(row.number, partition.number, `number of ${where}`);
  deepStrictEqual(row.logStart, partition.logStart, `log start of ${where}`);
  const blocks = row.blocks.map((block) => {
    const { baseOffset, count, createdUs, producerSub } = block;
    return { baseOffset, count, createdUs, producerSub };
  });
  deepStrictEqual(blocks, partition.appends, `appends of ${where}`);
  const stored = row.blocks.flatMap(({ messages }) => messages);
  const pushed = partition.messages.map(({ offset, id, txn, payload }) => {
    return { offset, id, txn, payload };
  });
  deepStrictEqual(stored, pushed, `messages of ${where}`);
}

function compareCursors(
  queue: ModelQueue,
  partition: ModelPartition,
  { rows, groups }: Found,
): void {
  const seen = groups.flatMap(({ name, group }) => {
    const row = rows.cursors.get(`${partition.number}/${group}`);
    return row === undefined ? [] : [{ name, row }];
  });
  const where = `${queue.name}/${partition.name}`;
  const names = seen.map(({ name }) => name).sort();
  deepStrictEqual(names, [...partition.cursors.keys()].sort(), `groups with a cursor in ${where}`);
  for (const { name, row } of seen) {
    seal(partition.cursors.get(name)!, row);
    compareCursor(`cursor of ${name} in ${where}`, partition, partition.cursors.get(name)!, row);
  }
}

/**
 * A pop moves a cursor to the tail when retention removed everything before it (reference §2.5). An
 * ended lease goes with that; when exactly is the engine's choice.
 */
function seal(cursor: ModelCursor, row: CursorPutEffect): void {
  const { sealTo } = cursor;
  delete cursor.sealTo;
  if (sealTo === undefined || row.next !== sealTo || cursor.next >= sealTo) return;
  cursor.next = sealTo;
  cursor.lease = undefined;
  cursor.retries = [...new Set([0, ...cursor.retries])];
}

function compareCursor(
  where: string,
  partition: ModelPartition,
  cursor: ModelCursor,
  row: CursorPutEffect,
): void {
  const { logStart } = partition;
  const next = Math.max(cursor.next, logStart);
  deepStrictEqual(Math.max(row.next, logStart), next, `next of the ${where}`);
  const lease = idsEqual(row.leaseId, ZERO_ID)
    ? undefined
    : {
        id: formatUuid(row.leaseId),
        expiresUs: row.leaseExpiresUs,
        toExclusive: row.leaseToExclusive,
      };
  deepStrictEqual(lease, leaseText(cursor.lease), `lease of the ${where}`);
  const attempts = row.attemptFrom === next ? row.attemptCount : 0;
  const allowed = cursor.attempt.from === next ? cursor.attempt.counts : [0];
  const isPassed = row.next < logStart;
  ok(
    isPassed || allowed.includes(attempts),
    `${where} counts ${attempts} attempts, not ${allowed.join('|')}`,
  );
  cursor.attempt = isPassed
    ? { from: next, counts: [0, row.attemptCount] }
    : { from: row.attemptFrom, counts: [row.attemptCount] };
  const { retryCount } = row;
  ok(
    cursor.retries.includes(retryCount),
    `${where} counts ${retryCount} retries, not ${cursor.retries.join('|')}`,
  );
  cursor.retries = [retryCount];
  const settled = idsEqual(row.settledLeaseId, ZERO_ID)
    ? undefined
    : formatUuid(row.settledLeaseId);
  const settledIds = cursor.settled.map((it) => it?.id ?? 'none');
  const isKnown = settledIds.includes(settled ?? 'none');
  ok(isKnown, `${where} settled lease ${settled}, not ${settledIds.join('|')}`);
  cursor.settled = [cursor.settled.find((it) => it?.id === settled)];
}

function leaseText(lease: ModelLease | undefined): object | undefined {
  if (lease === undefined) return undefined;
  const { id, expiresUs, toExclusive } = lease;
  return { id, expiresUs, toExclusive };
}

function compareDeadLetters(queue: ModelQueue, queueNumber: number, rows: LogRows): void {
  const seen = [...rows.deadLetters.values()]
    .filter(({ partition }) => rows.partitions.get(partition)?.queue === queueNumber)
    .sort((a, b) => a.deadLetter - b.deadLetter);
  const address = (row: DeadLetterRow): string => {
    const partition = rows.partitions.get(row.partition)!.name;
    return `${partition}/${row.offset} for ${rows.groupNames.get(row.group)}`;
  };
  const expected = queue.deadLetters.map((it) => `${it.partition}/${it.offset} for ${it.group}`);
  deepStrictEqual(seen.map(address), expected, `dead letters of ${queue.name}`);
  seen.forEach((row, i) => compareDeadLetter(address(row), queue.deadLetters[i]!, row));
}

function compareDeadLetter(where: string, letter: ModelDeadLetter, row: DeadLetterRow): void {
  deepStrictEqual(row.failedUs, letter.failedUs, `time of dead letter ${where}`);
  ok(letter.retryCounts.includes(row.retryCount), `retries of dead letter ${where}`);
  const { id, txn, payload, offset } = letter.message;
  deepStrictEqual(row.message, { offset, id, txn, payload }, `message of dead letter ${where}`);
  const isOwn = letter.errors.includes(row.error);
  const isDefault = letter.errors.includes(undefined) && row.error.length > 0;
  ok(isOwn || isDefault, `error of dead letter ${where} is «${row.error}»`);
}
