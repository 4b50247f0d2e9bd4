// Creation of 1 M partitions by pushes of one message to each, 100 new ones a push and 10 pushes a
// cycle: how many a second, and the longest cycle.

import type { Figure, Scenario } from '../figure.ts';
import { amount } from '../figure.ts';
import { Leader } from '../leader.ts';
import { PushTemplate } from '../push-template.ts';
import { median, residentBytes, spend, StallMeter } from '../timing.ts';
import type { Spent } from '../timing.ts';

const COUNT = 1_000_000;
const PER_PUSH = 100;
const PUSHES_PER_CYCLE = 10;
const ROUNDS = 3;

/** Rate and longest stall of creation. */
export const PARTITION_CREATION: Scenario = { name: 'partition-creation', run: measure };

function measure(): Figure[] {
  create(COUNT / 10);
  const rounds = Array.from({ length: ROUNDS }, measureOne);
  const rate = (us: readonly number[]): number => (COUNT / median(us)) * 1e6;
  const wall = rate(rounds.map(({ spent }) => spent.wallUs));
  const cpuMs = median(rounds.map(({ stall }) => stall.cpuMs));
  return [
    {
      name: 'partition creation',
      bar: { kind: 'atLeast', value: 150_000 },
      measured: rate(rounds.map(({ spent }) => spent.cpuUs)),
      unit: '/s',
      note: `a second of CPU; by wall time ${amount(wall, '/s')}; up to 1 M, a message each`,
    },
    {
      name: 'partition creation, longest stall',
      bar: { kind: 'atMost', value: 20 },
      measured: median(rounds.map(({ stall }) => stall.wallMs)),
      unit: 'ms',
      note: `longest cycle of ${PER_PUSH * PUSHES_PER_CYCLE} creations, wall time; CPU time of all threads ${amount(cpuMs, 'ms')}`,
    },
  ];
}

function measureOne(): Created {
  // What the round before left behind goes first, and with it, as forced collections do, code that was
  // compiled: no leader at work loses that.
  residentBytes();
  create(COUNT / 50);
  return create(COUNT);
}

interface Created {
  readonly spent: Spent;
  readonly stall: StallMeter;
}

function create(count: number): Created {
  const leader = new Leader();
  const shape = { partitions: PER_PUSH, messagesEach: 1, hasIds: false };
  const templates = Array.from({ length: PUSHES_PER_CYCLE }, () => new PushTemplate(shape));
  const stall = new StallMeter();
  let created = 0;
  const spent = spend(() => {
    while (created < count) {
      const pushes = templates.map((template, i) =>
        template.next(leader, (group) => created + i * PER_PUSH + group),
      );
      stall.time(() => leader.run(pushes, PUSHES_PER_CYCLE));
      leader.payloads.spill();
      created += PER_PUSH * PUSHES_PER_CYCLE;
    }
  });
  const { partitions } = leader.engine.counters();
  if (partitions !== count) throw new Error(`${partitions} partitions instead of ${count}`);
  return { spent, stall };
}
