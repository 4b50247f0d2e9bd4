// Positions of a group: the offset it reads next in a partition (reference §9).

import { encodeUtf8 } from '@queen-ts/base';
import { queuesOfGroup } from './groups.ts';
import { eachPartition, partitionRow } from './view.ts';
import type { EngineView, Read } from './view.ts';

/** A partition by name. */
export interface PartitionName {
  readonly queue: string;
  readonly partition: string;
}

/** Position of a group in one partition. */
export interface PositionView extends PartitionName {
  /** Undefined when the group has none there. */
  readonly offset: number | undefined;
}

/**
 * Reads the positions of a group in the named partitions, in their order; without names, all that it
 * has, by queue, up to `limit`.
 */
export function* readPositions(
  view: EngineView,
  filter: {
    readonly group: string;
    readonly entries: readonly PartitionName[] | undefined;
    readonly limit: number;
  },
): Read<readonly PositionView[]> {
  const { group, entries, limit } = filter;
  if (entries === undefined) return yield* allPositions(view, group, limit);
  const positions: PositionView[] = [];
  for (const { queue, partition } of entries) {
    positions.push({ queue, partition, offset: positionOf(view, group, { queue, partition }) });
    if (view.spend(16)) yield;
  }
  return positions;
}

function positionOf(view: EngineView, name: string, at: PartitionName): number | undefined {
  const { queuesByName: queues, cursors } = view.state;
  const queue = queues.get(at.queue);
  const group = queue?.groupByName(name);
  if (queue === undefined || group === undefined || !at.partition.isWellFormed()) return undefined;
  const row = partitionRow(view, queue, encodeUtf8(at.partition));
  const cursorRow = row === 0 ? 0 : cursors.find(row, group.number);
  return cursorRow === 0 ? undefined : cursors.next.get(cursorRow);
}

function* allPositions(view: EngineView, name: string, limit: number): Read<PositionView[]> {
  const { cursors, partitions } = view.state;
  const positions: PositionView[] = [];
  for (const queue of yield* queuesOfGroup(view, name)) {
    const group = queue.groupByName(name);
    if (group === undefined || group.cursors === 0) continue;
    yield* eachPartition(view, queue, (row) => {
      const cursorRow = positions.length < limit ? cursors.find(row, group.number) : 0;
      if (cursorRow === 0) return;
      const offset = cursors.next.get(cursorRow);
      positions.push({ queue: queue.name, partition: partitions.names.nameText(row), offset });
    });
  }
  return positions;
}
