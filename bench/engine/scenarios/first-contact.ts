// The first pops of a group that never popped before, on a queue of 1 M partitions. Three cases: all
// partitions have a message for it; only the one created last has; none has. A pop that looked at
// enough partitions in vain is cut short and planned again, as the broker does.

import type { PopFields } from '@queen-ts/engine/testing';
import type { Figure, Scenario } from '../figure.ts';
import { amount } from '../figure.ts';
import { asPop, Leader } from '../leader.ts';
import { pushToAll } from '../population.ts';
import { PushTemplate } from '../push-template.ts';
import { median, StallMeter } from '../timing.ts';

const COUNT = 1_000_000;
const ROUNDS = 5;
/** Pops of each case, beyond those that were cut short. */
const POPS = 200;
const BATCH = 100;

/** What the first pops of one group came to. */
interface Contact {
  readonly stall: StallMeter;
  /** From the first pop to the first message, in wall time. */
  readonly firstMessageMs: number;
}

/** Longest stall and first message of a new group. */
export const FIRST_CONTACT: Scenario = { name: 'first-contact', run: measure };

function measure(): Figure[] {
  const leader = new Leader();
  pushToAll(leader, COUNT);
  const fromUs = leader.nowUs + 1;
  const template = new PushTemplate({ partitions: 1, messagesEach: 1, hasIds: false });
  const push = template.next(leader, () => COUNT - 1);
  leader.cycle(() => leader.engine.plan(push));
  const all = contacts(leader, 'all', {});
  const last = contacts(leader, 'last', { subscription: { mode: 'from', fromUs } });
  const none = contacts(leader, 'none', { subscription: { mode: 'new' } });
  const every = [all, last, none];
  const wall = every.map((some) => median(some.map(({ stall }) => stall.wallMs)));
  const cpu = every.map((some) => median(some.map(({ stall }) => stall.cpuMs)));
  return [
    {
      name: 'first contact with 1 M partitions, longest stall',
      bar: { kind: 'atMost', value: 5 },
      measured: Math.max(...wall),
      unit: 'ms',
      note:
        `longest pop in wall time, by how many partitions have a message for the group: all, one, none ` +
        `${list(wall)}; CPU time ${list(cpu)}`,
    },
    {
      name: 'first contact with 1 M partitions, first message',
      bar: { kind: 'atMost', value: 50 },
      measured: median(all.map(({ firstMessageMs }) => firstMessageMs)),
      unit: 'ms',
      note: 'wall time, the partitions hold a message each',
    },
    {
      name: 'the same, only the partition created last has one',
      bar: undefined,
      measured: median(last.map(({ firstMessageMs }) => firstMessageMs)),
      unit: 'ms',
      note: 'wall time of all the slices; other requests are served between them',
    },
  ];
}

function contacts(leader: Leader, name: string, fields: PopFields): Contact[] {
  return Array.from({ length: ROUNDS }, (_, round) =>
    contact(leader, { ...fields, group: `${name}-${round}` }),
  );
}

function contact(leader: Leader, fields: PopFields): Contact {
  const stall = new StallMeter();
  const startMs = performance.now();
  let firstMessageMs = NaN;
  for (let pops = 0; pops < POPS;) {
    const pop = leader.pop({ ...fields, batch: BATCH, partitions: BATCH, autoAck: true });
    const popped = asPop(stall.time(() => leader.cycle(() => leader.engine.plan(pop))));
    if (popped.messageCount > 0 && Number.isNaN(firstMessageMs)) {
      firstMessageMs = performance.now() - startMs;
    }
    if (!popped.isCut) pops += 1;
  }
  return { stall, firstMessageMs };
}

function list(milliseconds: readonly number[]): string {
  return milliseconds.map((value) => amount(value, 'ms')).join(', ');
}
