// Three brokers: agreement, and what happens to a leader that is cut off.

import { SeededRng, UuidMinter } from '@queen-ts/base';
import { popCommand, pushCommand } from '@queen-ts/engine/testing';
import type { Outcome, RequestId } from '@queen-ts/protocol';
import { toNodeId } from '@queen-ts/raft';
import { describe, expect, it, vi } from 'vitest';
import type { NodeBroker } from './node-broker.ts';
import { TestCluster } from './testing/test-cluster.ts';
import { expectKind } from './testing/test-node.ts';

const HOUR_US = 3_600_000_000;

/** Pushes and pops on any broker of a cluster. */
function clientOf(cluster: TestCluster) {
  const ids = new UuidMinter(cluster.time, new SeededRng(3));
  const options = { deadlineUs: HOUR_US };
  return {
    push(broker: NodeBroker, id?: string, requestId?: RequestId): Promise<Outcome> {
      const item = { queue: 'orders', partition: 'c-1', ...(id !== undefined && { id }) };
      const command = pushCommand([item], { idBase: ids.mint(1), hashKey: broker.hashKey });
      return broker.submit(command, { ...options, requestId });
    },
    wait(broker: NodeBroker, deadlineUs: number): Promise<Outcome> {
      const { signal } = new AbortController();
      const command = popCommand({ queue: 'orders' }, ids.mint(1));
      return broker.pop(command, { deadlineUs, wait: true, signal });
    },
    pushToPartitions(broker: NodeBroker, count: number): Promise<Outcome> {
      const items = Array.from({ length: count }, (_, i) => ({
        queue: 'orders',
        partition: `p-${i}`,
      }));
      const command = pushCommand(items, { idBase: ids.mint(count), hashKey: broker.hashKey });
      return broker.submit(command, options);
    },
    seek(broker: NodeBroker): Promise<Outcome> {
      const target = { kind: 'end' } as const;
      const scope = { queue: 'orders', partition: undefined, group: 'g' };
      return broker.submit({ kind: 'seek', ...scope, target }, options);
    },
    pop(broker: NodeBroker, leaseSeconds = 60): Promise<Outcome> {
      const { signal } = new AbortController();
      const command = popCommand({ queue: 'orders', batch: 100, leaseSeconds }, ids.mint(1));
      return broker.pop(command, { ...options, wait: false, signal });
    },
  };
}

async function settled(cluster: TestCluster, answer: Promise<Outcome>): Promise<Outcome> {
  await cluster.time.pass(1_000_000);
  return answer;
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : error;
}

describe('three brokers', () => {
  it('elect one leader, agree on the identity and apply the same entries', async () => {
    const cluster = await TestCluster.start();
    const client = clientOf(cluster);
    const { broker } = cluster.leader();
    const pushes = ['a', 'b', 'c'].map((id) => client.push(broker, id));
    await cluster.time.pass(1_000_000);
    for (const push of pushes) expectKind(await push, 'push');
    const states = [...cluster.brokers.values()].map((member) => member.status());
    expect(new Set(states.map((state) => state.appliedIndex)).size).toBe(1);
    expect(states.map((state) => state.partitions)).toEqual([1, 1, 1]);
    expect(cluster.failures).toEqual([]);
  });

  it('never answer from a leader that was cut off, neither a push nor an empty pop', async () => {
    const cluster = await TestCluster.start();
    const client = clientOf(cluster);
    const old = cluster.leader();
    cluster.isolated.add(old.id);
    const pop = client.pop(old.broker).then(() => 'answered', codeOf);
    const push = client.push(old.broker, 'lost').then(() => 'answered', codeOf);
    await cluster.time.pass(5_000_000);
    expect(await push).toBe('timeout');
    expect(await pop).toBe('outcome_unknown');
    const { id, broker } = cluster.leader();
    expect(id).not.toBe(old.id);
    const pushed = client.push(broker, 'kept');
    await cluster.time.pass(1_000_000);
    expect([...expectKind(await pushed, 'push').offsets]).toEqual([0]);
    expect(cluster.failures).toEqual([]);
  });

  it('never tell a waiting pop that nothing came when the leader was cut off meanwhile', async () => {
    const cluster = await TestCluster.start();
    const client = clientOf(cluster);
    const old = cluster.leader();
    const deadlineUs = cluster.time.monotonicUs() + 400_000;
    const waiting = client.wait(old.broker, deadlineUs).then(() => 'answered', codeOf);
    await cluster.time.pass(10_000);
    expect(old.broker.status().parkedPops).toBe(1);
    cluster.isolated.add(old.id);
    await cluster.time.pass(5_000_000);
    expect(await waiting).toBe('outcome_unknown');
    expect(cluster.failures).toEqual([]);
  });

  it('let a waiting pop start over when its leader is deposed', async () => {
    const cluster = await TestCluster.start();
    const client = clientOf(cluster);
    const old = cluster.leader();
    const waiting = client.wait(old.broker, HOUR_US).then(() => 'answered', codeOf);
    await cluster.time.pass(10_000);
    cluster.isolated.add(old.id);
    await cluster.time.pass(5_000_000);
    const { parkedPops, queuedCommands } = old.broker.status();
    expect({ parkedPops, queuedCommands }).toEqual({ parkedPops: 0, queuedCommands: 1 });
    cluster.isolated.clear();
    await cluster.time.pass(3_700_000_000);
    expect(await waiting).toBe('timeout');
    // An hour of virtual time takes some seconds on a busy machine.
  }, 60_000);

  it('rebuild a deposed leader from what is committed, and it can lead again', async () => {
    const cluster = await TestCluster.start();
    const client = clientOf(cluster);
    const old = cluster.leader();
    const kept = client.push(old.broker, 'kept');
    await cluster.time.pass(1_000_000);
    await kept;
    cluster.isolated.add(old.id);
    const lost = client.push(old.broker, 'lost').then(() => 'answered', codeOf);
    await cluster.time.pass(5_000_000);
    expect(await lost).toBe('timeout');
    cluster.isolated.clear();
    await cluster.time.pass(5_000_000);
    // The two others go silent in turn, so that the old leader's log decides.
    const states = [...cluster.brokers.values()].map((member) => member.status());
    expect(new Set(states.map((state) => state.appliedIndex)).size).toBe(1);
    cluster.isolated.add(cluster.leader().id);
    await cluster.time.pass(10_000_000);
    const { broker } = cluster.leader();
    const again = ['kept', 'lost'].map((id) => client.push(broker, id));
    await cluster.time.pass(1_000_000);
    const verdicts = [];
    for (const push of again) verdicts.push(expectKind(await push, 'push').statuses[0]);
    expect(verdicts).toEqual([1, 0]);
    expect(cluster.failures).toEqual([]);
  });

  it('store a push once that is sent again to the next leader', async () => {
    const cluster = await TestCluster.start();
    const client = clientOf(cluster);
    const old = cluster.leader();
    const request = { words: [9, 8, 7, 6], isClientKey: false } as const;
    const first = await settled(cluster, client.push(old.broker, undefined, request));
    cluster.isolated.add(old.id);
    await cluster.time.pass(5_000_000);
    const { broker } = cluster.leader();
    expect(broker).not.toBe(old.broker);
    const again = await settled(cluster, client.push(broker, undefined, request));
    expect(expectKind(again, 'push').statuses).toEqual(expectKind(first, 'push').statuses);
    expect(expectKind(again, 'push').offsets).toEqual(expectKind(first, 'push').offsets);
    const popped = expectKind(await settled(cluster, client.pop(broker)), 'pop');
    expect(popped.messageCount).toBe(1);
  });

  it('tell that a long command was cut short by the loss of its leader; again it completes', async () => {
    const cluster = await TestCluster.start();
    const client = clientOf(cluster);
    const old = cluster.leader();
    await settled(cluster, client.pushToPartitions(old.broker, 2500));
    const cut = client.seek(old.broker).then(() => 'answered', codeOf);
    // Long enough for the first of three steps to be on its way.
    await cluster.time.pass(300);
    cluster.isolated.add(old.id);
    await cluster.time.pass(5_000_000);
    expect(await cut).toBe('outcome_unknown');
    const { broker } = cluster.leader();
    const again = expectKind(await settled(cluster, client.seek(broker)), 'seek');
    expect(again).toMatchObject({ found: true, partitionsUpdated: 2500 });
    cluster.isolated.clear();
    await cluster.time.pass(5_000_000);
    const cursors = [...cluster.brokers.values()].map((member) => member.status().cursors);
    expect(cursors).toEqual([2500, 2500, 2500]);
    expect(cluster.failures).toEqual([]);
  });

  it('do not spin while a lease has run out and a transfer keeps the leader from planning', async () => {
    const cluster = await TestCluster.start();
    const client = clientOf(cluster);
    const { id, broker } = cluster.leader();
    await settled(cluster, client.push(broker));
    const claim = client.pop(broker, 1);
    await cluster.time.pass(10_000);
    expect(expectKind(await claim, 'pop').messageCount).toBe(1);
    client.wait(broker, HOUR_US).catch(() => {});
    await cluster.time.pass(900_000);
    const target = toNodeId((id % 3) + 1);
    cluster.isolated.add(target);
    const transfer = broker.transferLeadership(target, HOUR_US).then(() => 'done', codeOf);
    const after = vi.spyOn(cluster.time, 'after');
    await cluster.time.pass(900_000);
    // A few dozen ticks of three nodes, and what they send each other.
    expect(after.mock.calls.length).toBeLessThan(300);
    await cluster.time.pass(3_000_000);
    expect(await transfer).toBe('outcome_unknown');
    expect(cluster.failures).toEqual([]);
  });
});
