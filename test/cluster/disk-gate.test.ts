// The disk of one follower is nearly full: no member takes messages, until it has room again or is gone.

import { cp, mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { MemoryDisk } from '../support/memory-disk.ts';
import { findObstacle, nameOrSkip } from '../support/mount.ts';
import { MemberCluster } from './harness/member-cluster.ts';

const MEBIBYTE = 1_048_576;
const DISK_BYTES = 128 * MEBIBYTE;
/** Longer than a report of a member that is gone counts. */
const DEADLINE_MS = 30_000;

const obstacle = await findObstacle('disk gate, no tmpfs', async (folder) => {
  await (await MemoryDisk.mount(folder, MEBIBYTE)).dispose();
});

let cluster: MemberCluster | undefined;
let disk: MemoryDisk | undefined;
let copy: string | undefined;

afterEach(async () => {
  for (const id of cluster?.members ?? []) await cluster?.kill(id);
  await disk?.dispose();
  await cluster?.dispose();
  if (copy !== undefined) await rm(copy, { recursive: true, force: true });
});

/** Starts a member anew with its data on a small disk of its own. */
async function moveToSmallDisk(members: MemberCluster, id: number): Promise<string> {
  const { dataDirectory } = members.member(id);
  await members.kill(id);
  copy = await mkdtemp(join(tmpdir(), 'queen-ts-copy-'));
  await cp(dataDirectory, copy, { recursive: true });
  disk = await MemoryDisk.mount(dataDirectory, DISK_BYTES);
  await cp(copy, dataDirectory, { recursive: true });
  await members.start(id);
  await members.healthy();
  return dataDirectory;
}

async function fill(path: string, sizeBytes: number): Promise<void> {
  const file = await open(path, 'w');
  const piece = Buffer.alloc(MEBIBYTE, 'x');
  for (let at = 0; at < sizeBytes; at += piece.length) await file.write(piece);
  await file.close();
}

async function untilPushesAre(members: MemberCluster, ids: readonly number[], status: number) {
  for (const id of ids) {
    const isSo = async (): Promise<boolean> => {
      const items = [{ queue: 'q', payload: 1 }];
      const answer = await members.member(id).client.post('/api/v1/push', { items });
      return answer.status === status;
    };
    await eventually(`pushes to member ${id} to be answered ${status}`, isSo, DEADLINE_MS);
  }
}

describe.skipIf(obstacle !== undefined)(nameOrSkip('a full disk of one follower', obstacle), () => {
  it('closes the cluster for messages, whoever is asked, while it is heard', async () => {
    const members = (cluster = await MemberCluster.found({ size: 3 }));
    const leader = await members.electedLeader();
    const small = members.members.find((id) => id !== leader) ?? 0;
    const others = members.members.filter((id) => id !== small);
    const filler = join(await moveToSmallDisk(members, small), 'filler');
    await untilPushesAre(members, members.members, 201);

    await fill(filler, DISK_BYTES * 0.85);
    await untilPushesAre(members, members.members, 507);
    for (const id of members.members) {
      const batch = await members.member(id).client.pop('q', { batch: 1, autoAck: true });
      expect(batch?.messages).toHaveLength(1);
    }
    await rm(filler);
    await untilPushesAre(members, members.members, 201);

    await fill(filler, DISK_BYTES * 0.85);
    await untilPushesAre(members, others, 507);
    await members.kill(small);
    await untilPushesAre(members, others, 201);
  });
});
