// Reads by offset over an engine.

import { formatTimestampUs } from '@queen-ts/base';
import { partitionIdText } from '@queen-ts/protocol';
import { beforeEach, describe, expect, test } from 'vitest';
import { engineEdge } from '../testing/engine-edge.ts';
import type { EngineEdge } from '../testing/engine-edge.ts';
import { readCursor, writeCursor } from './page-cursor.ts';

let edge: EngineEdge;

beforeEach(() => {
  edge = engineEdge();
});

interface Fetched {
  readonly entries: readonly {
    readonly records: readonly { readonly offset: number }[];
    readonly highWatermark: number;
    readonly logStartOffset: number;
    readonly error?: string;
  }[];
}

async function fetchEntries(body: object): Promise<Fetched['entries']> {
  const answer = await edge.send('POST', '/api/v1/fetch', body);
  if (answer.status !== 200) throw new Error(answer.text);
  return (answer.body as Fetched).entries;
}

describe('a fetch', () => {
  test('returns records with their payloads as pushed, in the order of the contract', async () => {
    edge.driver.push({ queue: 'q', id: 'a"b', data: { n: 1 } });
    const first = formatTimestampUs(edge.driver.nowUs);
    const [minted] = edge.driver.push({ queue: 'q' });
    const second = formatTimestampUs(edge.driver.nowUs);
    const { text } = await edge.send('POST', '/api/v1/fetch', {
      entries: [{ queue: 'q', offset: 0 }],
    });
    expect(text).toBe(
      '{"entries":[{"queue":"q","partition":"Default","records":[' +
        String.raw`{"offset":0,"transactionId":"a\"b","payload":{"n":1},"ts":"${first}"},` +
        `{"offset":1,"transactionId":"${minted?.messageId}","payload":null,"ts":"${second}"}],` +
        '"highWatermark":2,"logStartOffset":0}]}',
    );
    expect(edge.broker.reads).toMatchObject([{ from: 'node' }]);
  });

  test('tells each entry what is wrong with it', async () => {
    edge.driver.configure('q', { maxWaitTimeSeconds: 5 });
    edge.driver.push({ queue: 'q', partition: '7' });
    edge.driver.wait(10);
    edge.driver.push({ queue: 'q', partition: '7' });
    edge.driver.cycle(() => edge.driver.engine.planRetention(10));
    const at = (offset: number): object => ({ queue: 'q', partition: 7, offset });
    const entries = [
      { queue: 'x', offset: 0 },
      at(0),
      at(1),
      at(2),
      at(3),
      { queue: 'q', offset: 4 },
    ];
    const found = await fetchEntries({ entries });
    expect(found.map(({ error }) => error)).toEqual([
      'UNKNOWN_TOPIC_OR_PARTITION',
      'OFFSET_OUT_OF_RANGE',
      undefined,
      undefined,
      'OFFSET_OUT_OF_RANGE',
      undefined,
    ]);
    expect(found.map(({ records }) => records.length)).toEqual([0, 0, 1, 0, 0, 0]);
    expect(found[1]).toMatchObject({ highWatermark: 2, logStartOffset: 1 });
    expect(found[5]).toMatchObject({ highWatermark: 0, logStartOffset: 0 });
  });

  test('is bounded by the bytes of an entry, but for the first record', async () => {
    for (let i = 0; i < 4; i += 1) edge.driver.push({ queue: 'q', data: 'x'.repeat(400) });
    const [small] = await fetchEntries({ entries: [{ queue: 'q', offset: 1, maxBytes: 1 }] });
    expect(small?.records.map(({ offset }) => offset)).toEqual([1]);
    const [large] = await fetchEntries({ entries: [{ queue: 'q', offset: 0, maxBytes: 1800 }] });
    expect(large?.records.map(({ offset }) => offset)).toEqual([0, 1]);
  });

  test('waits for messages and reads again', async () => {
    edge.driver.push({ queue: 'q', id: 'a' });
    edge.broker.onWait = (marks, { waitUs }) => {
      expect(marks).toEqual([{ partition: 1, highWatermark: 1 }]);
      expect(waitUs).toBe(5_000_000);
      // Acks share this room: a fetch that waits must not keep any.
      expect(edge.edge.controlBudget.usedBytes).toBe(0);
      edge.driver.push({ queue: 'q', id: 'b' });
      return true;
    };
    const [entry] = await fetchEntries({ entries: [{ queue: 'q', offset: 1 }], maxWaitMs: 5000 });
    expect(entry?.records.map(({ offset }) => offset)).toEqual([1]);
    expect(edge.broker.waits).toHaveLength(1);
  });

  test('answers with what it has when nothing comes', async () => {
    edge.driver.push({ queue: 'q' });
    edge.broker.onWait = () => false;
    const options = { maxWaitMs: 5000, minBytes: 100_000 };
    const [entry] = await fetchEntries({ entries: [{ queue: 'q', offset: 0 }], ...options });
    expect(entry?.records).toHaveLength(1);
    expect(edge.broker.reads).toHaveLength(1);
  });

  test('waits until there are bytes enough, and not at all for an error', async () => {
    edge.driver.push({ queue: 'q' });
    edge.broker.onWait = () => {
      edge.driver.push({ queue: 'q', data: 'x'.repeat(2000) });
      return true;
    };
    const options = { maxWaitMs: 5000, minBytes: 1000 };
    const [entry] = await fetchEntries({ entries: [{ queue: 'q', offset: 0 }], ...options });
    expect(entry?.records).toHaveLength(2);
    await fetchEntries({ entries: [{ queue: 'x', offset: 0 }], ...options });
    expect(edge.broker.waits).toHaveLength(1);
  });

  test.each([
    ['{"entries":[{"queue":"q","offset":-1}]}'],
    ['{"entries":[{"queue":"q"}]}'],
    ['{"entries":[{"offset":0}]}'],
    ['{}'],
    ['no'],
  ])('refuses %s', async (body) => {
    expect((await edge.send('POST', '/api/v1/fetch', body)).status).toBe(400);
  });

  test('refuses too many entries', async () => {
    const entries = Array.from({ length: 1025 }, () => ({ queue: 'q', offset: 0 }));
    const { status, text } = await edge.send('POST', '/api/v1/fetch', { entries });
    expect(status).toBe(400);
    expect(text).toContain('too many entries');
  });
});

describe('offsets by time', () => {
  test('are those of the first append at or after it', async () => {
    edge.driver.push([{ queue: 'q' }, { queue: 'q' }]);
    const first = edge.driver.nowUs;
    edge.driver.wait(10);
    edge.driver.push({ queue: 'q' });
    const second = edge.driver.nowUs;
    const at = (timestamp: number | string): object => ({ queue: 'q', timestamp });
    const { body } = await edge.send('POST', '/api/v1/fetch/offsets', {
      entries: [at(0), at(formatTimestampUs(first + 1)), at(2 ** 42), { queue: 'x', timestamp: 0 }],
    });
    const bounds = { highWatermark: 3, logStartOffset: 0 };
    const own = { queue: 'q', partition: 'Default' };
    expect(body).toEqual({
      entries: [
        { ...own, offset: 0, ts: formatTimestampUs(first), ...bounds },
        { ...own, offset: 2, ts: formatTimestampUs(second), ...bounds },
        { ...own, offset: null, ts: null, ...bounds },
        {
          queue: 'x',
          partition: 'Default',
          offset: null,
          ts: null,
          highWatermark: 0,
          logStartOffset: 0,
          error: 'UNKNOWN_TOPIC_OR_PARTITION',
        },
      ],
    });
  });

  test.each(['"soon"', '-1', 'null'])('refuse the time %s', async (timestamp) => {
    const body = `{"entries":[{"queue":"q","timestamp":${timestamp}}]}`;
    expect((await edge.send('POST', '/api/v1/fetch/offsets', body)).status).toBe(400);
  });
});

describe('changed partitions', () => {
  interface Changed {
    readonly safeTime: string;
    readonly entries: readonly {
      readonly partitions: readonly { readonly name: string }[];
      readonly next: string | null;
    }[];
  }

  const changed = async (entry: object): Promise<Changed> => {
    const answer = await edge.send('POST', '/api/v1/partitions/changed', { entries: [entry] });
    return answer.body as Changed;
  };

  test('come in pages in the order of their creation', async () => {
    for (const partition of ['c', 'a', 'b']) edge.driver.push({ queue: 'q', partition });
    const written = formatTimestampUs(edge.driver.nowUs);
    const first = await changed({ queue: 'q', limit: 2 });
    expect(first.entries[0]?.partitions.map(({ name }) => name)).toEqual(['c', 'a']);
    const next = first.entries[0]?.next;
    expect(await changed({ queue: 'q', limit: 2, after: next })).toEqual({
      safeTime: written,
      safeTimeDegraded: false,
      entries: [
        {
          queue: 'q',
          partitions: [
            {
              id: partitionIdText(3),
              name: 'b',
              lastOffset: 0,
              logStart: 0,
              lastWriteAt: written,
            },
          ],
          next: null,
        },
      ],
    });
  });

  test('are those written since an instant', async () => {
    for (const partition of ['a', 'b']) edge.driver.push({ queue: 'q', partition });
    const { safeTime } = await changed({ queue: 'q' });
    edge.driver.push({ queue: 'q', partition: 'a' });
    const since = formatTimestampUs(edge.driver.nowUs);
    const { entries } = await changed({ queue: 'q', since });
    expect(entries[0]?.partitions.map(({ name }) => name)).toEqual(['a']);
    expect(safeTime < since).toBe(true);
  });

  test('tell each entry what is wrong with it', async () => {
    edge.driver.push({ queue: 'q' });
    expect((await changed({ queue: 'x' })).entries).toEqual([
      { queue: 'x', error: 'UNKNOWN_TOPIC_OR_PARTITION' },
    ]);
    expect((await changed({ queue: 'q', after: 'nowhere' })).entries).toEqual([
      { queue: 'q', error: 'BAD_CURSOR' },
    ]);
    const body = { entries: [{ queue: 'q', since: 'soon' }] };
    expect((await edge.send('POST', '/api/v1/partitions/changed', body)).status).toBe(400);
  });
});

test('a cursor is read as it was written, and nothing else is one', () => {
  for (const number of [0, 1, 35, 36, 2 ** 32 - 1]) {
    expect(readCursor(writeCursor(number))).toBe(number);
  }
  for (const text of ['', 'p1.', 'p1.zzzzzzz', 'p2.1', 'p1.A', '12']) {
    expect(readCursor(text)).toBeUndefined();
  }
});
