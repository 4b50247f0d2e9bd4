// Three real processes as one cluster: any of them answers, and any one may die.

import { afterEach, describe, expect, test } from 'vitest';
import { probeFreePort } from '../support/broker-process.ts';
import { eventually } from '../support/eventually.ts';
import type { HttpClient } from '../support/http-client.ts';
import { readEverything } from '../support/push-load.ts';
import { MemberCluster } from './harness/member-cluster.ts';
import { MemberProcess } from './harness/member-process.ts';
import { SteadyPushes } from './harness/steady-pushes.ts';

const MEMBERSHIP = '/api/v1/system/raft/membership';
const PUSH_COUNT_MIN = 50;

const disposables: { dispose(): Promise<void> }[] = [];

afterEach(async () => {
  await Promise.all(disposables.splice(0).map((it) => it.dispose()));
});

async function found(): Promise<MemberCluster> {
  const cluster = await MemberCluster.found({ size: 3 });
  disposables.push(cluster);
  return cluster;
}

async function send(
  client: HttpClient,
  method: 'POST' | 'PUT' | 'DELETE',
  path: string,
  body?: object,
): Promise<Record<string, unknown>> {
  const options = body === undefined ? {} : { body: JSON.stringify(body) };
  const { status, text } = await client.request(method, path, options);
  expect({ status, text }).toMatchObject({ status: 200 });
  return JSON.parse(text) as Record<string, unknown>;
}

/** What is stored, by transaction id, read through one member. */
async function storedAt(member: MemberProcess, queue: string): Promise<readonly string[]> {
  const messages = await readEverything(member.client, queue, `reader-${member.id}`);
  return messages.map(({ transactionId }) => transactionId);
}

async function untilStored(pushes: SteadyPushes, more: number): Promise<void> {
  const count = pushes.stored.length + more;
  await eventually(`${count} stored messages`, () => pushes.stored.length >= count, 60_000);
}

/** Nothing acknowledged is lost, nothing is stored twice, order is kept. */
function expectExactly(found: readonly string[], pushes: SteadyPushes): void {
  expect(found).toEqual(pushes.stored);
}

function report(what: string, { longestGapMs, stored, refusals }: SteadyPushes): void {
  const told =
    [...refusals].map(([refusal, count]) => `${count} × ${refusal}`).join(', ') || 'none';
  process.stdout.write(
    `  ${what}: longest gap ${Math.round(longestGapMs)} ms, ${stored.length} stored, retries: ${told}\n`,
  );
}

describe('three members', () => {
  test('found a cluster, and any of them answers', async () => {
    const cluster = await found();
    for (const id of cluster.members) {
      const { client } = cluster.member(id);
      const [verdict] = await client.push([{ queue: 'q', partition: `p${id}`, payload: id }]);
      expect(verdict?.status).toBe('queued');
    }
    for (const id of cluster.members) {
      const messages = await readEverything(cluster.member(id).client, 'q', `group-${id}`);
      expect(new Set(messages.map(({ data }) => data))).toEqual(new Set([1, 2, 3]));
    }
  });

  test('lose nothing acknowledged when their leader is killed under pushes', async () => {
    const cluster = await found();
    const leader = await cluster.electedLeader();
    const [other, third] = cluster.members.filter((id) => id !== leader) as [number, number];
    const pushes = new SteadyPushes([cluster.member(other).client], 'q');
    await untilStored(pushes, PUSH_COUNT_MIN);
    await cluster.kill(leader);
    await untilStored(pushes, PUSH_COUNT_MIN);
    await cluster.start(leader);
    await cluster.healthy();
    await pushes.stop();
    report('leader killed', pushes);
    for (const id of [leader, third]) {
      expectExactly(await storedAt(cluster.member(id), 'q'), pushes);
    }
    // A client of the member that stays need not know that a leader died.
    expect([...pushes.refusals]).toEqual([]);
  });

  test('restart one after the other while clients go on', async () => {
    const cluster = await found();
    const clients = cluster.members.map((id) => cluster.member(id).client);
    const pushes = new SteadyPushes(clients, 'q');
    await untilStored(pushes, PUSH_COUNT_MIN);
    for (const id of cluster.members) {
      expect(await cluster.terminate(id)).toBe(0);
      await untilStored(pushes, 5);
      await cluster.start(id);
      await cluster.healthy();
    }
    await pushes.stop();
    report('rolling restart', pushes);
    expectExactly(await storedAt(cluster.member(1), 'q'), pushes);
  });

  test('hand the leadership over when asked to, and say who leads', async () => {
    const cluster = await found();
    const leader = await cluster.electedLeader();
    const to = cluster.members.find((id) => id !== leader)!;
    const third = cluster.members.find((id) => id !== leader && id !== to)!;
    const { client } = cluster.member(third);
    // Members that have just learnt the cluster's id dial each other anew.
    const answer = await eventually('the transfer', async () => {
      const body = JSON.stringify({ to });
      const { status, text } = await client.request('POST', '/api/v1/system/raft/transfer', {
        body,
      });
      if (status === 503) return undefined;
      expect(status).toBe(200);
      return JSON.parse(text) as object;
    });
    expect(answer).toEqual({ ok: true, leader: to });
    expect(await cluster.electedLeader()).toBe(to);
  });
});

describe('a cluster', () => {
  interface Place {
    readonly id: number;
    readonly raft: string;
    readonly http: string;
    readonly httpPort: number;
  }

  async function places(count: number): Promise<Place[]> {
    const made: Place[] = [];
    for (let id = 1; id <= count; id += 1) {
      const [raftPort, httpPort] = [await probeFreePort(), await probeFreePort()];
      const [raft, http] = [`127.0.0.1:${raftPort}`, `127.0.0.1:${httpPort}`];
      made.push({ id, raft, http, httpPort });
    }
    return made;
  }

  async function start(
    place: Place,
    known: readonly Place[],
    joins: boolean,
  ): Promise<MemberProcess> {
    const member = new MemberProcess({
      id: place.id,
      httpPort: place.httpPort,
      environment: {
        QUEEN_RAFT_REPLICATOR: 'raft',
        QUEEN_RAFT_PEERS: known.map(({ id, raft, http }) => `${id}=${raft}/${http}`).join(','),
        QUEEN_RAFT_LISTEN: place.raft,
        QUEEN_RAFT_TOKEN: 'shared',
        ...(joins && { QUEEN_RAFT_JOIN: 'true' }),
      },
    });
    disposables.push(member);
    await member.start();
    return member;
  }

  async function join(member: MemberProcess, place: Place, through: HttpClient): Promise<void> {
    const { id, raft, http } = place;
    await send(through, 'POST', `${MEMBERSHIP}/learners`, { id, raft, http });
    await member.healthy();
    await send(through, 'POST', `${MEMBERSHIP}/promote`, { ids: [id] });
  }

  test('grows from one node to three without a pause, and then survives the first', async () => {
    const [one, two, three] = (await places(3)) as [Place, Place, Place];
    const first = await start(one, [one], false);
    await first.healthy();
    const pushes = new SteadyPushes([first.client], 'q');
    await untilStored(pushes, PUSH_COUNT_MIN);
    const second = await start(two, [one, two], true);
    await join(second, two, first.client);
    const third = await start(three, [one, two, three], true);
    await join(third, three, second.client);
    await untilStored(pushes, PUSH_COUNT_MIN);
    await pushes.stop();
    report('growth from one to three', pushes);
    expect([...pushes.refusals]).toEqual([]);
    await first.kill();
    expectExactly(await storedAt(third, 'q'), pushes);
  });

  test('replaces a node whose disk is lost, and does not let it vote before', async () => {
    const all = (await places(3)) as [Place, Place, Place];
    const members = await Promise.all(all.map((place) => start(place, all, false)));
    await Promise.all(members.map((member) => member.healthy()));
    const lost = members[2]!;
    const { client } = members[0]!;
    await client.push([{ queue: 'q', payload: 'kept', transactionId: 't' }]);
    await lost.kill();
    await lost.wipe();
    await lost.spawn({ QUEEN_RAFT_JOIN: 'true' });
    await eventually(
      'the empty disk to be noticed',
      async () => {
        const { text } = await client.request('GET', MEMBERSHIP);
        const { membership } = JSON.parse(text) as {
          membership: { members: { nodeId: number; identityRefused: boolean }[] };
        };
        return membership.members.some((it) => it.nodeId === 3 && it.identityRefused);
      },
      30_000,
    );
    await send(client, 'DELETE', `${MEMBERSHIP}/members/3`);
    await join(lost, all[2], client);
    expect(await storedAt(lost, 'q')).toEqual(['t']);
  });
});
