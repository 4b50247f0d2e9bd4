// §11 of the reference: reads by offset and the map of partitions.

import { expect } from 'vitest';
import { rule, uncheckedRule } from '../rule.ts';
import type { Rule, Section } from '../rule.ts';
import { expectError, expectKeys, MICROSECONDS, payloads, UUID } from '../scene.ts';
import type { Json, Scene } from '../scene.ts';
import { VERBATIM_TEXT } from '../verbatim.ts';

interface Entry extends Json {
  readonly records: readonly Json[];
}

async function fetchEntry(scene: Scene, entry: Json = {}, rest: Json = {}): Promise<Entry> {
  const body = { entries: [{ queue: scene.queue, offset: 0, ...entry }], ...rest };
  const { entries } = await scene.post<{ entries: Entry[] }>('/fetch', body);
  expect(entries).toHaveLength(1);
  return entries[0] as Entry;
}

async function offsetAt(scene: Scene, timestamp: unknown, rest: Json = {}): Promise<Json> {
  const body = { entries: [{ queue: scene.queue, timestamp, ...rest }] };
  const { entries } = await scene.post<{ entries: Json[] }>('/fetch/offsets', body);
  return entries[0] as Json;
}

interface Changed extends Json {
  readonly safeTime: string;
  readonly entries: readonly (Json & { readonly partitions: readonly Json[] })[];
}

async function changed(scene: Scene, entry: Json = {}): Promise<Changed> {
  return scene.post<Changed>('/partitions/changed', {
    entries: [{ queue: scene.queue, ...entry }],
  });
}

const BAD_BODIES = ['', '{}', '{"entries":7}', '{"entries":[7]}', '{"entries":[{}]}'];

const common: readonly Rule[] = ['/fetch', '/fetch/offsets', '/partitions/changed'].flatMap(
  (path) => [
    ...BAD_BODIES.map((body) =>
      rule(`§11 ${path} refuses the body ${JSON.stringify(body)}`, async (scene) => {
        expectError(await scene.text(path, body), 400);
      }),
    ),
    rule(`§11 ${path} refuses more than 1024 entries`, async (scene) => {
      const entries = Array(1025).fill({ queue: scene.queue, offset: 0, timestamp: 0 });
      const answer = await scene.send('POST', path, { entries });
      expect(expectError(answer, 400)['error']).toMatch(/too many entries/);
    }),
    rule(`§11 ${path} answers no entries with none`, async (scene) => {
      expect(await scene.post(path, { entries: [] })).toMatchObject({ entries: [] });
    }),
    rule(`§11 ${path} reports an unknown queue in its entry`, async (scene) => {
      const entries = [{ queue: scene.queue, offset: 0, timestamp: 0 }];
      expect(await scene.post(path, { entries })).toMatchObject({
        entries: [{ queue: scene.queue, error: 'UNKNOWN_TOPIC_OR_PARTITION' }],
      });
    }),
    rule(`§11 ${path} creates nothing`, async (scene) => {
      await scene.post(path, { entries: [{ queue: scene.queue, offset: 0, timestamp: 0 }] });
      expect(await scene.client.queueRow(scene.queue)).toBeUndefined();
    }),
  ],
);

const fetching: readonly Rule[] = [
  rule('§11.1 the answer has its keys in order', async (scene) => {
    await scene.fill(1);
    const entry = await fetchEntry(scene);
    expectKeys(entry, 'queue partition records highWatermark logStartOffset');
    expectKeys(entry.records[0], 'offset transactionId payload ts');
  }),
  rule('§11.1 records come from the offset on', async (scene) => {
    await scene.fill(5);
    const { records } = await fetchEntry(scene, { offset: 2 });
    expect(records.map(({ offset }) => offset)).toEqual([2, 3, 4]);
  }),
  rule('§11.1 highWatermark is the next offset', async (scene) => {
    await scene.fill(5);
    expect(await fetchEntry(scene)).toMatchObject({ highWatermark: 5, logStartOffset: 0 });
  }),
  rule('§11.1 ts is the stamp of the append, in microseconds', async (scene) => {
    await scene.fill(1);
    const { records } = await fetchEntry(scene);
    expect(records[0]?.['ts']).toMatch(MICROSECONDS);
    expect((await scene.claim()).messages[0]?.createdAt).toBe(records[0]?.['ts']);
  }),
  rule('§11.1 payloads come byte by byte', async (scene) => {
    await scene.text('/push', `{"items":[{"queue":"${scene.queue}","payload":${VERBATIM_TEXT}}]}`);
    const body = JSON.stringify({ entries: [{ queue: scene.queue, offset: 0 }] });
    expect((await scene.text('/fetch', body)).text).toContain(`"payload":${VERBATIM_TEXT},"ts":`);
  }),
  rule('§11.1 an absent partition is Default', async (scene) => {
    await scene.fill(1);
    expect(await fetchEntry(scene)).toMatchObject({ partition: 'Default' });
  }),
  rule('§11.1 a partition that is a number is its decimal spelling', async (scene) => {
    await scene.fill(1, { partition: '7' });
    const entry = await fetchEntry(scene, { partition: 7 });
    expect(entry['partition']).toBe('7');
    expect(entry.records).toHaveLength(1);
  }),
  rule('§11.1 entries are answered one by one, in order', async (scene) => {
    for (const partition of ['a', 'b']) await scene.fill(1, { partition });
    const names = ['b', 'none', 'a'];
    const { entries } = await scene.post<{ entries: Entry[] }>('/fetch', {
      entries: names.map((partition) => ({ queue: scene.queue, partition, offset: 0 })),
    });
    expect(entries.map((entry) => [entry['partition'], entry.records.length])).toEqual([
      ['b', 1],
      ['none', 0],
      ['a', 1],
    ]);
  }),
  rule('§11.1 a negative offset is a 400', async (scene) => {
    const body = { entries: [{ queue: scene.queue, offset: -1 }] };
    expectError(await scene.send('POST', '/fetch', body), 400);
  }),
  rule('§11.1 maxBytes bounds the records, the first always comes', async (scene) => {
    await scene.push(['x'.repeat(5_000), 'y'.repeat(5_000)]);
    for (const maxBytes of [1, 0, -5, 100]) {
      expect((await fetchEntry(scene, { maxBytes })).records).toHaveLength(1);
    }
  }),
  rule('§11.1 maxBytes is 1 MiB by default', async (scene) => {
    await scene.push(Array(4).fill('x'.repeat(400_000)));
    const { records } = await fetchEntry(scene);
    expect(records.length).toBeGreaterThanOrEqual(2);
    expect(records.length).toBeLessThanOrEqual(3);
  }),
  rule('§11.1 an offset above the high watermark is out of range', async (scene) => {
    await scene.fill(1);
    expect(await fetchEntry(scene, { offset: 2 })).toMatchObject({
      records: [],
      highWatermark: 1,
      error: 'OFFSET_OUT_OF_RANGE',
    });
  }),
  rule('§11.1 an offset at the high watermark is empty, no error', async (scene) => {
    await scene.fill(1);
    const entry = await fetchEntry(scene, { offset: 1 });
    expect(entry.records).toEqual([]);
    expect(entry).not.toHaveProperty('error');
  }),
  rule('§11.1 an unwritten partition is 0/0 without an error', async (scene) => {
    await scene.configure({});
    const entry = await fetchEntry(scene, { partition: 'p' });
    expect(entry).toMatchObject({ records: [], highWatermark: 0, logStartOffset: 0 });
    expect(entry).not.toHaveProperty('error');
  }),
  rule('§11.1 an entry with an error has its key at the end', async (scene) => {
    await scene.fill(1);
    const entry = await fetchEntry(scene, { offset: 5 });
    expectKeys(entry, 'queue partition records highWatermark logStartOffset error');
  }),
  rule('§11.1 maxWaitMs holds until something comes', async (scene) => {
    await scene.configure({});
    const waiting = fetchEntry(scene, {}, { maxWaitMs: 8_000 });
    await scene.fill(1);
    expect((await waiting).records).toHaveLength(1);
  }),
  rule('§11.1 maxWaitMs ends with what there is', async (scene) => {
    await scene.configure({});
    const startedAt = performance.now();
    expect((await fetchEntry(scene, {}, { maxWaitMs: 400 })).records).toEqual([]);
    expect(performance.now() - startedAt).toBeGreaterThan(300);
  }),
  rule('§11.1 minBytes holds for more than one record', async (scene) => {
    await scene.fill(1);
    const waiting = fetchEntry(scene, {}, { maxWaitMs: 8_000, minBytes: 2_000 });
    await scene.push(['x'.repeat(4_000)], { transactionId: null });
    expect((await waiting).records).toHaveLength(2);
  }),
  rule('§11.1 an entry error ends the wait', async (scene) => {
    const startedAt = performance.now();
    await fetchEntry(scene, {}, { maxWaitMs: 20_000 });
    expect(performance.now() - startedAt).toBeLessThan(8_000);
  }),
  rule('§11.1 a fetch takes nothing', async (scene) => {
    await scene.fill(2);
    await fetchEntry(scene);
    expect(payloads(await scene.claim())).toEqual([0, 1]);
  }),
  rule('§11.1 a fetch reads consumed messages too', async (scene) => {
    await scene.fill(2);
    await scene.claim({ autoAck: true });
    expect((await fetchEntry(scene)).records).toHaveLength(2);
  }),
  uncheckedRule('§11.1 at most 10,000 records', 'costs too much for a shared broker'),
];

const byTime: readonly Rule[] = [
  rule('§11.2 the answer has its keys in order', async (scene) => {
    await scene.fill(1);
    expectKeys(await offsetAt(scene, 0), 'queue partition offset ts highWatermark logStartOffset');
  }),
  rule('§11.2 a time before the log is its first offset', async (scene) => {
    await scene.fill(2);
    expect(await offsetAt(scene, 0)).toMatchObject({ offset: 0, highWatermark: 2 });
  }),
  rule('§11.2 a time after the log is null', async (scene) => {
    await scene.fill(1);
    const entry = await offsetAt(scene, '2099-01-01T00:00:00Z');
    expect(entry).toMatchObject({ offset: null, ts: null, highWatermark: 1 });
  }),
  rule('§11.2 the stamp of an append finds its first offset', async (scene) => {
    for (let i = 0; i < 3; i += 1) await scene.push([i, i], { transactionId: null });
    const { records } = await fetchEntry(scene);
    const entry = await offsetAt(scene, records[3]?.['ts']);
    expect(entry).toMatchObject({ offset: 2, ts: records[3]?.['ts'] });
  }),
  rule('§11.2 a time may be epoch milliseconds', async (scene) => {
    await scene.fill(1);
    expect(await offsetAt(scene, Date.now() + 3_600_000)).toMatchObject({ offset: null });
  }),
  rule('§11.2 an unwritten partition is null', async (scene) => {
    await scene.fill(1);
    expect(await offsetAt(scene, 0, { partition: 'none' })).toMatchObject({
      offset: null,
      ts: null,
      highWatermark: 0,
    });
  }),
  ...[-1, 1.5, 'soon', null, true].map((timestamp) =>
    rule(`§11.2 the time ${JSON.stringify(timestamp)} is a 400`, async (scene) => {
      const body = { entries: [{ queue: scene.queue, timestamp }] };
      expectError(await scene.send('POST', '/fetch/offsets', body), 400);
    }),
  ),
];

const map: readonly Rule[] = [
  rule('§11.3 the answer has its keys in order', async (scene) => {
    await scene.fill(1);
    const body = await changed(scene);
    expectKeys(body, 'safeTime safeTimeDegraded entries');
    expectKeys(body.entries[0], 'queue partitions next');
    expectKeys(body.entries[0]?.partitions[0], 'id name lastOffset logStart lastWriteAt');
  }),
  rule('§11.3 a partition says where it is', async (scene) => {
    await scene.fill(3);
    const [partition] = (await changed(scene)).entries[0]?.partitions ?? [];
    expect(partition).toMatchObject({ name: 'Default', lastOffset: 2, logStart: 0 });
    expect(partition?.['id']).toMatch(UUID);
    expect(partition?.['lastWriteAt']).toMatch(MICROSECONDS);
  }),
  rule('§11.3 safeTime has microseconds and is not degraded', async (scene) => {
    const body = await changed(scene);
    expect(body.safeTime).toMatch(MICROSECONDS);
    expect(body['safeTimeDegraded']).toBe(false);
  }),
  rule('§11.3 safeTime is at or after every append that was answered', async (scene) => {
    await scene.fill(1);
    const body = await changed(scene);
    const lastWriteAt = String(body.entries[0]?.partitions[0]?.['lastWriteAt']);
    expect(body.safeTime >= lastWriteAt).toBe(true);
  }),
  rule('§11.3 partitions come in the order of their creation', async (scene) => {
    for (const partition of ['b', 'c', 'a']) await scene.fill(1, { partition });
    const names = (await changed(scene)).entries[0]?.partitions.map(({ name }) => name);
    expect(names).toEqual(['b', 'c', 'a']);
  }),
  rule('§11.3 limit cuts a page, next goes on, null ends', async (scene) => {
    for (const partition of ['a', 'b', 'c']) await scene.fill(1, { partition });
    const [one] = (await changed(scene, { limit: 2 })).entries;
    expect(one?.partitions.map(({ name }) => name)).toEqual(['a', 'b']);
    expect(one?.['next']).toEqual(expect.any(String));
    const [two] = (await changed(scene, { limit: 2, after: one?.['next'] })).entries;
    expect(two?.partitions.map(({ name }) => name)).toEqual(['c']);
    expect(two?.['next']).toBeNull();
  }),
  rule('§11.3 since leaves out what was written before', async (scene) => {
    await scene.fill(1, { partition: 'old' });
    const since = (await changed(scene)).safeTime;
    await scene.fill(1, { partition: 'new' });
    const [entry] = (await changed(scene, { since })).entries;
    const later = entry?.partitions.filter((row) => String(row['lastWriteAt']) > since);
    expect(later?.map(({ name }) => name)).toEqual(['new']);
  }),
  rule('§11.3 since in the future leaves out everything', async (scene) => {
    await scene.fill(1);
    const [entry] = (await changed(scene, { since: '2099-01-01T00:00:00Z' })).entries;
    expect(entry).toMatchObject({ partitions: [], next: null });
  }),
  rule('§11.3 since that is no time is a 400', async (scene) => {
    const body = { entries: [{ queue: scene.queue, since: 'soon' }] };
    expectError(await scene.send('POST', '/partitions/changed', body), 400);
  }),
  rule('§11.3 a cursor that is none is BAD_CURSOR in its entry', async (scene) => {
    await scene.fill(1);
    expect(await changed(scene, { after: 'nonsense' })).toMatchObject({
      entries: [{ error: 'BAD_CURSOR' }],
    });
  }),
];

/** §11. */
export const FETCH: Section = {
  title: '11 fetch and partition map',
  rules: [...common, ...fetching, ...byTime, ...map],
};
