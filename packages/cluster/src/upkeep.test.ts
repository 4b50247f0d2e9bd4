// Retention and cleanup as the broker runs them: by themselves, in steps, and by the leader only.

import { describe, expect, it } from 'vitest';
import type { BrokerLimits } from './limits.ts';
import { expectKind, TestNode } from './testing/test-node.ts';

const SECOND_US = 1_000_000;

/** A node with a queue whose messages are kept for ten seconds. */
async function nodeWithRule(limits: Partial<BrokerLimits> = {}): Promise<TestNode> {
  const node = await TestNode.start({ limits });
  await node.finish(
    node.submit({
      kind: 'configure',
      queue: 'orders',
      mode: 'merge',
      options: { maxWaitTimeSeconds: 10 },
      queueId: [1, 2, 3, 4],
    }),
  );
  return node;
}

async function pushTo(node: TestNode, count: number): Promise<void> {
  const items = Array.from({ length: count }, (_, i) => ({ queue: 'orders', partition: `p${i}` }));
  await node.finish(node.push(items));
}

async function popCount(node: TestNode): Promise<number> {
  const pop = node.pop({ queue: 'orders', partitions: 0, batch: 1000, autoAck: true });
  return expectKind(await node.finish(pop), 'pop').messageCount;
}

describe('upkeep', () => {
  it('removes old messages every few seconds without being asked', async () => {
    const node = await nodeWithRule();
    await pushTo(node, 3);
    await node.time.pass(9 * SECOND_US);
    await pushTo(node, 2);
    await node.time.pass(7 * SECOND_US);
    expect(await popCount(node)).toBe(2);
  });

  it('works through many partitions in steps of bounded size', async () => {
    const node = await nodeWithRule({ upkeepVisitsMax: 10, upkeepStepUs: SECOND_US });
    await pushTo(node, 35);
    await node.time.pass(10 * SECOND_US);
    const before = node.log.appends.length;
    await node.time.pass(20 * SECOND_US);
    expect(node.log.appends.length).toBe(before + 4);
    expect(await popCount(node)).toBe(0);
  });

  it('removes partitions that were empty and unused for long, not before', async () => {
    const limits = { partitionIdleUs: 60 * SECOND_US, cleanupIntervalUs: 5 * SECOND_US };
    const node = await nodeWithRule(limits);
    await pushTo(node, 3);
    await node.time.pass(59 * SECOND_US);
    expect(node.broker.status().partitions).toBe(3);
    await node.time.pass(7 * SECOND_US);
    expect(node.broker.status().partitions).toBe(0);
  });

  it('proposes nothing while there is nothing to remove', async () => {
    const node = await nodeWithRule();
    await pushTo(node, 1);
    const before = node.log.appends.length;
    await node.time.pass(9 * SECOND_US);
    expect(node.log.appends.length).toBe(before);
  });
});
