// Brokers that start from checkpoints: same answers as from the whole log.

import { SeededRng, UuidMinter } from '@queen-ts/base';
import { popCommand, pushCommand } from '@queen-ts/engine/testing';
import { describe, expect, it } from 'vitest';
import { TestCluster } from './testing/test-cluster.ts';
import { expectKind, GatedLog, TestNode } from './testing/test-node.ts';

const EAGER = { checkpointLogBytesMin: 1000, checkpointStopBytesMin: 1000 };
const DATA = 'x'.repeat(300);

function items(from: number, toExclusive: number) {
  return Array.from({ length: toExclusive - from }, (_, i) => ({
    queue: 'orders',
    partition: `c-${(from + i) % 7}`,
    id: `m-${from + i}`,
    data: DATA,
  }));
}

async function pushAll(node: TestNode, count: number): Promise<void> {
  for (let i = 0; i < count; i += 10) {
    expectKind(await node.finish(node.push(items(i, i + 10))), 'push');
  }
}

describe('a node', () => {
  it('starts from its newest checkpoint and replays only what follows', async () => {
    const node = await TestNode.start({ limits: EAGER });
    await pushAll(node, 200);
    const popped = expectKind(await node.finish(node.pop({ queue: 'orders', batch: 30 })), 'pop');
    await node.time.settle();
    expect(node.checkpoints.indexes.length).toBe(2);
    const newest = node.checkpoints.newest!.index;
    expect(newest).toBeGreaterThan(10);

    const before = node.broker.status();
    const again = await node.restart({ limits: EAGER });
    expect(again.openedFrom).toBe(newest);
    const after = again.broker.status();
    expect([after.partitions, after.cursors]).toEqual([before.partitions, before.cursors]);
    // Duplicates are known, the lease is held, and what is left comes in order.
    const repeated = expectKind(await again.finish(again.push(items(150, 160))), 'push');
    expect(new Set(repeated.statuses)).toEqual(new Set([1]));
    const rest = expectKind(
      await again.finish(again.pop({ queue: 'orders', batch: 500, partitions: 7 })),
      'pop',
    );
    const held = new Set(popped.claims.map((claim) => claim.partition));
    expect(rest.claims.every((claim) => !held.has(claim.partition))).toBe(true);
    expect(rest.messageCount).toBeGreaterThan(0);
    expect(again.failures).toEqual([]);
  });

  it('takes one when it stops, so that the next start replays nothing', async () => {
    const limits = { checkpointStopBytesMin: 1000 };
    const node = await TestNode.start({ limits });
    await pushAll(node, 100);
    expect(node.checkpoints.indexes).toEqual([]);
    const { lastIndex } = node.broker.status();
    const stopped = node.broker.stop();
    await node.time.settle();
    await stopped;
    expect(node.checkpoints.indexes).toEqual([lastIndex]);
    const again = await node.restart({ limits });
    expect(again.openedFrom).toBe(lastIndex);
    expect(again.broker.status().partitions).toBe(7);
    const stoppedAgain = again.broker.stop();
    await again.time.settle();
    await stoppedAgain;
    expect(again.checkpoints.indexes).toEqual([lastIndex]);
  });

  it('does not finish one of entries that the disk has not taken', async () => {
    const log = new GatedLog();
    const node = await TestNode.start({ limits: EAGER, log });
    await pushAll(node, 20);
    await node.time.settle();
    const finished = node.checkpoints.indexes;
    log.closeGate();
    const push = node.push(items(100, 140));
    await node.time.settle();
    expect(node.checkpoints.indexes).toEqual(finished);
    log.openGate();
    expectKind(await node.finish(push), 'push');
    await node.time.settle();
    expect(node.checkpoints.indexes).not.toEqual(finished);
    const again = await node.restart();
    expect(again.broker.status().appliedIndex).toBeGreaterThanOrEqual(again.openedFrom);
    expect(again.failures).toEqual([]);
  });

  it('stops for good when a checkpoint cannot be written', async () => {
    const node = await TestNode.start({ limits: EAGER });
    node.checkpoints.failWrites();
    await pushAll(node, 10).catch(() => {});
    await node.time.settle();
    expect(node.failures).toHaveLength(1);
    await expect(node.push(items(0, 1))).rejects.toThrow();
  });
});

describe('three nodes', () => {
  it('take them each, and a deposed leader is rebuilt from its own', async () => {
    const cluster = await TestCluster.start(EAGER);
    const ids = new UuidMinter(cluster.time, new SeededRng(3));
    const push = (id: number, from: number) => {
      const broker = cluster.brokers.get(id)!;
      const idBase = ids.mint(20);
      const command = pushCommand(items(from, from + 20), { idBase, hashKey: broker.hashKey });
      const deadlineUs = cluster.time.monotonicUs() + 3_000_000;
      return broker.submit(command, { deadlineUs }).then(
        () => 'pushed',
        () => 'failed',
      );
    };
    const old = cluster.leader();
    for (let i = 0; i < 5; i += 1) {
      const pushed = push(old.id, i * 20);
      await cluster.time.pass(1_000_000);
      expect(await pushed).toBe('pushed');
    }
    for (const store of cluster.checkpoints.values())
      expect(store.newest?.index).toBeGreaterThan(3);

    cluster.isolated.add(old.id);
    const lost = push(old.id, 500);
    await cluster.time.pass(6_000_000);
    expect(await lost).toBe('failed');
    const pushed = push(cluster.leader().id, 600);
    await cluster.time.pass(1_000_000);
    expect(await pushed).toBe('pushed');
    cluster.isolated.clear();
    await cluster.time.pass(10_000_000);

    const replicas = [...cluster.brokers.values()].map(({ replica }) => replica);
    expect(replicas.every(({ isCurrent }) => isCurrent)).toBe(true);
    expect(new Set(replicas.map(({ appliedIndex }) => appliedIndex)).size).toBe(1);
    expect(new Set(replicas.map(({ engine }) => engine.digest())).size).toBe(1);
    expect(cluster.failures).toEqual([]);

    // The one that was rebuilt can lead on.
    cluster.isolated.add(cluster.leader().id);
    await cluster.time.pass(10_000_000);
    const { broker } = cluster.leader();
    const { signal } = new AbortController();
    const command = popCommand({ queue: 'orders', batch: 500, partitions: 7 }, ids.mint(1));
    const deadlineUs = cluster.time.monotonicUs() + 3_000_000;
    const pop = broker.pop(command, { deadlineUs, wait: false, signal });
    await cluster.time.pass(1_000_000);
    expect(expectKind(await pop, 'pop').messageCount).toBe(120);
  });
});
