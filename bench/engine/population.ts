// Engines that already hold many partitions.

import { asPop, expectAcked, Leader } from './leader.ts';
import { PushTemplate } from './push-template.ts';

/** Partitions that one cycle of a preparation touches. */
const PER_CYCLE = 1000;

const WARM_UP_ROUNDS = 300;

/** Pushes one message to each of the partitions [0, count). */
export function pushToAll(leader: Leader, count: number): void {
  const partitions = Math.min(PER_CYCLE, count);
  const template = new PushTemplate({ partitions, messagesEach: 1, hasIds: false });
  for (let from = 0; from < count; from += partitions) {
    const push = template.next(leader, (group) => (from + group) % count);
    leader.cycle(() => leader.engine.plan(push));
  }
}

/** Gives every one of `count` partitions a message and a cursor behind it, by a lease and an ack. */
export function fillWithCursors(leader: Leader, count: number): void {
  const partitions = Math.min(PER_CYCLE, count);
  const template = new PushTemplate({ partitions, messagesEach: 1, hasIds: false });
  for (let from = 0; from < count; from += partitions) {
    const push = template.next(leader, (group) => from + group);
    leader.cycle(() => leader.engine.plan(push));
    consume(leader, partitions);
    leader.payloads.spill();
  }
  const { partitions: found, cursors } = leader.engine.counters();
  if (found !== count || cursors !== count) {
    throw new Error(`${found} partitions and ${cursors} cursors instead of ${count}`);
  }
}

/** Claims and acks up to `partitions` partitions in one pop and one ack. */
export function consume(leader: Leader, partitions: number): number {
  const pop = leader.pop({ batch: partitions, partitions });
  const popped = asPop(leader.cycle(() => leader.engine.plan(pop)));
  if (popped.messageCount === 0) return 0;
  const ack = leader.ack(popped, popped.claims);
  expectAcked([leader.cycle(() => leader.plan(ack))]);
  return popped.messageCount;
}

/**
 * Pushes, claims and acks for a while without growing: afterwards the code is compiled, and heap and
 * allocator have the slack of a process at work, which is no memory of an engine's state.
 */
export function warmUp(): void {
  const leader = new Leader();
  for (let round = 0; round < WARM_UP_ROUNDS; round += 1) {
    pushToAll(leader, PER_CYCLE);
    consume(leader, PER_CYCLE);
    leader.payloads.spill();
  }
}
