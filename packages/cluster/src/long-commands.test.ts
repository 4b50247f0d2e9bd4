// Commands that take several cycles, on a whole broker: one answer, other requests in between, and what
// is known when they are cut short.

import type { Outcome, SeekCommand } from '@queen-ts/protocol';
import { describe, expect, it } from 'vitest';
import { expectKind, TestNode } from './testing/test-node.ts';

/** More than the engine moves in one step, so that two steps leave something for a third. */
const PARTITIONS = 2500;

const SEEK: SeekCommand = {
  kind: 'seek',
  queue: 'orders',
  partition: undefined,
  group: 'g',
  target: { kind: 'end' },
};

async function nodeWithPartitions(): Promise<TestNode> {
  const node = await TestNode.start({ limits: { longCommandsMax: 1 } });
  const items = Array.from({ length: PARTITIONS }, (_, i) => ({
    queue: 'orders',
    partition: `p${i}`,
    id: `m-p${i}`,
  }));
  await node.finish(node.push(items));
  return node;
}

function codeOf(answer: Promise<Outcome>): Promise<unknown> {
  return answer.then(
    () => 'answered',
    (error: { code?: string }) => error.code,
  );
}

describe('a seek over many partitions', () => {
  it('is answered once, with the sum of its steps, each an entry', async () => {
    const node = await nodeWithPartitions();
    const before = node.log.appends.length;
    const outcome = expectKind(await node.finish(node.submit(SEEK)), 'seek');
    expect(outcome).toMatchObject({ found: true, partitionsUpdated: PARTITIONS, next: undefined });
    expect(node.log.appends.length).toBe(before + 3);
    const pop = node.pop({ queue: 'orders', group: 'g', partitions: 0 });
    expect(expectKind(await node.finish(pop), 'pop').messageCount).toBe(0);
  });

  it('lets other requests in between its steps', async () => {
    const node = await nodeWithPartitions();
    node.log.closeGate();
    const order: string[] = [];
    void node.submit(SEEK).then(() => order.push('seek'));
    await node.time.settle();
    void node.push([{ queue: 'other' }]).then(() => order.push('push'));
    node.log.openGate();
    await node.time.settle();
    expect(order).toEqual(['push', 'seek']);
  });

  it('says that its outcome is unknown at its deadline, and is completed all the same', async () => {
    const node = await nodeWithPartitions();
    node.log.closeGate();
    const code = codeOf(node.submit(SEEK, 200_000));
    await node.time.pass(500_000);
    expect(await code).toBe('outcome_unknown');
    node.log.openGate();
    await node.time.settle();
    const cursors = node.broker.status().cursors;
    expect(cursors).toBe(PARTITIONS);
  });

  it('keeps those beyond the limit out before they change anything', async () => {
    const node = await nodeWithPartitions();
    node.log.closeGate();
    const first = codeOf(node.submit(SEEK));
    await node.time.settle();
    const second = codeOf(node.submit({ ...SEEK, group: 'h' }));
    node.log.openGate();
    await node.time.settle();
    expect(await Promise.all([first, second])).toEqual(['answered', 'overloaded']);
    expect(node.broker.status().cursors).toBe(PARTITIONS);
  });

  it('is completed before the node stops', async () => {
    const node = await nodeWithPartitions();
    const code = codeOf(node.submit(SEEK));
    const stopping = node.broker.stop();
    await node.time.settle();
    await stopping;
    expect(await code).toBe('answered');
  });
});

describe('a purge', () => {
  it('looks at all dead letters in steps and answers with their number', async () => {
    const node = await TestNode.start();
    const ids = Array.from({ length: 1500 }, (_, i) => `m${i}`);
    await node.finish(node.push(ids.map((id) => ({ queue: 'orders', id }))));
    const popped = expectKind(await node.finish(node.pop({ queue: 'orders', batch: 1500 })), 'pop');
    const { partitionNumber: partition } = popped.claims[0]!;
    const items = ids.map(
      (id) => ({ partition, id, lease: popped.leaseId, status: 'dlq' }) as const,
    );
    await node.finish(node.ack(items));
    expect(node.broker.status().deadLetters).toBe(1500);
    const purge = { kind: 'purgeDeadLetters', queue: 'orders', group: undefined } as const;
    const outcome = expectKind(await node.finish(node.submit(purge)), 'deletedDeadLetters');
    expect(outcome.deleted).toBe(1500);
    expect(node.broker.status().deadLetters).toBe(0);
  });
});

describe('an ack of many partitions', () => {
  it('is answered once, with the verdicts of its steps, each an entry', async () => {
    const node = await nodeWithPartitions();
    const pop = node.pop({ queue: 'orders', group: 'g', batch: PARTITIONS, partitions: 0 });
    const popped = expectKind(await node.finish(pop), 'pop');
    const before = node.log.appends.length;
    const items = popped.claims.map((claim) => ({
      partition: claim.partitionNumber,
      id: `m-${claim.partition}`,
      lease: popped.leaseId,
    }));
    expect(items).toHaveLength(PARTITIONS);
    const outcome = expectKind(await node.finish(node.ack(items, 'g')), 'ack');
    expect(outcome.next).toBeUndefined();
    expect(outcome.errors.every((error) => error === 0)).toBe(true);
    expect(outcome.leaseReleased.every((released) => released === 1)).toBe(true);
    expect(node.log.appends.length - before).toBeGreaterThan(2);
  });
});
