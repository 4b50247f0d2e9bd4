// When a checkpoint is begun, when it may be finished, and what ends it.

import { ENGINE_LIMITS_DEFAULT, EngineRestorer } from '@queen-ts/engine';
import { EngineDriver } from '@queen-ts/engine/testing';
import { MemoryCheckpointStore } from '@queen-ts/raft/testing';
import type { CheckpointWriter, Entry } from '@queen-ts/raft';
import { describe, expect, it } from 'vitest';
import { CheckpointJob } from './checkpoint-job.ts';
import { BROKER_LIMITS_DEFAULT } from './limits.ts';
import { ManualTime } from './testing/manual-scheduler.ts';

const MEMBERSHIP = Uint8Array.of(1, 2, 3);
const LOG_BYTES_MIN = 10_000;

/** A job on an engine of some size, at a log that is ahead of what is committed. */
class Fixture {
  readonly time = new ManualTime();
  readonly driver = new EngineDriver();
  readonly store = new MemoryCheckpointStore(() => 3);
  readonly failures: unknown[] = [];
  readonly job: CheckpointJob;
  /** Time that passes with each look at the clock, in microseconds. */
  stepUs = 0;
  #skewUs = 0;
  plannedIndex = 10;
  committedIndex = 5;

  constructor({ hasMembers = true } = {}) {
    const membership = hasMembers ? MEMBERSHIP : undefined;
    this.driver.checksRows = false;
    for (let i = 0; i < 300; i += 1)
      this.driver.push({ queue: 'q', partition: `p${i}`, id: `${i}` });
    this.job = new CheckpointJob(
      {
        store: this.store,
        clock: {
          wallUs: () => this.time.wallUs(),
          monotonicUs: () => this.time.monotonicUs() + (this.#skewUs += this.stepUs),
        },
        scheduler: this.time,
        limits: {
          ...BROKER_LIMITS_DEFAULT,
          checkpointLogBytesMin: LOG_BYTES_MIN,
          checkpointStopBytesMin: 1000,
        },
        source: () => ({ engine: this.driver.engine, index: this.plannedIndex }),
        onFailure: (error) => this.failures.push(error),
      },
      { committedIndex: this.committedIndex, membership, grownBytes: 0 },
    );
  }

  /** Commits entries of this size each, up to `index`. */
  commit(index: number, bytes: number, type: Entry['type'] = 'command'): void {
    while (this.committedIndex < index) {
      this.committedIndex += 1;
      const head = new Uint8Array(bytes);
      const entry = { term: 3, index: this.committedIndex, type, head, payload: new Uint8Array(0) };
      this.job.committed(entry);
    }
  }

  async turn(): Promise<void> {
    this.job.poll();
    await this.time.settle();
  }
}

describe('a checkpoint', () => {
  it('is begun when the log has grown enough, and again after as much', async () => {
    const fixture = new Fixture();
    fixture.commit(9, 2000);
    await fixture.turn();
    expect(fixture.store.begunTotal).toBe(0);
    fixture.commit(10, 2000);
    await fixture.turn();
    expect(fixture.store.indexes).toEqual([10]);
    fixture.commit(12, 4000);
    fixture.plannedIndex = 12;
    await fixture.turn();
    expect(fixture.store.begunTotal).toBe(1);
    // More than the least, because the checkpoint itself is larger.
    expect(fixture.store.newest!.sizeBytes).toBeGreaterThan(LOG_BYTES_MIN);
    fixture.commit(15, 5000);
    fixture.plannedIndex = 15;
    await fixture.turn();
    expect(fixture.store.indexes).toEqual([10, 15]);
    expect(fixture.failures).toEqual([]);
  });

  it('is told of: how many, how large, how long, how old, and what is not covered', async () => {
    const fixture = new Fixture();
    const none = { finishedTotal: 0, droppedTotal: 0, failedTotal: 0, ageUs: undefined };
    expect(fixture.job.status).toMatchObject({ ...none, sizeBytes: 0, uncoveredBytes: 0 });
    fixture.commit(7, 6000);
    const { uncoveredBytes } = fixture.job.status;
    expect(uncoveredBytes).toBeGreaterThanOrEqual(12_000);
    await fixture.turn();
    expect(fixture.job.status.uncoveredBytes).toBe(uncoveredBytes);
    fixture.job.leadershipLost(9);
    await fixture.time.settle();
    expect(fixture.job.status).toMatchObject({ ...none, droppedTotal: 1, uncoveredBytes });
    fixture.job.poll();
    await fixture.time.pass(5_000_000);
    fixture.commit(10, 1);
    await fixture.time.settle();
    await fixture.time.pass(2_000_000);
    const { durationUs, ageUs, ...status } = fixture.job.status;
    expect(status).toMatchObject({ finishedTotal: 1, droppedTotal: 1 });
    expect(status.sizeBytes).toBe(fixture.store.newest?.sizeBytes);
    expect(durationUs).toBeGreaterThanOrEqual(5_000_000);
    expect(ageUs).toBeGreaterThanOrEqual(2_000_000);
    expect(ageUs).toBeLessThan(durationUs);
  });

  it('rests after one as long as encoding took, times a factor', async () => {
    const fixture = new Fixture();
    fixture.stepUs = 1000;
    fixture.commit(10, 9000);
    await fixture.turn();
    fixture.stepUs = 0;
    expect(fixture.store.indexes).toEqual([10]);
    fixture.plannedIndex = 12;
    fixture.commit(12, 90_000);
    await fixture.turn();
    expect(fixture.store.begunTotal).toBe(1);
    await fixture.time.pass(100_000);
    await fixture.turn();
    expect(fixture.store.indexes).toEqual([10, 12]);
  });

  it('holds the frozen state, described by what was committed at its index', async () => {
    const fixture = new Fixture();
    const { driver, store } = fixture;
    const digest = driver.engine.digest();
    fixture.commit(8, 5000);
    fixture.job.poll();
    driver.push({ queue: 'later' });
    await fixture.time.settle();
    expect(store.indexes).toEqual([]);
    fixture.commit(9, 10, 'membership');
    fixture.commit(12, 10);
    fixture.commit(13, 99, 'membership');
    await fixture.time.settle();
    expect(store.indexes).toEqual([10]);
    const { payloads } = driver;
    const restorer = new EngineRestorer({ payloads, limits: ENGINE_LIMITS_DEFAULT });
    const loaded = await store.load({ begin: () => {}, piece: (bytes) => restorer.accept(bytes) });
    expect(restorer.finish().digest()).toBe(digest);
    expect(loaded?.meta).toMatchObject({ index: 10, digest, membership: new Uint8Array(10) });
    expect(driver.engine.digest()).not.toBe(digest);
    driver.engine.freeze().release();
  });

  it('is dropped when the leadership ends before its index commits, and begun anew', async () => {
    const fixture = new Fixture();
    const { store, job } = fixture;
    fixture.commit(7, 6000);
    await fixture.turn();
    expect(store.begunTotal).toBe(1);
    job.leadershipLost(9);
    await fixture.time.settle();
    expect(store.indexes).toEqual([]);
    // Another leader's entry at that index is no reason to finish it.
    fixture.commit(10, 1);
    await fixture.time.settle();
    expect(store.indexes).toEqual([]);
    await fixture.turn();
    expect([store.begunTotal, ...store.indexes]).toEqual([2, 10]);
    expect(fixture.failures).toEqual([]);
  });

  it('goes on when the leadership ends after its index has committed', async () => {
    const fixture = new Fixture();
    fixture.commit(10, 6000);
    fixture.job.poll();
    fixture.job.leadershipLost(10);
    await fixture.time.settle();
    expect(fixture.store.indexes).toEqual([10]);
  });

  it('waits for an identity and for members to be known', async () => {
    const fixture = new Fixture({ hasMembers: false });
    fixture.commit(9, 9000);
    await fixture.turn();
    expect(fixture.store.begunTotal).toBe(0);
    fixture.commit(10, 10, 'membership');
    await fixture.turn();
    expect(fixture.store.indexes).toEqual([10]);
  });

  it('that cannot be written is a failure of the node', async () => {
    const fixture = new Fixture();
    fixture.commit(10, 9000);
    fixture.job.poll();
    await Promise.resolve();
    fixture.store.failWrites();
    await fixture.time.settle();
    expect(String(fixture.failures[0])).toContain('an earlier write failed');
    expect(fixture.store.indexes).toEqual([]);
  });
});

describe('stopping', () => {
  async function stop(fixture: Fixture): Promise<void> {
    const stopped = fixture.job.stop(fixture.time.monotonicUs() + 1_000_000);
    await fixture.time.settle();
    await stopped;
  }

  it('takes a checkpoint if there is enough to replay, and none after that', async () => {
    const little = new Fixture();
    little.commit(10, 10);
    await stop(little);
    expect(little.store.begunTotal).toBe(0);

    const much = new Fixture();
    much.commit(10, 1000);
    await stop(much);
    expect(much.store.indexes).toEqual([10]);
    much.commit(11, 99_000);
    await much.turn();
    expect(much.store.begunTotal).toBe(1);
  });

  it('takes none of a state that is not committed, and drops one', async () => {
    const ahead = new Fixture();
    ahead.commit(9, 1000);
    await stop(ahead);
    expect(ahead.store.begunTotal).toBe(0);

    const running = new Fixture();
    running.commit(9, 9000);
    await running.turn();
    expect(running.store.begunTotal).toBe(1);
    await stop(running);
    expect(running.store.indexes).toEqual([]);
  });

  it('gives up in time when the disk does not answer', async () => {
    const fixture = new Fixture();
    fixture.commit(10, 1000);
    const writer: CheckpointWriter = {
      write: () => new Promise<void>(() => {}),
      finish: () => new Promise<void>(() => {}),
      abandon: () => new Promise<void>(() => {}),
    };
    fixture.store.begin = () => Promise.resolve(writer);
    let isStopped = false;
    const stopped = fixture.job.stop(fixture.time.monotonicUs() + 1_000_000).then(() => {
      isStopped = true;
    });
    await fixture.time.pass(900_000);
    expect(isStopped).toBe(false);
    await fixture.time.pass(200_000);
    await stopped;
  });
});
