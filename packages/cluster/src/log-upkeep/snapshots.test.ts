// Members that were away while the log moved on: brought up to date by a snapshot, whatever happens on
// the way. Three brokers in virtual time on stores in memory.

import { SeededRng, UuidMinter } from '@queen-ts/base';
import { pushCommand } from '@queen-ts/engine/testing';
import type { Outcome } from '@queen-ts/protocol';
import { describe, expect, it } from 'vitest';
import type { NodeBroker } from '../node-broker.ts';
import { TestCluster } from '../testing/test-cluster.ts';

/** Checkpoints and log starts that follow every few entries. */
const EAGER = { checkpointLogBytesMin: 2000, checkpointRestFactor: 0 };
const SHORT = {
  holdUs: 0,
  holdBytesMax: 4000,
  trailBytesMin: 1000,
  startMoveUs: 10_000,
  sweepPauseUs: 50_000,
  reclaimBytesMin: 1000,
  sendBytesPerSecond: 10_000_000,
};
const DATA = 'x'.repeat(200);

function clientOf(cluster: TestCluster) {
  const ids = new UuidMinter(cluster.time, new SeededRng(3));
  let count = 0;
  const submit = (broker: NodeBroker): Promise<Outcome> => {
    count += 1;
    const item = { queue: 'orders', partition: `c-${count % 5}`, id: `m-${count}`, data: DATA };
    const command = pushCommand([item], { idBase: ids.mint(1), hashKey: broker.hashKey });
    return broker.submit(command, { deadlineUs: Infinity });
  };
  return {
    /** Pushes so many messages to the leader, one entry each. */
    async push(messages: number): Promise<void> {
      for (let i = 0; i < messages; i += 1) {
        const pushed = submit(cluster.leader().broker);
        await cluster.time.pass(20_000);
        await pushed;
      }
    },
  };
}

/** A follower that was cut off until the log of the others began after its end. */
async function leaveBehind(cluster: TestCluster): Promise<number> {
  const client = clientOf(cluster);
  await client.push(5);
  const leader = cluster.leader().id;
  const away = [1, 2, 3].find((id) => id !== leader)!;
  const { lastIndex } = cluster.disks.get(away)!.log;
  cluster.isolated.add(away);
  for (let round = 0; round < 20; round += 1) {
    await client.push(10);
    if (cluster.disks.get(leader)!.log.firstIndex > lastIndex + 1) return away;
  }
  throw new Error('the log was never cut');
}

function expectAgreement(cluster: TestCluster): void {
  const states = [...cluster.brokers.values()].map((broker) => ({
    isCurrent: broker.replica.isCurrent,
    applied: broker.replica.appliedIndex,
    digest: broker.replica.engine.digest(),
  }));
  expect(states).toEqual(states.map(() => states[0]));
  expect(states[0]?.isCurrent).toBe(true);
  expect(cluster.failures).toEqual([]);
}

/** Reads every message of a node from its own log. */
function expectAllReadable(cluster: TestCluster, id: number): void {
  const { state } = cluster.brokers.get(id)!.replica.engine;
  const { log } = cluster.disks.get(id)!;
  let count = 0;
  for (let index = 1; index <= log.lastIndex; index += 1) {
    const record = index < log.firstIndex ? log.archive.next(index, index + 1) : undefined;
    if (record?.type !== 'command') continue;
    const { payloadBytes } = record;
    expect(log.payload({ index, from: 0, toExclusive: payloadBytes }).length).toBe(payloadBytes);
    count += payloadBytes > 0 ? 1 : 0;
  }
  expect(count).toBeGreaterThan(20);
  expect(state.partitions.count).toBe(5);
}

describe('a member that was away while the log was cut', () => {
  it('gets a snapshot while the others go on, and then follows', async () => {
    const cluster = await TestCluster.start(EAGER, SHORT);
    const away = await leaveBehind(cluster);
    cluster.isolated.delete(away);
    await clientOf(cluster).push(60);
    await cluster.time.pass(5_000_000);
    expect(cluster.brokers.get(away)!.status().log.snapshotsInstalledTotal).toBe(1);
    expectAgreement(cluster);
    expectAllReadable(cluster, away);
    // It can lead: everything it needs is there.
    const { log } = cluster.disks.get(away)!;
    expect(log.firstIndex).toBeGreaterThan(1);
  });

  it('goes on where it was after the connection broke', async () => {
    const cluster = await TestCluster.start(EAGER, SHORT);
    const away = await leaveBehind(cluster);
    cluster.isolated.delete(away);
    let calls = 0;
    cluster.onSnapshotCall = (_, to) => {
      calls += 1;
      // Cut at various moments, healed by the passing of time below.
      if (to === away && calls % 7 === 0) cluster.isolated.add(away);
    };
    for (let round = 0; round < 60; round += 1) {
      await cluster.time.pass(300_000);
      cluster.isolated.delete(away);
    }
    cluster.onSnapshotCall = () => {};
    await cluster.time.pass(10_000_000);
    expect(cluster.brokers.get(away)!.status().log.snapshotsInstalledTotal).toBe(1);
    expect(calls).toBeGreaterThan(20);
    const { snapshotsSentTotal, snapshotsFailedTotal } = cluster.leader().broker.status().log;
    expect([snapshotsSentTotal, snapshotsFailedTotal]).toEqual([1, 0]);
    expectAgreement(cluster);
  });

  it.for([3, 8, 15])('starts over when it crashed at call %d', async (at) => {
    const cluster = await TestCluster.start(EAGER, SHORT);
    const away = await leaveBehind(cluster);
    cluster.isolated.delete(away);
    let calls = 0;
    cluster.onSnapshotCall = () => {
      calls += 1;
      if (calls === at) cluster.crash(away);
    };
    await cluster.time.pass(3_000_000);
    expect(cluster.brokers.has(away)).toBe(false);
    await cluster.restart(away);
    await cluster.time.pass(60_000_000);
    expect(cluster.brokers.get(away)!.status().log.snapshotsInstalledTotal).toBe(1);
    expectAgreement(cluster);
  });

  it('gets one from the next leader when the first one is gone', async () => {
    const cluster = await TestCluster.start(EAGER, SHORT);
    const away = await leaveBehind(cluster);
    const old = cluster.leader().id;
    cluster.isolated.delete(away);
    const senders: number[] = [];
    cluster.onSnapshotCall = (from) => {
      senders.push(from);
      if (from === old && senders.length === 10) cluster.isolated.add(old);
    };
    await cluster.time.pass(60_000_000);
    expect(cluster.leader().id).not.toBe(old);
    expect(new Set(senders)).toEqual(new Set([old, cluster.leader().id]));
    expect(cluster.brokers.get(away)!.status().log.snapshotsInstalledTotal).toBe(1);
    cluster.isolated.delete(old);
    await clientOf(cluster).push(5);
    await cluster.time.pass(60_000_000);
    expectAgreement(cluster);
  });

  it('comes back from a crash with the snapshot that it had installed', async () => {
    const cluster = await TestCluster.start(EAGER, SHORT);
    const away = await leaveBehind(cluster);
    cluster.isolated.delete(away);
    await cluster.time.pass(10_000_000);
    cluster.crash(away);
    await cluster.restart(away);
    await clientOf(cluster).push(20);
    await cluster.time.pass(5_000_000);
    expect(cluster.brokers.get(away)!.status().log.snapshotsInstalledTotal).toBe(0);
    expectAgreement(cluster);
    expectAllReadable(cluster, away);
  });
});

describe('a member that was away for a moment', () => {
  it('needs no snapshot: the log is kept for it', async () => {
    const cluster = await TestCluster.start(EAGER, {
      ...SHORT,
      holdUs: 600_000_000,
      holdBytesMax: 1_000_000,
    });
    const client = clientOf(cluster);
    await client.push(5);
    const leader = cluster.leader().id;
    const away = [1, 2, 3].find((id) => id !== leader)!;
    cluster.isolated.add(away);
    await client.push(100);
    cluster.isolated.delete(away);
    await cluster.time.pass(5_000_000);
    expect(cluster.brokers.get(leader)!.status().log.snapshotsSentTotal).toBe(0);
    expect(cluster.brokers.get(leader)!.status().log.logFirstIndex).toBe(1);
    expectAgreement(cluster);
  });
});
