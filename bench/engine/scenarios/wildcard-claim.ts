// What a wildcard claim costs at 1 M partitions, as a multiple of its cost at 1,000: it must not look
// for its partition. Every claim takes one message from one partition.

import type { Outcome } from '@queen-ts/protocol';
import type { Figure, Scenario } from '../figure.ts';
import { amount } from '../figure.ts';
import { asPop, expectAcked, Leader } from '../leader.ts';
import { fillWithCursors, pushToAll } from '../population.ts';
import { PushTemplate } from '../push-template.ts';
import { median, spend } from '../timing.ts';

const FEW = 1000;
const MANY = 1_000_000;
const CLAIMS = 1000;
const ROUNDS = 60;
/** Rounds that are not counted: they run while the code is compiled. */
const WARM_UP = 20;
const PER_CYCLE = 32;
/** Odd and far from any power of two: neighbours in time are no neighbours in memory. */
const STRIDE = 611_953;

/** Cost of a wildcard claim at 1 M partitions over that at 1,000. */
export const WILDCARD_CLAIM: Scenario = { name: 'wildcard-claim', run: measure };

function measure(): Figure[] {
  const few = engineWith(FEW);
  const many = engineWith(MANY);
  const fewUs: number[] = [];
  const manyUs: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    fewUs.push(scattered(few, FEW, round));
    manyUs.push(scattered(many, MANY, round));
  }
  pushToAll(many, MANY);
  const readyUs = Array.from({ length: ROUNDS }, () => claims(many));
  const [atFew, atMany, allReady] = [fewUs, manyUs, readyUs].map((us) =>
    median(us.slice(WARM_UP)),
  ) as [number, number, number];
  return [
    {
      name: 'wildcard claim at 1 M ÷ at 1,000 partitions',
      bar: { kind: 'atMost', value: 1.5 },
      measured: allReady / atFew,
      unit: '',
      note: `all partitions ready: CPU time ${amount(allReady, 'µs')} and ${amount(atFew, 'µs')} a claim of one message`,
    },
    {
      name: 'the same, 1,000 of the 1 M ready, scattered',
      bar: undefined,
      measured: atMany / atFew,
      unit: '',
      note: `CPU time ${amount(atMany, 'µs')} a claim: no row is in the processor's caches`,
    },
  ];
}

function engineWith(partitions: number): Leader {
  const leader = new Leader();
  fillWithCursors(leader, partitions);
  return leader;
}

/** Pushes to 1,000 partitions, different ones each round, and claims them. */
function scattered(leader: Leader, partitions: number, round: number): number {
  const template = new PushTemplate({ partitions: CLAIMS, messagesEach: 1, hasIds: false });
  const push = template.next(leader, (group) => ((round * CLAIMS + group) * STRIDE) % partitions);
  leader.cycle(() => leader.engine.plan(push));
  return claims(leader);
}

/** Microseconds of CPU a claim; the acks that follow are not counted. */
function claims(leader: Leader): number {
  const pops = Array.from({ length: CLAIMS }, () => leader.pop({ batch: 1 }));
  let outcomes: Outcome[] = [];
  const { cpuUs } = spend(() => (outcomes = leader.run(pops, PER_CYCLE)));
  const popped = outcomes.map(asPop);
  if (popped.some(({ messageCount }) => messageCount !== 1)) throw new Error('a claim was empty');
  const acks = popped.map((outcome) => leader.ack(outcome, outcome.claims));
  expectAcked(leader.run(acks, PER_CYCLE));
  return cpuUs / CLAIMS;
}
