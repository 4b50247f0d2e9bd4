// Every logical row of an engine as sorted lines of text, by names and wire numbers, so that two
// replicas can be compared and a difference can be read. Derived state (rings, timers) is left out.

import { formatUuid } from '@queen-ts/base';
import type { Engine } from '../engine.ts';
import type { State } from '../state.ts';

/** Lists all rows: queues, groups, partitions, blocks, cursors, dead letters, counters. */
export function dump(engine: Engine): string[] {
  const { state } = engine;
  return [
    `next queue ${state.nextQueue} group ${state.nextGroup} partition ${state.nextPartition} dead letter ${state.nextDeadLetter}`,
    `requests ${state.mintedRequests.count} and ${state.clientRequests.count}`,
    `maintenance ${JSON.stringify(state.maintenance)}`,
    `identity ${JSON.stringify(state.identity?.clusterId)} ${state.identity?.hashKey.join()}`,
    ...dumpQueues(state),
    ...dumpPartitions(state),
    ...dumpDeadLetters(state),
  ];
}

function dumpQueues(state: State): string[] {
  const lines: string[] = [];
  for (const queue of [...state.queues.values()].sort((a, b) => a.number - b.number)) {
    const what = queue.isDeleted ? 'deleted queue' : 'queue';
    lines.push(
      `${what} ${queue.number} ${queue.name} ${formatUuid(queue.id)} created ${queue.createdUs} ` +
        `partitions ${queue.partitions.count} messages ${queue.retainedMessages} blocks ${queue.retainedBlocks} ` +
        `bytes ${queue.retainedBytes} dead ${queue.deadLetters} ${JSON.stringify(queue.options)}`,
    );
    for (const group of queue.groups) {
      lines.push(
        `group ${group.number} ${queue.name}/${group.name} registered ${group.isRegistered} at ${group.registeredUs} ` +
          `mode ${group.mode} from ${group.fromUs} conflation ${group.conflation} cursors ${group.cursors}`,
      );
    }
  }
  return lines;
}

function dumpPartitions(state: State): string[] {
  const { partitions } = state;
  const lines: string[] = [];
  partitions.numbers.forEach((number, row) => {
    lines.push(
      `partition ${number} of queue ${partitions.queue.get(row)} ${partitions.names.nameText(row)} ` +
        `[${partitions.logStart.get(row)}, ${partitions.tail.get(row)}) bytes ${partitions.retainedBytes.get(row)} ` +
        `created ${partitions.createdUs.get(row)} append ${partitions.lastAppendUs.get(row)} active ${partitions.activeUs.get(row)}`,
      ...dumpBlocks(state, row),
      ...dumpCursors(state, row),
    );
  });
  return lines;
}

function dumpBlocks(state: State, row: number): string[] {
  const { blocks } = state;
  const lines: string[] = [];
  for (let block = blocks.oldest(row); block !== undefined; block = blocks.next(row, block)) {
    const { baseOffset, count, createdUs, entryIndex, blockStart, blockSize } = block;
    lines.push(
      `  block [${baseOffset}, ${baseOffset + count}) at ${createdUs} ` +
        `in ${entryIndex}:${blockStart}+${blockSize}`,
    );
  }
  return lines;
}

function dumpCursors(state: State, row: number): string[] {
  const { cursors, partitions } = state;
  const queue = state.queues.get(partitions.queue.get(row));
  const lines: string[] = [];
  for (const group of queue?.groups ?? []) {
    const cursor = cursors.find(row, group.number);
    if (cursor === 0) continue;
    lines.push(
      `  cursor ${group.name} next ${cursors.next.get(cursor)} retries ${cursors.deliveries.retryCount.get(cursor)} ` +
        `lease ${formatUuid(cursors.leaseId(cursor))} [${cursors.deliveries.leaseFrom.get(cursor)}, ${cursors.deliveries.leaseToExclusive.get(cursor)}) ` +
        `until ${cursors.deliveries.leaseExpiresUs.get(cursor)} attempt ${cursors.deliveries.attemptCount.get(cursor)} at ${cursors.deliveries.attemptFrom.get(cursor)} ` +
        `settled ${formatUuid(cursors.settledLeaseId(cursor))} [${cursors.settledFrom.get(cursor)}, ${cursors.settledToExclusive.get(cursor)})`,
    );
  }
  return lines;
}

function dumpDeadLetters(state: State): string[] {
  const { deadLetters, partitions } = state;
  const lines: string[] = [];
  deadLetters.numbers.forEach((number, row) => {
    lines.push(
      `dead letter ${number} of partition ${partitions.number.get(deadLetters.partitionRow.get(row))} ` +
        `group ${deadLetters.group.get(row)} offset ${deadLetters.offset.get(row)} retries ${deadLetters.retryCount.get(row)} ` +
        `at ${deadLetters.failedUs.get(row)} in ${deadLetters.entryIndex.get(row)}:${deadLetters.recordStart.get(row)}` +
        `+${deadLetters.blockSize.get(row)}/${deadLetters.recordSize.get(row)}`,
    );
  });
  return lines;
}
