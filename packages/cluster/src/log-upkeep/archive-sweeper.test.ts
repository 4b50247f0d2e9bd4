// Dead records leave the archive, and nothing that any state refers to ever does: also not when a node has
// to start from the older of its checkpoints. Three brokers in virtual time on stores in memory.

import { randomBelow, SeededRng, UuidMinter } from '@queen-ts/base';
import { liveRanges } from '@queen-ts/engine';
import { popCommand, pushCommand } from '@queen-ts/engine/testing';
import type { EntryType } from '@queen-ts/raft';
import type { MemoryLogStore } from '@queen-ts/raft/testing';
import { describe, expect, it } from 'vitest';
import { TestCluster } from '../testing/test-cluster.ts';

const EAGER = {
  checkpointLogBytesMin: 4000,
  checkpointRestFactor: 0,
  retentionIntervalUs: 500_000,
};
const SHORT = {
  holdUs: 0,
  holdBytesMax: 8000,
  trailBytesMin: 2000,
  startMoveUs: 10_000,
  sweepPauseUs: 50_000,
  purgeRecordsMax: 8,
  reclaimBytesMin: 1000,
};
const HOUR_US = 3_600_000_000;

/** Every entry that was ever committed, so that what was purged can be judged, too. */
class History {
  readonly heads: {
    readonly index: number;
    readonly type: EntryType;
    readonly head: Uint8Array;
  }[] = [];

  observe(cluster: TestCluster): void {
    const { log } = cluster.disks.get(cluster.leader().id)!;
    const { commitIndex } = cluster.leader().broker.status();
    const from = (this.heads.at(-1)?.index ?? 0) + 1;
    if (commitIndex < from) return;
    const range = { from, toExclusive: commitIndex + 1, maxBytes: Infinity };
    for (const { index, type, head } of log.entries(range)) this.heads.push({ index, type, head });
  }

  /** Reads whatever the state of a node refers to; returns how much that is. */
  readAll(cluster: TestCluster, id: number): { live: number; dead: number } {
    const { log } = cluster.disks.get(id)!;
    const { state } = cluster.brokers.get(id)!.replica.engine;
    let live = 0;
    for (const entry of this.heads) {
      if (entry.type !== 'command') continue;
      const ranges = liveRanges(state, entry);
      for (const { from, toExclusive } of ranges) {
        const bytes = log.payload({ index: entry.index, from, toExclusive });
        expect(bytes.length).toBe(toExclusive - from);
      }
      live += ranges.length;
    }
    const dead = this.heads.filter(({ index }) => !isStored(log, index)).length;
    return { live, dead };
  }
}

function isStored(log: MemoryLogStore, index: number): boolean {
  return index >= log.firstIndex || log.archive.next(index, index + 1) !== undefined;
}

/** Pushes, pops and acks at random; queue `short` is emptied by retention, `long` is kept. */
async function work(cluster: TestCluster, rng: SeededRng, rounds: number, history: History) {
  const ids = new UuidMinter(cluster.time, rng);
  for (let round = 0; round < rounds; round += 1) {
    const { broker } = cluster.leader();
    const items = Array.from({ length: 1 + randomBelow(rng, 4) }, () => ({
      queue: randomBelow(rng, 10) === 0 ? 'long' : 'short',
      partition: `p-${randomBelow(rng, 4)}`,
      data: 'x'.repeat(randomBelow(rng, 400)),
    }));
    const push = pushCommand(items, { idBase: ids.mint(items.length), hashKey: broker.hashKey });
    const pop = popCommand({ queue: 'short', batch: 20, autoAck: true }, ids.mint(1));
    const { signal } = new AbortController();
    const answers = Promise.all([
      broker.submit(push, { deadlineUs: HOUR_US }),
      broker.pop(pop, { deadlineUs: HOUR_US, wait: false, signal }),
    ]);
    await cluster.time.pass(100_000);
    await answers;
    history.observe(cluster);
  }
}

async function configure(cluster: TestCluster): Promise<void> {
  const { broker } = cluster.leader();
  const options = { retentionEnabled: true, completedRetentionSeconds: 2 };
  const queueId = [1, 2, 3, 4] as const;
  const answer = broker.submit(
    { kind: 'configure', queue: 'short', mode: 'merge', options, queueId },
    { deadlineUs: HOUR_US },
  );
  await cluster.time.pass(500_000);
  await answer;
}

describe('the archive', () => {
  it('loses what is dead on every node, and nothing that is not', async () => {
    const cluster = await TestCluster.start(EAGER, SHORT);
    const history = new History();
    await configure(cluster);
    await work(cluster, new SeededRng(7), 150, history);
    await cluster.time.pass(2_000_000);
    for (const [id, broker] of cluster.brokers) {
      const { live, dead } = history.readAll(cluster, id);
      expect(live).toBeGreaterThan(10);
      expect(dead).toBeGreaterThan(50);
      const { purgedRecordsTotal, purgedBytesTotal, reclaimsTotal } = broker.status().log;
      expect(purgedRecordsTotal).toBe(dead);
      expect(purgedBytesTotal).toBeGreaterThan(10_000);
      expect(reclaimsTotal).toBeGreaterThan(0);
    }
    expect(cluster.failures).toEqual([]);
  });

  it('loses it while the log goes on, however far checkpoints are apart', async () => {
    const limits = { ...EAGER, checkpointLogBytesMin: 10_000 };
    const cluster = await TestCluster.start(limits, { ...SHORT, startMoveUs: 300_000 });
    const history = new History();
    await configure(cluster);
    await work(cluster, new SeededRng(9), 400, history);
    for (const id of cluster.brokers.keys()) {
      // All but what the last two checkpoints do not cover yet.
      const { live, dead } = history.readAll(cluster, id);
      expect(dead).toBeGreaterThan((history.heads.length - live) / 2);
    }
  });

  it('is whole for the older checkpoint, too, whenever a node loses the newest one', async () => {
    const cluster = await TestCluster.start(EAGER, SHORT);
    const history = new History();
    const rng = new SeededRng(11);
    await configure(cluster);
    for (let round = 0; round < 8; round += 1) {
      await work(cluster, rng, 25, history);
      const id = 1 + randomBelow(rng, 3);
      cluster.crash(id);
      const { checkpoints } = cluster.disks.get(id)!;
      if (checkpoints.indexes.length === 2) checkpoints.loseNewest();
      await cluster.restart(id);
      // What it started from, before it has caught up with anything.
      history.readAll(cluster, id);
      await cluster.time.pass(5_000_000);
      history.readAll(cluster, id);
    }
    const digests = [...cluster.brokers.values()].map(({ replica }) => replica.engine.digest());
    expect(new Set(digests).size).toBe(1);
    expect(cluster.failures).toEqual([]);
  });
});
