// What became of a message, over all groups (reference §10.1).

import { QUEUE_MODE_GROUP } from '@queen-ts/protocol';
import type { State } from '../state.ts';
import { eachDeadLetter } from './view.ts';
import type { EngineView, Read } from './view.ts';

/** What became of a message; the first that applies. */
export const MESSAGE_STATUSES = ['dead_letter', 'completed', 'processing', 'pending'] as const;
export type MessageStatus = (typeof MESSAGE_STATUSES)[number];

/** Where one group stands in the message's partition. */
export interface MessageGroup {
  readonly name: string;
  /** Last acked offset, -1 for none. */
  readonly committed: number;
  readonly isConsumed: boolean;
  /** End of a live lease in the partition, else undefined. */
  readonly leaseExpiresUs: number | undefined;
}

/** The groups of a partition with a cursor, as seen from the message at an offset. */
export function groupsAt(view: EngineView, row: number, offset: number): MessageGroup[] {
  const { cursors } = view.state;
  const groups: MessageGroup[] = [];
  for (const group of view.state.queueOf(row)?.groups ?? []) {
    const cursor = group.cursors === 0 ? 0 : cursors.find(row, group.number);
    if (cursor === 0) continue;
    const next = cursors.next.get(cursor);
    const isLeased = cursors.isLeased(cursor, view.nowUs);
    groups.push({
      name: group.name,
      committed: next - 1,
      isConsumed: next > offset,
      leaseExpiresUs: isLeased ? cursors.deliveries.leaseExpiresUs.get(cursor) : undefined,
    });
  }
  return groups;
}

/** Everything that decides about the statuses of one partition, looked up once. */
export interface PartitionStatus {
  /** Messages below are completed. */
  readonly completedBelow: number;
  /** Of the others, whether any group has a lease in the partition. */
  readonly isLeased: boolean;
  /** Offsets with a dead letter; undefined when there are none. */
  readonly deadOffsets: ReadonlySet<number> | undefined;
}

/** Named groups decide where there are any, else queue mode; a lease counts for the partition. */
export function* partitionStatus(view: EngineView, partition: number): Read<PartitionStatus> {
  const dead = yield* deadOffsets(view, partition);
  const row = view.state.partitions.numbers.get(partition);
  const groups = row === 0 ? [] : groupsAt(view, row, 0);
  const named = groups.filter((group) => group.name !== QUEUE_MODE_GROUP);
  const deciding = named.length > 0 ? named : groups;
  const committed = deciding.map((group) => group.committed);
  return {
    completedBelow: committed.length === 0 ? 0 : Math.min(...committed) + 1,
    isLeased: groups.some((group) => group.leaseExpiresUs !== undefined),
    deadOffsets: dead,
  };
}

/** Status of the message at an offset of that partition. */
export function statusAt(partition: PartitionStatus, offset: number): MessageStatus {
  if (partition.deadOffsets?.has(offset) === true) return 'dead_letter';
  if (offset < partition.completedBelow) return 'completed';
  return partition.isLeased ? 'processing' : 'pending';
}

/** The newest dead letter of a message, or 0. */
export function deadLetterAt(state: State, row: number, offset: number): number {
  const { deadLetters } = state;
  for (let letter = deadLetters.newestOf(row); letter !== 0; letter = deadLetters.olderOf(letter)) {
    if (deadLetters.offset.get(letter) === offset) return letter;
  }
  return 0;
}

function* deadOffsets(view: EngineView, partition: number): Read<ReadonlySet<number> | undefined> {
  let offsets: Set<number> | undefined;
  for (const letter of eachDeadLetter(view, partition)) {
    if (letter === undefined) {
      yield;
      continue;
    }
    offsets ??= new Set();
    offsets.add(view.state.deadLetters.offset.get(letter));
  }
  return offsets;
}
