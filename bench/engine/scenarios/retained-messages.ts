// 10 M messages pushed to 1,000 partitions, consumed and retained: how much memory they leave behind.
// The log is its own index (ADR 0010): what the engine keeps does not depend on them.

import type { Figure, Scenario } from '../figure.ts';
import { amount } from '../figure.ts';
import { asPop, Leader } from '../leader.ts';
import { PushTemplate } from '../push-template.ts';
import { residentBytes, WEIGHED_NODE_OPTIONS } from '../timing.ts';

const MESSAGES = 10_000_000;
const PARTITIONS = 1000;
const POP_BATCH = 20_000;
const MIB = 2 ** 20;
/** So many messages compile the code and create the partitions before the engine is weighed. */
const WARM_UP = 200_000;

/** Appends of 100 messages. */
export const RETAINED_BATCHES: Scenario = {
  name: 'retained-batches',
  nodeOptions: WEIGHED_NODE_OPTIONS,
  run: () => [measure({ partitions: 1, messagesEach: 100 })],
};

/** Appends of a single message. */
export const RETAINED_SINGLES: Scenario = {
  name: 'retained-singles',
  nodeOptions: WEIGHED_NODE_OPTIONS,
  run: () => [measure({ partitions: 100, messagesEach: 1 })],
};

function measure(shape: { readonly partitions: number; readonly messagesEach: number }): Figure {
  const leader = new Leader();
  const template = new PushTemplate({ ...shape, hasIds: false });
  pushAndConsume(leader, template, { shape, messages: WARM_UP });
  const before = residentBytes();
  pushAndConsume(leader, template, { shape, messages: MESSAGES });
  const bytes = residentBytes() - before;
  const { blocks, tableBytes } = leader.engine.counters();
  return {
    name: `10 M messages retained, appends of ${shape.messagesEach}`,
    bar: { kind: 'atMost', value: 50 },
    measured: bytes / MIB,
    unit: 'MiB',
    note: `RSS growth, minted ids, ${amount(blocks, 'appends')} retained, tables ${amount(tableBytes / MIB, 'MiB')}`,
  };
}

function pushAndConsume(
  leader: Leader,
  template: PushTemplate,
  work: { readonly shape: { readonly partitions: number }; readonly messages: number },
): void {
  let partition = 0;
  let backlog = 0;
  let consumed = 0;
  for (let pushed = 0; consumed < work.messages;) {
    const push = template.next(leader, (group) => (partition + group) % PARTITIONS);
    leader.cycle(() => leader.engine.plan(push));
    partition = (partition + work.shape.partitions) % PARTITIONS;
    pushed += template.messages;
    backlog += template.messages;
    const isLast = pushed === work.messages;
    if (backlog < POP_BATCH && !isLast) continue;
    while (backlog > 0) {
      const pop = leader.pop({ batch: POP_BATCH, partitions: PARTITIONS, autoAck: true });
      const { messageCount } = asPop(leader.cycle(() => leader.engine.plan(pop)));
      if (messageCount === 0) throw new Error(`${backlog} messages were not delivered`);
      consumed += messageCount;
      backlog -= messageCount;
    }
    leader.payloads.spill();
  }
}
