// The listing of dead letters (reference §8.1): newest first, with the number of all matches.

import type { Id128 } from '@queen-ts/protocol';
import { deadLetterId, deadLetterRow } from '../admin/dead-letter-id.ts';
import { readDeadLetter } from '../admin/dead-letter-record.ts';
import type { DeadLetterRecord } from '../admin/dead-letter-record.ts';
import type { State } from '../state.ts';
import { BLOCK_READ_UNITS, eachDeadLetter } from './view.ts';
import type { EngineView, Read } from './view.ts';

/** Which dead letters to list; absent and empty names do not filter. */
export interface DeadLetterFilter {
  readonly queue?: string;
  readonly group?: string;
  readonly limit: number;
  readonly offset?: number;
  /** Size of the payloads of a page; the page ends with the one that reaches it. Default: no bound. */
  readonly bytesMax?: number;
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

/** Lists dead letters; reads the records of the page only. Payloads are lent. */
export function* readDeadLetters(view: EngineView, filter: DeadLetterFilter): Read<DeadLetterList> {
  const { state } = view;
  const { queue = '', group = '', limit, offset = 0, bytesMax = Infinity } = filter;
  const total = totalOf(state, queue, group);
  const deadLetters: DeadLetterView[] = [];
  let skip = offset;
  let bytes = 0;
  // Numbers grow with the time of the failure.
  let number = total === 0 ? 0 : state.deadLetters.numbers.previous(state.nextDeadLetter);
  while (number !== 0 && deadLetters.length < limit && bytes < bytesMax) {
    const row = state.deadLetters.numbers.get(number);
    const isMatch = matches(state, row, queue, group);
    const isOnPage = isMatch && skip === 0;
    if (isMatch && skip > 0) skip -= 1;
    if (isOnPage) {
      const letter = viewOf(state, row);
      deadLetters.push(letter);
      bytes += letter.payload.length;
    }
    if (view.spend(isOnPage ? BLOCK_READ_UNITS : 8)) yield;
    number = state.deadLetters.numbers.previous(number);
  }
  return { deadLetters, total };
}

/** Reads one dead letter by its id; undefined when there is none, or none any more. */
// oxlint-disable-next-line require-yield -- one record is one slice
export function* readDeadLetterById(
  { state }: EngineView,
  id: Id128,
): Read<DeadLetterView | undefined> {
  const row = deadLetterRow(state, id);
  const isThere = row !== 0 && state.queueOf(state.deadLetters.partitionRow.get(row)) !== undefined;
  return isThere ? viewOf(state, row) : undefined;
}

/** Finds the dead letter that was filed first for a message; undefined when there is none. */
export function* readDeadLetterId(
  view: EngineView,
  address: { readonly partition: number; readonly transactionId: string },
): Read<Id128 | undefined> {
  const { state } = view;
  const row = state.partitions.numbers.get(address.partition);
  if (row === 0 || state.queueOf(row) === undefined) return undefined;
  let id: Id128 | undefined;
  for (const letter of eachDeadLetter(view, address.partition)) {
    if (letter === undefined) {
      yield;
      continue;
    }
    const { transactionId } = readDeadLetter(state, letter);
    if (transactionId === address.transactionId) id = deadLetterId(state, letter);
    if (view.spend(BLOCK_READ_UNITS)) yield;
  }
  return id;
}

function totalOf(state: State, queueName: string, groupName: string): number {
  const queue = state.queuesByName.get(queueName);
  const queues =
    queueName === '' ? state.queuesByName.values() : queue === undefined ? [] : [queue];
  let total = 0;
  for (const owner of queues) {
    const counter = groupName === '' ? owner : owner.groupByName(groupName);
    total += counter?.deadLetters ?? 0;
  }
  return total;
}

function matches(state: State, row: number, queue: string, group: string): boolean {
  const owner = state.queueOf(state.deadLetters.partitionRow.get(row));
  if (owner === undefined || (queue !== '' && owner.name !== queue)) return false;
  return group === '' || groupName(state, row) === group;
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
