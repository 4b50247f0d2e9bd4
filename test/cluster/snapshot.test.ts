// A member that was away until the others had cut their logs, with real processes and real disks: it
// catches up by a snapshot under load, whoever is killed in between, and has every retained message. And
// what nobody retains any more gives its disk space back.

import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { MemberCluster } from './harness/member-cluster.ts';

const ENVIRONMENT = {
  QUEEN_RAFT_DURABLE_EVERY_BYTES: '65536',
  QUEEN_RAFT_PURGE_HOLD_S: '0',
  RETENTION_INTERVAL: '100',
  QUEEN_RAFT_ELECTION_MS: '500',
};
const DATA = 'x'.repeat(4000);
const CATCH_UP_MS = 60_000;

interface Status {
  readonly firstLogIndex: number;
  readonly lastLogIndex: number;
  readonly appliedIndex: number;
  readonly committedIndex: number;
}

let cluster: MemberCluster;

afterEach(() => cluster.dispose());

async function status(id: number): Promise<Status> {
  const { text } = await cluster.member(id).client.request('GET', '/api/v1/raft/status');
  return JSON.parse(text) as Status;
}

/** Pushes messages `from` to `toExclusive` to queue `kept`; retried until each is stored. */
async function push(id: number, from: number, toExclusive: number): Promise<void> {
  for (let number = from; number < toExclusive; number += 10) {
    const items = Array.from({ length: Math.min(10, toExclusive - number) }, (_, i) => ({
      queue: 'kept',
      partition: `p-${(number + i) % 7}`,
      transactionId: `m-${number + i}`,
      payload: { number: number + i, data: DATA },
    }));
    const body = JSON.stringify({ items });
    await eventually(
      `message ${number} to be stored`,
      async () => {
        const { status: code } = await cluster
          .member(id)
          .client.request('POST', '/api/v1/push', { body });
        return code === 201;
      },
      30_000,
    );
  }
}

/** The numbers of all messages, as this member's own log gives them to a new group. */
async function popAll(id: number, group: string): Promise<number[]> {
  const numbers: number[] = [];
  const path = `/api/v1/pop/queue/kept?consumerGroup=${group}&batch=100&autoAck=true&partitions=7`;
  for (;;) {
    const { status: code, text } = await cluster.member(id).client.request('GET', path);
    if (code === 204) return numbers.toSorted((a, b) => a - b);
    expect(code).toBe(200);
    const { messages } = JSON.parse(text) as {
      messages: { data: { number: number; data: string } }[];
    };
    for (const { data } of messages) {
      expect(data.data).toBe(DATA);
      numbers.push(data.number);
    }
  }
}

/** A follower is killed and the others go on until their logs begin after its end. */
async function leaveBehind(): Promise<{ leader: number; away: number; count: number }> {
  cluster = await MemberCluster.found({ size: 3, environment: ENVIRONMENT });
  const leader = await cluster.electedLeader();
  await push(leader, 0, 20);
  const away = cluster.members.find((id) => id !== leader) ?? 0;
  const { lastLogIndex } = await status(away);
  await cluster.kill(away);
  let count = 20;
  while ((await status(leader)).firstLogIndex <= lastLogIndex + 1) {
    expect(count).toBeLessThan(5000);
    await push(leader, count, count + 100);
    count += 100;
  }
  return { leader, away, count };
}

async function expectCaughtUp(away: number, others: number): Promise<void> {
  await eventually(
    'the member to have caught up',
    async () => (await status(away)).appliedIndex >= (await status(others)).committedIndex,
    CATCH_UP_MS,
  );
  expect((await status(away)).firstLogIndex).toBeGreaterThan(1);
}

/** The member leads and gives out everything, from its own log. */
async function expectEverything(away: number, count: number): Promise<void> {
  await cluster.healthy();
  await eventually(
    'the member to lead',
    async () => {
      const leader = await cluster.electedLeader();
      if (leader === away) return true;
      const body = JSON.stringify({ to: away });
      await cluster.member(leader).client.request('POST', '/api/v1/system/raft/transfer', { body });
      return false;
    },
    CATCH_UP_MS,
  );
  const expected = Array.from({ length: count }, (_, number) => number);
  expect(await popAll(away, 'after')).toEqual(expected);
}

describe('a member that was away for too long', () => {
  it('catches up by a snapshot under load', async () => {
    const { leader, away, count } = await leaveBehind();
    const starting = cluster.start(away);
    await push(leader, count, count + 200);
    await starting;
    await expectCaughtUp(away, leader);
    await expectEverything(away, count + 200);
  }, 180_000);

  it('catches up although it is killed on the way, again and again', async () => {
    const { leader, away, count } = await leaveBehind();
    for (const delayMs of [200, 500, 800, 1200]) {
      await cluster.member(away).spawn();
      await new Promise((resolve) => setTimeout(resolve, delayMs));
      await cluster.kill(away);
    }
    await cluster.start(away);
    await expectCaughtUp(away, leader);
    await expectEverything(away, count);
  }, 180_000);

  it('catches up although the leader that sends it is killed', async () => {
    const { leader, away, count } = await leaveBehind();
    await cluster.member(away).spawn();
    await new Promise((resolve) => setTimeout(resolve, 900));
    await cluster.kill(leader);
    const next = await cluster.electedLeader();
    await expectCaughtUp(away, next);
    await cluster.start(leader);
    await expectEverything(away, count);
  }, 180_000);
});

describe('what nobody retains any more', () => {
  it('gives its disk space back on every member', async () => {
    cluster = await MemberCluster.found({ size: 3, environment: ENVIRONMENT });
    const leader = await cluster.electedLeader();
    const options = { retentionEnabled: true, completedRetentionSeconds: 1 };
    const body = JSON.stringify({ queue: 'kept', options });
    await cluster.member(leader).client.request('POST', '/api/v1/configure', { body });
    await push(leader, 0, 1500);
    const full = await Promise.all(cluster.members.map((id) => logBytes(id)));
    expect(Math.min(...full)).toBeGreaterThan(6_000_000);
    await popAll(leader, 'all');
    // The log goes on, so that checkpoints follow in which the messages are gone.
    let number = 10_000;
    await eventually(
      'the logs to shrink',
      async () => {
        await push(leader, number, number + 20);
        await popAll(leader, 'all');
        number += 20;
        // At full speed there would be as much again between two passes of the sweeper.
        await new Promise((resolve) => setTimeout(resolve, 250));
        const now = await Promise.all(cluster.members.map((id) => logBytes(id)));
        return now.every((bytes, i) => bytes < (full[i] ?? 0) / 2);
      },
      120_000,
    );
  }, 240_000);
});

async function logBytes(id: number): Promise<number> {
  const path = join(cluster.member(id).dataDirectory, 'log');
  const sizes = await Promise.all(
    (await readdir(path)).map((name) =>
      stat(join(path, name)).then(
        ({ size }) => size,
        () => 0,
      ),
    ),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}
