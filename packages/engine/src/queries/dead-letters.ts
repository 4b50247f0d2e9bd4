// The listing of dead letters (reference §8.1): newest first, with the number of all matches.

import type { Id128 } from '@queen-ts/protocol';
import { deadLetterId } from '../admin/dead-letter-id.ts';
import { readDeadLetter } from '../admin/dead-letter-record.ts';
import type { DeadLetterRecord } from '../admin/dead-letter-record.ts';
import type { State } from '../state.ts';

/** Which dead letters to list; absent and empty names do not filter. */
export interface DeadLetterFilter {
  readonly queue?: string;
  readonly group?: string;
  readonly limit: number;
  readonly offset?: number;
}

/** One dead letter. */
export interface DeadLetterView extends DeadLetterRecord {
  readonly id: Id128;
  readonly queue: string;
  readonly partition: string;
  readonly partitionNumber: number;
  readonly group: string;
  readonly offset: number;
  readonly retryCount: number;
  readonly failedUs: number;
}

/** One page of dead letters. */
export interface DeadLetterList {
  readonly deadLetters: readonly DeadLetterView[];
  /** All matches, on this page or not. */
  readonly total: number;
}

/** Lists dead letters; reads the records of the page only. */
export function listDeadLetters(state: State, filter: DeadLetterFilter): DeadLetterList {
  const { queue = '', group = '', limit, offset = 0 } = filter;
  const rows: number[] = [];
  state.deadLetters.numbers.forEach((_, row) => {
    const owner = state.queueOf(state.deadLetters.partitionRow.get(row));
    if (owner === undefined || (queue !== '' && owner.name !== queue)) return;
    if (group !== '' && groupName(state, row) !== group) return;
    rows.push(row);
  });
  const page = rows.reverse().slice(offset, offset + limit);
  return { deadLetters: page.map((row) => viewOf(state, row)), total: rows.length };
}

function viewOf(state: State, row: number): DeadLetterView {
  const { deadLetters, partitions } = state;
  const partitionRow = deadLetters.partitionRow.get(row);
  return {
    ...readDeadLetter(state, row),
    id: deadLetterId(state, row),
    queue: state.queueOf(partitionRow)?.name ?? '',
    partition: partitions.names.nameText(partitionRow),
    partitionNumber: partitions.number.get(partitionRow),
    group: groupName(state, row),
    offset: deadLetters.offset.get(row),
    retryCount: deadLetters.retryCount.get(row),
    failedUs: deadLetters.failedUs.get(row),
  };
}

function groupName(state: State, row: number): string {
  return state.groups.get(state.deadLetters.group.get(row))?.name ?? '';
}
