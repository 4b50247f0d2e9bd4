// Claims of batches of 100 messages with a lease, and acks that name each of them, over 1,000 partitions.

import type { Figure, Scenario } from '../figure.ts';
import { amount } from '../figure.ts';
import { asPop, expectAcked, Leader } from '../leader.ts';
import { PushTemplate } from '../push-template.ts';
import { median, NOTHING_SPENT, plus, spend } from '../timing.ts';
import type { Spent } from '../timing.ts';

const PARTITIONS = 1000;
const BATCH = 100;
const BATCHES = 4000;
/** The first is not counted: it runs while the code is compiled. */
const ROUNDS = 4;
const PER_CYCLE = 32;
/** A partition can be claimed again only after its ack, so claims and acks take turns. */
const CLAIMS_AT_ONCE = 500;

/** Claim and ack of 100-message batches. */
export const CLAIM_ACK: Scenario = { name: 'claim-ack', run: () => [measure()] };

function measure(): Figure {
  const leader = new Leader();
  const rounds: { readonly claim: Spent; readonly ack: Spent }[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    push(leader);
    rounds.push(claimAndAck(leader));
    leader.payloads.spill();
  }
  const messages = BATCH * BATCHES;
  const rate = (usOf: (round: { claim: Spent; ack: Spent }) => number): number =>
    median(rounds.slice(1).map((round) => (messages / usOf(round)) * 1e6));
  const claims = rate(({ claim }) => claim.cpuUs);
  const acks = rate(({ ack }) => ack.cpuUs);
  const wall = rate(({ claim, ack }) => claim.wallUs + ack.wallUs);
  return {
    name: 'claim + ack of 100-message batches',
    bar: { kind: 'atLeast', value: 500_000 },
    measured: rate(({ claim, ack }) => claim.cpuUs + ack.cpuUs),
    unit: 'msg/s',
    note:
      `a second of CPU; by wall time ${amount(wall, 'msg/s')}; claims alone ${amount(claims, 'msg/s')}, ` +
      `acks alone ${amount(acks, 'msg/s')}`,
  };
}

function push(leader: Leader): void {
  const template = new PushTemplate({ partitions: 1, messagesEach: BATCH, hasIds: false });
  for (let i = 0; i < BATCHES; i += 1) {
    const command = template.next(leader, () => i % PARTITIONS);
    leader.cycle(() => leader.engine.plan(command));
  }
}

function claimAndAck(leader: Leader): { readonly claim: Spent; readonly ack: Spent } {
  const sum = { claim: NOTHING_SPENT, ack: NOTHING_SPENT };
  for (let claimed = 0; claimed < BATCH * BATCHES;) {
    const pops = Array.from({ length: CLAIMS_AT_ONCE }, () => leader.pop({ batch: BATCH }));
    let outcomes: ReturnType<Leader['run']> = [];
    const claim = spend(() => (outcomes = leader.run(pops, PER_CYCLE)));
    sum.claim = plus(sum.claim, claim);
    const popped = outcomes.map(asPop);
    claimed += popped.reduce((count, { messageCount }) => count + messageCount, 0);
    const acks = popped.map((outcome) => leader.ack(outcome, outcome.claims));
    const ack = spend(() => (outcomes = leader.run(acks, PER_CYCLE)));
    sum.ack = plus(sum.ack, ack);
    expectAcked(outcomes);
  }
  return sum;
}
