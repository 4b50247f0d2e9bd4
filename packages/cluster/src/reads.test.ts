// Reads of a broker: what they may see, and when they may say so.

import { SeededRng, UuidMinter } from '@queen-ts/base';
import { readQueues } from '@queen-ts/engine';
import { pushCommand } from '@queen-ts/engine/testing';
import { describe, expect, it } from 'vitest';
import type { Broker, ReadOptions } from './broker.ts';
import { TestCluster } from './testing/test-cluster.ts';
import { TestNode } from './testing/test-node.ts';

const HOUR_US = 3_600_000_000;
const ONE = [{ queue: 'orders' }];

/** Follows a read of the number of messages: `open`, the number, or the code of its error. */
function count(broker: Broker, options: Partial<ReadOptions> = {}): { state: unknown } {
  const watched: { state: unknown } = { state: 'open' };
  const rules = { deadlineUs: HOUR_US, from: 'node', ...options } as const;
  broker
    .read((view) => readQueues(view, {}), rules)
    .then(
      (queues) => (watched.state = queues[0]?.messages.total ?? 0),
      (error: { code?: string }) => (watched.state = error.code ?? error),
    );
  return watched;
}

describe('a read', () => {
  it.each(['node', 'leader'] as const)('from the %s sees what was answered', async (from) => {
    const node = await TestNode.start();
    const empty = count(node.broker, { from });
    await node.time.settle();
    expect(empty.state).toBe(0);
    await node.finish(node.push(ONE));
    const one = count(node.broker, { from });
    await node.time.settle();
    expect(one.state).toBe(1);
  });

  it.each(['node', 'leader'] as const)(
    'from the %s is answered when what it saw is durable, not before',
    async (from) => {
      const node = await TestNode.start();
      node.log.closeGate();
      const push = node.push(ONE);
      await node.time.settle();
      const read = count(node.broker, { from });
      await node.time.pass(300_000);
      expect(read.state).toBe('open');
      node.log.openGate();
      await node.finish(push);
      expect(read.state).toBe(1);
    },
  );

  it('gives up at its deadline', async () => {
    const node = await TestNode.start();
    node.log.closeGate();
    void node.push(ONE);
    await node.time.settle();
    const read = count(node.broker, { deadlineUs: node.time.monotonicUs() + 200_000 });
    await node.time.pass(500_000);
    expect(read.state).toBe('timeout');
    node.log.openGate();
    await node.time.settle();
  });

  it('is refused by a node that failed or stopped', async () => {
    const node = await TestNode.start();
    await node.broker.stop();
    const read = count(node.broker);
    await node.time.settle();
    expect(read.state).toBe('shutting_down');
  });
});

describe('reads in a cluster', () => {
  it('are answered by every node, but those from the leader only by it', async () => {
    const cluster = await TestCluster.start();
    const { id } = cluster.leader();
    const reads = [...cluster.brokers].map(([nodeId, broker]) => ({
      isLeader: nodeId === id,
      any: count(broker),
      fresh: count(broker, { from: 'leader' }),
    }));
    await cluster.time.pass(1_000_000);
    for (const { isLeader, any, fresh } of reads) {
      expect(any.state).toBe(0);
      expect(fresh.state).toBe(isLeader ? 0 : 'no_leader');
    }
  });

  it('from a leader that was cut off are not answered', async () => {
    const cluster = await TestCluster.start();
    const { id, broker } = cluster.leader();
    cluster.isolated.add(id);
    const reads = Array.from({ length: 3 }, () => count(broker, { from: 'leader' }));
    await cluster.time.pass(200_000);
    reads.push(count(broker, { from: 'leader' }));
    await cluster.time.pass(10_000_000);
    expect(reads.map(({ state }) => state)).toEqual(reads.map(() => 'retry'));
    expect(cluster.failures).toEqual([]);
  });

  it('that saw what never commits are not answered', async () => {
    const cluster = await TestCluster.start();
    const { id, broker } = cluster.leader();
    cluster.isolated.add(id);
    const ids = new UuidMinter(cluster.time, new SeededRng(3));
    const command = pushCommand(ONE, { idBase: ids.mint(1), hashKey: broker.hashKey });
    const push = broker.submit(command, { deadlineUs: HOUR_US }).catch((error: unknown) => error);
    await cluster.time.settle();
    const reads = [count(broker), count(broker, { from: 'leader' })];
    await cluster.time.pass(10_000_000);
    expect(reads.map(({ state }) => state)).toEqual(['retry', 'retry']);
    await push;
  });

  it('that come one by one are all confirmed', async () => {
    const cluster = await TestCluster.start();
    const { broker } = cluster.leader();
    const reads: { state: unknown }[] = [];
    for (let i = 0; i < 5; i += 1) {
      reads.push(count(broker, { from: 'leader' }));
      await cluster.time.pass(50);
    }
    await cluster.time.pass(100_000);
    expect(reads.map(({ state }) => state)).toEqual([0, 0, 0, 0, 0]);
  });
});
