// Members of a cluster: any of them answers, and a change of leader repeats nothing.

import { readMaintenance } from '@queen-ts/engine';
import { BlockReader } from '@queen-ts/protocol';
import type { Outcome } from '@queen-ts/protocol';
import { describe, expect, test } from 'vitest';
import { TestMembers } from '../testing/test-members.ts';
import { expectKind } from '../testing/test-node.ts';
import type { Member } from './member.ts';

const MINUTE_US = 60_000_000;

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : error;
}

function statusOf(outcome: Outcome): number | undefined {
  return expectKind(outcome, 'push').statuses[0];
}

/** Offsets of the messages that a pop delivered, read as its answer reads them. */
function delivered(member: Member, outcome: Outcome): number[] {
  const pop = expectKind(outcome, 'pop');
  return pop.claims.flatMap(({ spans }) =>
    spans.flatMap((span) => {
      const block = new BlockReader(member.broker.payloadsOf(pop), span);
      block.frames(span.first, span.count);
      return Array.from({ length: span.count }, (_, i) => span.baseOffset + span.first + i);
    }),
  );
}

describe('a member that does not lead', () => {
  test('answers pushes and pops through the leader', async () => {
    const cluster = await TestMembers.start();
    const [first, second] = cluster.followers as [Member, Member];
    expect(statusOf(await cluster.finish(cluster.push(first, 'a')))).toBe(0);
    expect(statusOf(await cluster.finish(cluster.push(second, 'a')))).toBe(1);
    const outcome = await cluster.finish(cluster.pop(second));
    expect(delivered(second, outcome)).toEqual([0]);
    expect(cluster.failures).toEqual([]);
  });

  test.each(['claimed', 'created by a pop'])(
    'shows its clients what they have %s',
    async (what) => {
      const cluster = await TestMembers.start();
      const [follower] = cluster.followers as [Member];
      if (what === 'claimed') await cluster.finish(cluster.push(follower, 'a'));
      const popped = cluster.pop(follower).then(() => follower.local.replica.appliedIndex);
      const appliedIndex = await cluster.finish(popped);
      expect(appliedIndex).toBe(cluster.leader.local.replica.appliedIndex);
    },
  );

  test('shows its clients what they wrote', async () => {
    const cluster = await TestMembers.start();
    const [follower] = cluster.followers as [Member];
    const pushed = cluster.push(follower, 'a').then(() => follower.local.replica.appliedIndex);
    const appliedIndex = await cluster.finish(pushed);
    expect(appliedIndex).toBe(cluster.leader.local.replica.appliedIndex);
  });

  test('reads with every write that was answered elsewhere', async () => {
    const cluster = await TestMembers.start();
    const { leader } = cluster;
    const [follower] = cluster.followers as [Member];
    const deadlineUs = cluster.time.monotonicUs() + MINUTE_US;
    const pause = { kind: 'maintenance', requests: 'push', paused: true } as const;
    const read = leader.broker.submit(pause, { deadlineUs }).then(async () => {
      const isBehind = follower.local.replica.appliedIndex < leader.local.replica.appliedIndex;
      const flags = await follower.broker.read(readMaintenance, { deadlineUs, from: 'leader' });
      return { isBehind, pushPaused: flags.pushPaused };
    });
    expect(await cluster.finish(read)).toEqual({ isBehind: true, pushPaused: true });
  });

  test('fetches payloads that it has not got yet', async () => {
    const cluster = await TestMembers.start();
    const [follower] = cluster.followers as [Member];
    await cluster.finish(cluster.push(cluster.leader, 'a'));
    follower.local.applied = () => Promise.resolve(false);
    // As if the entry was not here: what is not applied is not read from the log.
    Object.defineProperty(follower.local.replica, 'appliedIndex', { get: () => 0 });
    const outcome = await cluster.finish(cluster.pop(follower));
    expect(follower.broker.payloadsOf(expectKind(outcome, 'pop'))).not.toBe(
      follower.broker.payloads,
    );
    expect(delivered(follower, outcome)).toEqual([0]);
  });

  test('holds a request until its deadline when nobody leads', async () => {
    const cluster = await TestMembers.start();
    const [follower] = cluster.followers as [Member];
    cluster.isolate(follower);
    await cluster.time.pass(5_000_000);
    const held = cluster.push(follower, 'a', 2_000_000).then(() => 'answered', codeOf);
    expect(await cluster.finish(held, 3_000_000)).toBe('no_leader');
    const healed = cluster.push(follower, 'b', 10_000_000);
    await cluster.time.pass(1_000_000);
    cluster.heal(follower);
    expect(statusOf(await cluster.finish(healed, 9_000_000))).toBe(0);
  });
});

describe('a change of leader', () => {
  test('stores a push once that was on its way through another member', async () => {
    const cluster = await TestMembers.start();
    const old = cluster.leader;
    const [follower] = cluster.followers as [Member];
    const pushed = cluster.push(follower, 'a');
    // The leader gets it, stores it, and its answer is lost.
    await cluster.time.pass(700);
    cluster.isolate(old);
    expect(statusOf(await cluster.finish(pushed, 10_000_000))).toBe(0);
    cluster.heal(old);
    await cluster.time.pass(5_000_000);
    const outcome = await cluster.finish(cluster.pop(old));
    expect(delivered(old, outcome)).toEqual([0]);
    expect(cluster.failures).toEqual([]);
  });

  test('repeats no delivery that commits at once', async () => {
    const cluster = await TestMembers.start();
    const old = cluster.leader;
    const [follower] = cluster.followers as [Member];
    await cluster.finish(cluster.push(old, 'a'));
    const popped = cluster.pop(follower, { autoAck: true });
    await cluster.time.pass(450);
    cluster.isolate(old);
    expect(delivered(follower, await cluster.finish(popped, 10_000_000))).toEqual([0]);
    const again = await cluster.finish(cluster.pop(follower));
    expect(expectKind(again, 'pop').claims).toEqual([]);
  });

  test('claims once for a pop whose first answer was lost, and lets it keep the claim', async () => {
    const cluster = await TestMembers.start();
    const { leader } = cluster;
    const [follower, third] = cluster.followers as [Member, Member];
    await cluster.finish(cluster.push(leader, 'a'));
    const popped = cluster.pop(follower);
    // The leader has claimed, and the connection breaks before its answer is here.
    await cluster.time.pass(700);
    cluster.isolate(follower);
    await cluster.time.pass(50_000);
    cluster.heal(follower);
    const outcome = expectKind(await cluster.finish(popped, 10_000_000), 'pop');
    expect(outcome.claims.map(({ deliveryAttempt }) => deliveryAttempt)).toEqual([1]);
    // What was given back for the first attempt is not what the second one has.
    const other = expectKind(await cluster.finish(cluster.pop(third)), 'pop');
    expect(other).toMatchObject({ claims: [], emptyReason: 'leased' });
  });

  test('finds the claim of a pop free that was made at the old leader', async () => {
    const cluster = await TestMembers.start();
    const old = cluster.leader;
    const [follower] = cluster.followers as [Member];
    await cluster.finish(cluster.push(old, 'a'));
    const popped = cluster.pop(follower);
    await cluster.time.pass(700);
    cluster.isolate(old);
    expect(delivered(follower, await cluster.finish(popped, 10_000_000))).toEqual([0]);
  });

  test('lets a waiting pop wait at the next leader', async () => {
    const cluster = await TestMembers.start();
    const old = cluster.leader;
    const [follower] = cluster.followers as [Member];
    const waiting = cluster.pop(follower, { waitUs: MINUTE_US });
    await cluster.time.pass(1_000_000);
    cluster.isolate(old);
    await cluster.time.pass(6_000_000);
    expect(statusOf(await cluster.finish(cluster.push(follower, 'a')))).toBe(0);
    expect(delivered(follower, await cluster.finish(waiting))).toEqual([0]);
  });

  test('lets the old leader look for the new one with what waited on it', async () => {
    const cluster = await TestMembers.start();
    const old = cluster.leader;
    const waiting = cluster.pop(old, { waitUs: MINUTE_US });
    await cluster.time.pass(1_000_000);
    cluster.isolate(old);
    await cluster.time.pass(6_000_000);
    cluster.heal(old);
    await cluster.time.pass(2_000_000);
    expect(statusOf(await cluster.finish(cluster.push(cluster.leader, 'a')))).toBe(0);
    expect(delivered(old, await cluster.finish(waiting))).toEqual([0]);
  });
});

describe('a client that leaves', () => {
  test('takes its pop with it: the message goes to the next one, at its first attempt', async () => {
    const cluster = await TestMembers.start();
    const [first, second] = cluster.followers as [Member, Member];
    const client = new AbortController();
    const left = cluster.pop(first, { waitUs: MINUTE_US, signal: client.signal });
    await cluster.time.pass(1_000_000);
    client.abort();
    expect(await cluster.finish(left.then(() => 'answered', codeOf))).toBe('timeout');
    await cluster.finish(cluster.push(first, 'a'));
    const outcome = expectKind(await cluster.finish(cluster.pop(second)), 'pop');
    expect(outcome.claims.map(({ deliveryAttempt }) => deliveryAttempt)).toEqual([1]);
  });

  test('gives a claim back whose answer crossed its leaving', async () => {
    const cluster = await TestMembers.start();
    const [first, second] = cluster.followers as [Member, Member];
    await cluster.finish(cluster.push(first, 'a'));
    const client = new AbortController();
    const left = cluster.pop(first, { signal: client.signal }).then(() => 'answered', codeOf);
    // There and back takes 400 µs and the commit as long: the answer is on its way.
    await cluster.time.pass(750);
    client.abort();
    expect(await cluster.finish(left)).toBe('timeout');
    const outcome = expectKind(await cluster.finish(cluster.pop(second)), 'pop');
    expect(outcome.claims.map(({ deliveryAttempt }) => deliveryAttempt)).toEqual([1]);
  });
});

describe('a member that stops', () => {
  test('hands over first and answers the pops of its clients', async () => {
    const cluster = await TestMembers.start();
    const old = cluster.leader;
    const waiting = cluster.pop(old, { waitUs: MINUTE_US });
    await cluster.time.pass(100_000);
    const handedOver = old.handOver();
    await cluster.finish(handedOver, 200_000);
    expect(old.local.isLeader).toBe(false);
    const { leader } = cluster;
    expect(leader).not.toBe(old);
    old.endPops();
    expect(expectKind(await cluster.finish(waiting), 'pop').claims).toEqual([]);
    await cluster.finish(old.stop());
    expect(statusOf(await cluster.finish(cluster.push(leader, 'a')))).toBe(0);
  });
});

describe('members', () => {
  test('are added as learners that catch up, promoted, and removed', async () => {
    const cluster = await TestMembers.start();
    const [follower] = cluster.followers as [Member];
    await cluster.finish(cluster.push(follower, 'a'));
    const { start } = await cluster.add(4, [1, 2, 3, 4], { isJoining: true });
    await cluster.time.pass(3_000_000);
    expect(cluster.member(4).local.raftStatus.lastIndex).toBe(0);
    const deadlineUs = cluster.time.monotonicUs() + MINUTE_US;
    const address = 'node-4:7400/node-4:6632';
    const add = { kind: 'addLearner', id: 4 as never, address } as const;
    expect(await cluster.finish(follower.admin.change(add, deadlineUs))).toMatchObject({
      ok: true,
    });
    await cluster.finish(start, 3_000_000);
    const promote = { kind: 'promote', id: 4 as never } as const;
    const promoted = follower.admin.change(promote, deadlineUs);
    expect(await cluster.finish(promoted)).toMatchObject({ ok: true });
    expect(statusOf(await cluster.finish(cluster.push(cluster.member(4), 'b')))).toBe(0);
    const view = follower.admin.leaderView(deadlineUs);
    const { members } = await cluster.finish(view);
    expect(members.map(({ nodeId, role, raft }) => [nodeId, role, raft]).at(-1)).toEqual([
      4,
      'voter',
      'node-4:7400',
    ]);
    const remove = { kind: 'remove', id: 4 as never } as const;
    const removed = cluster.member(4).admin.change(remove, deadlineUs);
    expect(await cluster.finish(removed)).toMatchObject({ ok: true });
    expect(cluster.failures).toEqual([]);
  });

  test('are told when their disk was replaced, and are not counted', async () => {
    const cluster = await TestMembers.start();
    const [follower] = cluster.followers as [Member];
    const id = Number(follower.local.raftStatus.id);
    await cluster.finish(follower.stop());
    await cluster.add(id, [1, 2, 3], { incarnation: 999 });
    await cluster.time.pass(5_000_000);
    expect(cluster.refused).toEqual([id]);
    expect(cluster.member(id).admin.view().isIdentityRefused).toBe(true);
  });
});
