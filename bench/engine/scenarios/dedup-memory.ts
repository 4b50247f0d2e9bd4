// Memory of remembered transaction ids: resident, for ids of the client, and of the dedup index, for
// messages whose ids the broker minted.

import type { Figure, Scenario } from '../figure.ts';
import { amount } from '../figure.ts';
import { Leader } from '../leader.ts';
import { PushTemplate } from '../push-template.ts';
import { residentBytes, WEIGHED_NODE_OPTIONS } from '../timing.ts';

const MESSAGES = 4_000_000;
const WARM_UP = 100_000;
const PARTITIONS = 1000;
const PER_PUSH = 100;

/** Bytes of an explicit and of a minted id. */
export const DEDUP_MEMORY: Scenario = {
  name: 'dedup-memory',
  nodeOptions: WEIGHED_NODE_OPTIONS,
  run: measure,
};

function measure(): Figure[] {
  push(new Leader(), { messages: WARM_UP, hasIds: true });
  push(new Leader(), { messages: WARM_UP, hasIds: false });
  // Ids of clients first: what the other engine gives back would be used again.
  const explicit = grow(true);
  const minted = grow(false);
  if (explicit.rememberedIds !== MESSAGES) {
    throw new Error(`${explicit.rememberedIds} ids are remembered`);
  }
  return [
    {
      name: 'dedup: memory of an explicit id',
      bar: { kind: 'atMost', value: 24 },
      measured: explicit.residentBytes / MESSAGES,
      unit: 'B',
      note: `RSS growth by ${MESSAGES / 1e6} M ids in appends of ${PER_PUSH}, appends included; the index alone ${amount(explicit.indexBytes / MESSAGES, 'B')}`,
    },
    {
      name: 'dedup: memory of a minted id',
      bar: { kind: 'atMost', value: 0 },
      measured: minted.indexBytes / MESSAGES,
      unit: 'B',
      note: `growth of the index; ${minted.rememberedIds} ids remembered`,
    },
  ];
}

function grow(hasIds: boolean): {
  readonly residentBytes: number;
  readonly indexBytes: number;
  readonly rememberedIds: number;
} {
  const leader = new Leader();
  const { dedup } = leader.engine.state;
  const before = { resident: residentBytes(), index: dedup.bytes };
  push(leader, { messages: MESSAGES, hasIds });
  return {
    residentBytes: residentBytes() - before.resident,
    indexBytes: dedup.bytes - before.index,
    rememberedIds: leader.engine.counters().rememberedIds,
  };
}

function push(
  leader: Leader,
  { messages, hasIds }: { readonly messages: number; readonly hasIds: boolean },
): void {
  const template = new PushTemplate({ partitions: 1, messagesEach: PER_PUSH, hasIds });
  for (let i = 0; i < messages / PER_PUSH; i += 1) {
    const command = template.next(leader, () => i % PARTITIONS);
    leader.cycle(() => leader.engine.plan(command));
    leader.payloads.spill();
  }
}
