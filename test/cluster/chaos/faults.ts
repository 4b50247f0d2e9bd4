// The faults of a chaos run. Each begins, lasts for a while, ends, and says whether it happened.

import { randomBelow } from '@queen-ts/base';
import type { Rng } from '@queen-ts/base';
import type { ChaosCluster } from './cluster.ts';

/** One kind of fault. */
export interface Fault {
  readonly name: string;
  /**
   * Hurts the cluster, waits, undoes it. Resolves with whether it happened as meant, or throws where
   * the cluster did what it must not: exit with the wrong code, fail to start.
   */
  inject(cluster: ChaosCluster, rng: Rng): Promise<boolean>;
}

const HOUR_MS = 3_600_000;
const SLOW_SYNC_MS = 300;

/** All of them, by name. */
export const FAULTS: readonly Fault[] = [
  {
    name: 'kill leader',
    inject: async (cluster) => withLeader(cluster, (it) => crash(cluster, [it])),
  },
  {
    name: 'kill follower',
    inject: async (cluster, rng) => crash(cluster, [await follower(cluster, rng)]),
  },
  { name: 'kill all', inject: async (cluster) => crash(cluster, cluster.members) },
  {
    name: 'suspend leader 5 s',
    inject: async (cluster) => withLeader(cluster, (it) => suspend(cluster, it, 5000)),
  },
  {
    name: 'suspend any 30 s',
    inject: async (cluster, rng) => suspend(cluster, anyOf(cluster.members, rng), 30_000),
  },
  {
    name: 'isolate leader',
    inject: async (cluster) =>
      withLeader(cluster, (it) => partition(cluster, [[it, others(cluster, it)]])),
  },
  {
    name: 'leader deaf',
    inject: async (cluster) =>
      withLeader(cluster, (it) => oneWay(cluster, others(cluster, it), [it])),
  },
  {
    name: 'leader mute',
    inject: async (cluster) =>
      withLeader(cluster, (it) => oneWay(cluster, [it], others(cluster, it))),
  },
  {
    name: 'bridge',
    // Two members do not hear each other, the third hears both.
    inject: async (cluster, rng) => {
      const [a, b] = others(cluster, anyOf(cluster.members, rng));
      return partition(cluster, [[a ?? 0, [b ?? 0]]]);
    },
  },
  {
    name: 'slow disk of leader',
    inject: async (cluster) => withLeader(cluster, (it) => slowDisk(cluster, it)),
  },
  {
    name: 'clock +1 h',
    inject: async (cluster, rng) => clock(cluster, anyOf(cluster.members, rng), HOUR_MS),
  },
  {
    name: 'clock -1 h of leader',
    inject: async (cluster) => withLeader(cluster, (it) => clock(cluster, it, -HOUR_MS)),
  },
  { name: 'rolling restart', inject: rollingRestart },
];

async function crash(cluster: ChaosCluster, victims: readonly number[]): Promise<boolean> {
  await Promise.all(victims.map((member) => cluster.kill(member)));
  await sleep(1500);
  await Promise.all(victims.map((member) => cluster.start(member)));
  return true;
}

async function suspend(cluster: ChaosCluster, member: number, ms: number): Promise<boolean> {
  cluster.suspend(member);
  await sleep(ms);
  cluster.resume(member);
  return true;
}

async function partition(
  { links }: ChaosCluster,
  pairs: readonly (readonly [number, readonly number[]])[],
): Promise<boolean> {
  const before = links.droppedChunks;
  for (const [member, cutOff] of pairs) links.separate([member], cutOff);
  await sleep(6000);
  links.heal();
  return links.droppedChunks > before;
}

async function oneWay(
  { links }: ChaosCluster,
  from: readonly number[],
  to: readonly number[],
): Promise<boolean> {
  const before = links.droppedChunks;
  for (const sender of from) for (const receiver of to) links.block(sender, receiver);
  await sleep(6000);
  links.heal();
  return links.droppedChunks > before;
}

async function slowDisk(cluster: ChaosCluster, member: number): Promise<boolean> {
  await cluster.setSyncDelay(member, SLOW_SYNC_MS);
  await sleep(6000);
  await cluster.setSyncDelay(member, 0);
  return true;
}

async function clock(cluster: ChaosCluster, member: number, offsetMs: number): Promise<boolean> {
  await cluster.setClockOffset(member, offsetMs);
  await sleep(5000);
  await cluster.setClockOffset(member, 0);
  return true;
}

async function rollingRestart(cluster: ChaosCluster): Promise<boolean> {
  for (const member of cluster.members) {
    const code = await cluster.terminate(member);
    if (code !== 0) throw new Error(`member ${member} exits with ${code} after SIGTERM`);
    await cluster.start(member);
    await cluster.healthy();
  }
  return true;
}

/** Without a leader a fault of the leader does not happen. */
async function withLeader(
  cluster: ChaosCluster,
  inject: (leader: number) => Promise<boolean>,
): Promise<boolean> {
  const leader = await cluster.leader();
  return leader === undefined ? false : inject(leader);
}

async function follower(cluster: ChaosCluster, rng: Rng): Promise<number> {
  const leader = await cluster.leader();
  return anyOf(
    cluster.members.filter((member) => member !== leader),
    rng,
  );
}

function others({ members }: ChaosCluster, member: number): readonly number[] {
  return members.filter((other) => other !== member);
}

function anyOf(members: readonly number[], rng: Rng): number {
  return members[randomBelow(rng, members.length)] ?? 0;
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
