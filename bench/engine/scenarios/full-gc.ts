// A forced full garbage collection while 1 M partitions with a cursor each are loaded.

import type { Figure, Scenario } from '../figure.ts';
import { amount } from '../figure.ts';
import { Leader } from '../leader.ts';
import { fillWithCursors } from '../population.ts';
import { collectGarbage, median, residentBytes, spend } from '../timing.ts';
import type { Spent } from '../timing.ts';

const COUNT = 1_000_000;
const ROUNDS = 9;

/** Time of a full collection. */
export const FULL_GC: Scenario = { name: 'full-gc', run: () => [measure()] };

function measure(): Figure {
  const leader = new Leader();
  residentBytes();
  const emptyMs = median(collections().map(({ wallUs }) => wallUs / 1000));
  fillWithCursors(leader, COUNT);
  // What the preparation left behind goes first.
  residentBytes();
  const rounds = collections();
  const wallMs = rounds.map(({ wallUs }) => wallUs / 1000);
  const cpuMs = rounds.map(({ cpuUs }) => cpuUs / 1000);
  const { heapUsed } = process.memoryUsage();
  if (leader.engine.partitionCount() !== COUNT) throw new Error('partitions are missing');
  return {
    name: 'forced full GC with 1 M partitions',
    bar: { kind: 'atMost', value: 20 },
    measured: median(wallMs),
    unit: 'ms',
    note:
      `wall time; longest of ${ROUNDS} ${amount(Math.max(...wallMs), 'ms')}; with an empty engine ` +
      `${amount(emptyMs, 'ms')}; CPU time of all threads ${amount(median(cpuMs), 'ms')}; heap ` +
      `${amount(heapUsed / 2 ** 20, 'MiB')}`,
  };
}

function collections(): Spent[] {
  return Array.from({ length: ROUNDS }, () => spend(collectGarbage));
}
