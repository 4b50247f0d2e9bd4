// Encryption at rest over three members: whoever receives a message seals it, also one that has not heard
// yet that its queue encrypts; whoever has the key delivers it.

import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MemberCluster } from './harness/member-cluster.ts';

const KEY = '0f'.repeat(32);
const OTHER_KEY = 'f0'.repeat(32);
const SECRET = 'the quick brown fox keeps a secret';
const QUEUES = 30;

let cluster: MemberCluster;

beforeAll(async () => {
  cluster = await MemberCluster.found({ size: 3, environment: { QUEEN_ENCRYPTION_KEY: KEY } });
});

afterAll(async () => {
  await cluster?.dispose();
});

/** How many files of a member hold a text. */
async function filesWith(id: number, text: string): Promise<number> {
  const { dataDirectory } = cluster.member(id);
  const entries = await readdir(dataDirectory, { recursive: true, withFileTypes: true });
  let count = 0;
  for (const entry of entries.filter((it) => it.isFile())) {
    if ((await readFile(join(entry.parentPath, entry.name))).includes(text)) count += 1;
  }
  return count;
}

describe('a cluster with a key', () => {
  it('stores nothing readable, whichever member is asked, and delivers through any', async () => {
    const leader = await cluster.electedLeader();
    const [one, two] = cluster.members.filter((id) => id !== leader) as [number, number];
    for (let i = 0; i < QUEUES; i += 1) {
      const queue = `vault-${i}`;
      await cluster.member(one).client.configure(queue, { encryptionEnabled: true });
      // It may not have applied the option yet.
      const [verdict] = await cluster.member(two).client.push([{ queue, payload: SECRET }]);
      expect(verdict?.status).toBe('queued');
    }
    await cluster.member(two).client.push([{ queue: 'open', payload: 'readable by everybody' }]);
    for (const id of cluster.members) {
      for (let i = 0; i < QUEUES; i += 1) {
        const batch = await cluster
          .member(id)
          .client.pop(`vault-${i}`, { consumerGroup: `g${id}` });
        expect(batch?.messages.map(({ data }) => data)).toEqual([SECRET]);
      }
    }
    const counts = await Promise.all(cluster.members.map((id) => filesWith(id, SECRET)));
    expect(counts).toEqual([0, 0, 0]);
    expect(await filesWith(leader, 'readable by everybody')).toBeGreaterThan(0);
  });

  it('delivers nothing through a member with another key, and loses nothing by that', async () => {
    const leader = await cluster.electedLeader();
    const [odd, other] = cluster.members.filter((id) => id !== leader) as [number, number];
    await cluster.member(other).client.configure('odd', { encryptionEnabled: true });
    await cluster.member(other).client.push([{ queue: 'odd', payload: SECRET }]);
    await cluster.kill(odd);
    await cluster.member(odd).spawn({ QUEEN_ENCRYPTION_KEY: OTHER_KEY });
    await cluster.healthy();
    const refused = await cluster.member(odd).client.popRaw('queue/odd', { consumerGroup: 'g' });
    expect(refused.status).toBe(503);
    expect(JSON.parse(refused.text)).toMatchObject({ code: 'encryption_key_mismatch' });
    const batch = await cluster
      .member(other)
      .client.pop('odd', { consumerGroup: 'g', wait: true, timeout: 10_000 });
    expect(batch?.messages).toMatchObject([{ data: SECRET, deliveryAttempt: 1 }]);
  });
});
