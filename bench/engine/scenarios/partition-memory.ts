// Resident memory of a partition that has a name of 20 bytes, one retained append and one cursor that
// a lease and an ack have moved. The cursor comes from a delivery, so the append is part of the figure.

import type { Figure, Scenario } from '../figure.ts';
import { amount } from '../figure.ts';
import { Leader } from '../leader.ts';
import { fillWithCursors, warmUp } from '../population.ts';
import { residentBytes, WEIGHED_NODE_OPTIONS } from '../timing.ts';

/** At 1 M partitions. */
export const MEMORY_1M: Scenario = {
  name: 'memory-1m',
  nodeOptions: WEIGHED_NODE_OPTIONS,
  run: () => [measure(1_000_000)],
};

/** At 5 M partitions. */
export const MEMORY_5M: Scenario = {
  name: 'memory-5m',
  nodeOptions: WEIGHED_NODE_OPTIONS,
  run: () => [measure(5_000_000)],
};

function measure(count: number): Figure {
  warmUp();
  const leader = new Leader();
  const before = residentBytes();
  fillWithCursors(leader, count);
  const bytes = residentBytes() - before;
  const { tableBytes } = leader.engine.counters();
  return {
    name: `memory a partition with a cursor, at ${count / 1e6} M`,
    bar: { kind: 'atMost', value: 320 },
    measured: bytes / count,
    unit: 'B',
    note: `RSS beyond an empty engine, with one retained append each; allocated tables ${amount(tableBytes / count, 'B')}; goal 200 B`,
  };
}
