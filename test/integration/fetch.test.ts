// Reads by offset over HTTP: records, waiting for them, offsets by time, changed partitions.

import { beforeEach, describe, expect, it } from 'vitest';
import { within } from '../support/eventually.ts';
import { expectJson } from '../support/http-client.ts';
import { useBroker } from '../support/use-broker.ts';

const broker = useBroker();

let queue = '';

interface Entry {
  readonly records: readonly {
    offset: number;
    transactionId: string;
    payload: unknown;
    ts: string;
  }[];
  readonly highWatermark: number;
  readonly logStartOffset: number;
  readonly error?: string;
}

async function post<T>(path: string, value: unknown): Promise<T> {
  return expectJson<T>(await broker.client.post(`/api/v1/${path}`, value), 200);
}

async function fetchFrom(offset: number, options: object = {}): Promise<Entry> {
  const body = { entries: [{ queue, offset }], ...options };
  const [entry] = (await post<{ entries: Entry[] }>('fetch', body)).entries;
  return entry as Entry;
}

async function push(count: number, partition = 'Default'): Promise<void> {
  const items = Array.from({ length: count }, (_, i) => ({ queue, partition, payload: i }));
  await broker.client.push(items);
}

beforeEach(() => {
  queue = broker.queueName();
});

describe('fetching', () => {
  it('reads all records in order and takes none away', async () => {
    for (let i = 0; i < 5; i += 1) await push(3);
    const seen: number[] = [];
    for (let offset = 0; offset < 15;) {
      const entry = await fetchFrom(offset, { maxWaitMs: 0 });
      seen.push(...entry.records.map((record) => record.offset));
      offset = (entry.records.at(-1)?.offset ?? 14) + 1;
    }
    expect(seen).toEqual(Array.from({ length: 15 }, (_, i) => i));
    expect((await broker.client.pop(queue))?.messages).toHaveLength(15);
  });

  it('returns payloads as they were pushed', async () => {
    const payload = '{ "n": 1.50, "s":"\\u00e4" }';
    await broker.client.request('POST', '/api/v1/push', {
      body: `{"items":[{"queue":"${queue}","payload":${payload}}]}`,
    });
    const { text } = await broker.client.post('/api/v1/fetch', { entries: [{ queue, offset: 0 }] });
    expect(text).toContain(`"payload":${payload},"ts":"`);
  });

  it('waits for the next push', async () => {
    await push(1);
    const waiting = fetchFrom(1, { maxWaitMs: 20_000 });
    await push(1);
    const entry = await within('the waiting fetch', waiting, 5000);
    expect(entry.records.map(({ offset }) => offset)).toEqual([1]);
  });

  it('waits for the first push to a partition of a queue that exists', async () => {
    await broker.client.configure(queue, {});
    const waiting = fetchFrom(0, { maxWaitMs: 20_000 });
    await push(1);
    const entry = await within('the waiting fetch', waiting, 5000);
    expect(entry.records).toHaveLength(1);
  });

  it('comes back empty when its time is over, and at once for an error', async () => {
    await push(1);
    const empty = await within('an empty fetch', fetchFrom(1, { maxWaitMs: 300 }), 5000);
    expect(empty).toMatchObject({ records: [], highWatermark: 1, logStartOffset: 0 });
    const wrong = await within('a wrong fetch', fetchFrom(9, { maxWaitMs: 20_000 }), 5000);
    expect(wrong.error).toBe('OFFSET_OUT_OF_RANGE');
    queue = 'nothing-of-that-name';
    expect((await fetchFrom(0)).error).toBe('UNKNOWN_TOPIC_OR_PARTITION');
  });

  it('comes back with what there is when the broker stops', async () => {
    await push(1);
    const waiting = fetchFrom(0, { maxWaitMs: 20_000, minBytes: 1_000_000 });
    await push(1);
    const stopped = broker.process.terminate();
    const entry = await within('the waiting fetch', waiting, 5000);
    expect(entry.records.length).toBeGreaterThan(0);
    expect(await stopped).toMatchObject({ code: 0 });
    await broker.process.start();
  });

  it('reads large records one by one when they are asked for little', async () => {
    const item = { queue, payload: 'x'.repeat(100_000) };
    await broker.client.push([item, item, item]);
    const body = { entries: [{ queue, offset: 0, maxBytes: 150_000 }] };
    const [entry] = (await post<{ entries: Entry[] }>('fetch', body)).entries;
    expect(entry?.records.map(({ offset }) => offset)).toEqual([0]);
  });
});

describe('offsets by time', () => {
  it('find the append of every record', async () => {
    for (let i = 0; i < 5; i += 1) await push(2);
    const { records } = await fetchFrom(0);
    const entries = records.map(({ ts }) => ({ queue, timestamp: ts }));
    const found = await post<{ entries: { offset: number; ts: string }[] }>('fetch/offsets', {
      entries,
    });
    expect(found.entries.map(({ offset }) => offset)).toEqual([0, 0, 2, 2, 4, 4, 6, 6, 8, 8]);
    expect(found.entries.map(({ ts }) => ts)).toEqual(records.map(({ ts }) => ts));
  });
});

describe('changed partitions', () => {
  interface Changed {
    readonly safeTime: string;
    readonly entries: readonly {
      readonly partitions: readonly { readonly name: string; readonly lastWriteAt: string }[];
      readonly next: string | null;
    }[];
  }

  it('are all partitions, then those that were written after the safe time', async () => {
    for (let i = 0; i < 25; i += 1) await push(1, `p${i}`);
    const names: string[] = [];
    let after: string | null = '';
    let safeTime = '';
    while (after !== null) {
      const changed: Changed = await post<Changed>('partitions/changed', {
        entries: [{ queue, limit: 10, after }],
      });
      names.push(...(changed.entries[0]?.partitions.map(({ name }) => name) ?? []));
      safeTime ||= changed.safeTime;
      after = changed.entries[0]?.next ?? null;
    }
    expect(names).toEqual(Array.from({ length: 25 }, (_, i) => `p${i}`));
    await push(1, 'p7');
    const later = await post<Changed>('partitions/changed', {
      entries: [{ queue, since: safeTime }],
    });
    const changed = later.entries[0]?.partitions ?? [];
    expect(changed.filter(({ lastWriteAt }) => lastWriteAt > safeTime)).toMatchObject([
      { name: 'p7' },
    ]);
    expect(later.safeTime > safeTime).toBe(true);
  });
});
