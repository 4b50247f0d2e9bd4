// Pushes with ids of the client while dedup is on: one partition a push, and a hundred of them. A
// replica applies the same entries.

import type { PushCommand } from '@queen-ts/protocol';
import type { Figure, Scenario } from '../figure.ts';
import { amount } from '../figure.ts';
import { Leader } from '../leader.ts';
import { PushTemplate } from '../push-template.ts';
import { median, spend } from '../timing.ts';

const PARTITIONS = 1000;
const MESSAGES = 400_000;
/** The first is not counted: it runs while the code is compiled. */
const ROUNDS = 4;
const PER_CYCLE = 32;
const PAYLOAD = 'x'.repeat(254);

/** 100 messages to one partition of 1,000. */
export const PUSH_DEEP: Scenario = {
  name: 'push-deep',
  run: () => [
    measure({
      name: 'push 1 × 100, explicit ids, dedup on',
      atLeast: 400_000,
      partitions: 1,
      messagesEach: 100,
    }),
  ],
};

/** One message to each of 100 partitions. */
export const PUSH_WIDE: Scenario = {
  name: 'push-wide',
  run: () => [
    measure({
      name: 'push 100 × 1, explicit ids, dedup on',
      atLeast: 250_000,
      partitions: 100,
      messagesEach: 1,
    }),
  ],
};

function measure(shape: {
  readonly name: string;
  readonly atLeast: number;
  readonly partitions: number;
  readonly messagesEach: number;
}): Figure {
  const commands = prepare(shape.partitions, shape.messagesEach);
  const cpuRates: number[] = [];
  const wallRates: number[] = [];
  const replicaRates: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const leader = new Leader({ keepsEntries: true });
    const { cpuUs, wallUs } = spend(() => leader.run(commands, PER_CYCLE));
    const { rememberedIds } = leader.engine.counters();
    if (rememberedIds !== MESSAGES) throw new Error(`${rememberedIds} ids are remembered`);
    const replica = spend(() => leader.replicate());
    if (round === 0) continue;
    cpuRates.push((MESSAGES / cpuUs) * 1e6);
    wallRates.push((MESSAGES / wallUs) * 1e6);
    replicaRates.push((MESSAGES / replica.cpuUs) * 1e6);
  }
  return {
    name: shape.name,
    bar: { kind: 'atLeast', value: shape.atLeast },
    measured: median(cpuRates),
    unit: 'msg/s',
    note:
      `a second of CPU; by wall time ${amount(median(wallRates), 'msg/s')}; a replica applies ` +
      `${amount(median(replicaRates), 'msg/s')}; payloads of 256 B`,
  };
}

function prepare(partitions: number, messagesEach: number): PushCommand[] {
  const template = new PushTemplate({ partitions, messagesEach, hasIds: true, data: PAYLOAD });
  const numbers = new Leader();
  const count = MESSAGES / template.messages;
  return Array.from({ length: count }, (_, i) =>
    template.copy(numbers, (group) => (i * partitions + group) % PARTITIONS),
  );
}
