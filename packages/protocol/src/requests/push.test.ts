import { hash128, SeededRng } from '@queen-ts/base';
import { describe, expect, it } from 'vitest';
import { MINTED_TXN, PUSH_GROUP, PUSH_ITEM } from '../commands.ts';
import type { PushCommand } from '../commands.ts';
import { DEFAULT_TENANT, PUSH_ITEMS_MAX } from '../limits.ts';
import type { Refused } from '../outcomes.ts';
import { PushItems } from './push-items.ts';
import { parsePush } from './push.ts';
import type { NothingToPush, PushContext } from './push.ts';

const ENCODER = new TextEncoder();
const DECODER = new TextDecoder('utf-8', { fatal: true });
const HASH_KEY = Uint32Array.of(11, 22, 33, 44);

/** Shared on purpose: nothing of one request may show in the next. */
const scratch = new PushItems();

function parse(
  body: string | Uint8Array,
  change: Partial<PushContext> = {},
): PushCommand | Refused | NothingToPush {
  return parsePush(typeof body === 'string' ? ENCODER.encode(body) : body, {
    hashKey: HASH_KEY,
    mintIds: () => [1, 2, 3, 4],
    producerSub: null,
    tenant: DEFAULT_TENANT,
    scratch,
    ...change,
  });
}

function push(body: string, change: Partial<PushContext> = {}): PushCommand {
  const parsed = parse(body, change);
  if (parsed.kind !== 'push') throw new Error(`not a push: ${JSON.stringify(parsed)}`);
  return parsed;
}

function refusal(body: string | Uint8Array): string {
  const parsed = parse(body);
  return parsed.kind === 'refused' ? `${parsed.code}: ${parsed.message}` : parsed.kind;
}

interface Group {
  readonly queue: string;
  readonly partition: string;
  readonly items: readonly number[];
}

function groupsOf(command: PushCommand): Group[] {
  return Array.from({ length: command.groupColumns.length / PUSH_GROUP.WIDTH }, (_, group) => {
    const row = group * PUSH_GROUP.WIDTH;
    const column = (name: number): number => command.groupColumns[row + name]!;
    const nameStart = column(PUSH_GROUP.NAME_START);
    const orderStart = column(PUSH_GROUP.ORDER_START);
    return {
      queue: command.queues[column(PUSH_GROUP.QUEUE)]!,
      partition: DECODER.decode(
        command.text.subarray(nameStart, nameStart + column(PUSH_GROUP.NAME_LENGTH)),
      ),
      items: [...command.order.subarray(orderStart, orderStart + column(PUSH_GROUP.ORDER_COUNT))],
    };
  });
}

interface Item {
  readonly payload: string;
  /** Undefined when minted. */
  readonly txn: string | undefined;
  readonly first: number;
}

function itemsOf(command: PushCommand): Item[] {
  return Array.from({ length: command.itemCount }, (_, position) => {
    const row = position * PUSH_ITEM.WIDTH;
    const column = (name: number): number => command.itemColumns[row + name]!;
    const cut = (bytes: Uint8Array, start: number, size: number): string =>
      DECODER.decode(bytes.subarray(start, start + size));
    const txnSize = column(PUSH_ITEM.TXN_LENGTH);
    return {
      payload: cut(command.body, column(PUSH_ITEM.PAYLOAD_START), column(PUSH_ITEM.PAYLOAD_LENGTH)),
      txn:
        txnSize === MINTED_TXN
          ? undefined
          : cut(command.text, column(PUSH_ITEM.TXN_START), txnSize),
      first: column(PUSH_ITEM.FIRST_POSITION),
    };
  });
}

describe('parsePush', () => {
  it('keeps payloads as they were spelled', () => {
    const payloads = [
      '{"n":9007199254740993,"x":1.0}',
      '{"a":1,"a":2,"__proto__":{"b":1}}',
      '[ 1 ,\n2 ]',
      '"\\ud800 \\u00e4 ä"',
      'null',
      '-0',
      '['.repeat(10_000) + ']'.repeat(10_000),
    ];
    const command = push(
      `{"items":[${payloads.map((payload) => `{"queue":"q","payload": ${payload} }`).join(' , ')}]}`,
    );
    expect(itemsOf(command).map((item) => item.payload)).toEqual(payloads);
  });

  it('groups by queue and partition in first-seen order, request order inside a group', () => {
    const items = [
      { queue: 'b', partition: 'x', payload: 0 },
      { queue: 'a', payload: 1 },
      { queue: 'b', partition: 'x', payload: 2 },
      { queue: 'b', partition: 'Default', payload: 3 },
      { queue: 'a', partition: null, payload: 4 },
      { queue: 'a', partition: '', payload: 5 },
      { queue: 'b', partition: 'x', payload: 6 },
      { queue: 'a', partition: 'Default', payload: 7 },
    ];
    const command = push(JSON.stringify({ items }));
    expect(command.queues).toEqual(['b', 'a']);
    expect(groupsOf(command)).toEqual([
      { queue: 'b', partition: 'x', items: [0, 2, 6] },
      { queue: 'a', partition: 'Default', items: [1, 4, 5, 7] },
      { queue: 'b', partition: 'Default', items: [3] },
    ]);
    expect(itemsOf(command).every((item, position) => item.first === position)).toBe(true);
  });

  it('treats escaped and plain spellings of names and keys as equal', () => {
    const command = push(
      String.raw`{"\u0069tems":[{"queue":"ä","partition":"p\u0031","pay\u006coad":1,` +
        String.raw`"transactionId":"t\n"},{"queue":"\u00e4","partition":"p1","payload":2,` +
        String.raw`"transactionId":"t\u000a"}]}`,
    );
    expect(groupsOf(command)).toEqual([{ queue: 'ä', partition: 'p1', items: [0, 1] }]);
    expect(itemsOf(command)).toEqual([
      { payload: '1', txn: 't\n', first: 0 },
      { payload: '2', txn: 't\n', first: 0 },
    ]);
  });

  it('finds repeats inside the request by queue, partition and transaction id', () => {
    const items = [
      { queue: 'q', transactionId: 't', payload: 0 },
      { queue: 'q', partition: 'p', transactionId: 't', payload: 1 },
      { queue: 'q', transactionId: 't', payload: 2 },
      { queue: 'q', transactionId: null, payload: 3 },
      { queue: 'q', transactionId: '', payload: 4 },
      { queue: 'q', payload: 5 },
      { queue: 'q', transactionId: '', payload: 6 },
      { queue: 'r', transactionId: 't', payload: 7 },
    ];
    const command = push(JSON.stringify({ items }));
    expect(itemsOf(command).map((item) => item.first)).toEqual([0, 1, 0, 3, 4, 5, 4, 7]);
    expect(itemsOf(command).map((item) => item.txn)).toEqual([
      't',
      't',
      't',
      undefined,
      '',
      undefined,
      '',
      't',
    ]);
  });

  it('hashes transaction ids under the key and leaves minted ones zero', () => {
    const command = push(
      '{"items":[{"queue":"q","payload":1},{"queue":"q","payload":1,"transactionId":"ä"}]}',
    );
    const expected = new Uint32Array(4);
    hash128(HASH_KEY, ENCODER.encode('ä'), 0, 2, expected, 0);
    expect([...command.txnHashes]).toEqual([0, 0, 0, 0, ...expected]);
  });

  it('ignores unknown members and lets the last of repeated ones count', () => {
    const command = push(
      '{"items":"x","other":[{}],"items":[{"queue":7,"payload":1,"data":2,"__proto__":{},' +
        '"queue":"q","payload":[3],"transactionId":5,"transactionId":null}],"z":{"items":[]}}',
    );
    expect(groupsOf(command)).toEqual([{ queue: 'q', partition: 'Default', items: [0] }]);
    expect(itemsOf(command)).toEqual([{ payload: '[3]', txn: undefined, first: 0 }]);
    const twice = push('{"items":[{"queue":7}],"items":[{"queue":"r","payload":1}]}');
    expect(twice.queues).toEqual(['r']);
    expect(refusal('{"items":[{"queue":"q","payload":1}],"items":[]}')).toBe('nothing');
    expect(refusal('{"items":[{"queue":"q","payload":1}],"items":1}')).toMatch(/must be an array/);
  });

  it('mints as many ids as there are items and carries the producer', () => {
    const counts: number[] = [];
    const command = push('{"items":[{"queue":"q","payload":1},{"queue":"q","payload":2}]}', {
      producerSub: 'me',
      mintIds: (count) => {
        counts.push(count);
        return [9, 8, 7, 6];
      },
    });
    expect(counts).toEqual([2]);
    expect(command).toMatchObject({ idBase: [9, 8, 7, 6], producerSub: 'me' });
    expect(parse('{"items":[]}').kind).toBe('nothing');
  });

  it('agrees with JSON.parse and maps on random requests, with one scratch for all', () => {
    const rng = new SeededRng(12);
    const pick = (choices: readonly string[]): string => choices[rng.u32() % choices.length]!;
    for (let run = 0; run < 400; run++) {
      const raw = Array.from({ length: 1 + (rng.u32() % 150) }, (_, i) => {
        const fields = [
          `"queue":"${pick(['q', 'q', 'r', '\\u0071', 'ü'])}"`,
          `"payload":${pick(['1', '{"a":[]}', '"x"', '1.0'])}`,
        ];
        if (rng.u32() % 2)
          fields.push(`"partition":${pick(['null', '""', '"p"', '"\\u0070"', `"p${i}"`])}`);
        if (rng.u32() % 2)
          fields.push(`"transactionId":${pick(['null', '""', '"t"', '"\\t"', `"t${i % 7}"`])}`);
        return `{${rng.u32() % 2 ? fields.join(',') : fields.toReversed().join(' , ')}}`;
      });
      checkAgainstNaive(`{"items":[${raw.join(',')}]}`);
    }
  });
});

interface NaiveItem {
  readonly queue: string;
  readonly partition?: string | null;
  readonly transactionId?: string | null;
}

function checkAgainstNaive(body: string): void {
  const { items } = JSON.parse(body) as { items: NaiveItem[] };
  const groups = new Map<string, { queue: string; partition: string; items: number[] }>();
  const firsts = new Map<string, number>();
  const first = items.map((item, position) => {
    const partition = item.partition || 'Default';
    const key = JSON.stringify([item.queue, partition]);
    const group = groups.get(key) ?? { queue: item.queue, partition, items: [] };
    groups.set(key, group);
    group.items.push(position);
    if (typeof item.transactionId !== 'string') return position;
    const txnKey = JSON.stringify([key, item.transactionId]);
    if (!firsts.has(txnKey)) firsts.set(txnKey, position);
    return firsts.get(txnKey)!;
  });
  const command = push(body);
  expect(groupsOf(command)).toEqual([...groups.values()]);
  expect(itemsOf(command).map((item) => item.first)).toEqual(first);
  expect(itemsOf(command).map((item) => item.txn)).toEqual(
    items.map((item) => item.transactionId ?? undefined),
  );
}

describe('parsePush refuses', () => {
  it.each([
    ['', 'bad_body: the body is not valid JSON: expected a JSON value at byte 0'],
    ['\ufeff{"items":[]}', 'bad_body: the body is not valid JSON: expected a JSON value at byte 0'],
    ['{"items":[}', 'bad_body: the body is not valid JSON: expected a JSON value at byte 10'],
    [
      '{"items":[]} x',
      'bad_body: the body is not valid JSON: expected the end of the body at byte 13',
    ],
    ['[]', 'bad_body: the body must be an object: send {"items":[{"queue":"…","payload":…}]}'],
    ['[', 'bad_body: the body is not valid JSON: expected a JSON value at byte 1'],
    ['{}', 'bad_body: "items" is missing: send {"items":[{"queue":"…","payload":…}]}'],
    [
      '{"items":null}',
      'bad_body: "items" must be an array: send {"items":[{"queue":"…","payload":…}]}',
    ],
    ['{"items":[1]}', 'bad_body: items[0] must be an object with "queue" and "payload"'],
  ])('%j', (body, expected) => {
    expect(refusal(body)).toBe(expected);
  });

  const GOOD = '{"queue":"q","payload":1}';

  it.each([
    ['{"queue":"q"}', '.payload is missing: every item needs "payload" (any JSON value)'],
    ['{"queue":"q","data":1}', '.payload is missing: every item needs "payload" (any JSON value)'],
    ['{"payload":1}', '.queue is missing: every item needs "queue" (a non-empty string)'],
    ['{"payload":1,"queue":null}', '.queue must be a non-empty string'],
    ['{"payload":1,"queue":""}', '.queue must be a non-empty string'],
    ['{"payload":1,"queue":["q"]}', '.queue must be a non-empty string'],
    [
      '{"payload":1,"queue":"q","partition":4}',
      '.partition must be a string, or leave it out for "Default"',
    ],
    [
      '{"payload":1,"queue":"q","partition":false}',
      '.partition must be a string, or leave it out for "Default"',
    ],
    [
      '{"payload":1,"queue":"q","transactionId":4}',
      '.transactionId must be a string, or leave it out to have one minted',
    ],
    ['{"payload":1,"queue":"\\ud800"}', '.queue has an unpaired surrogate: send valid Unicode'],
    [
      '{"payload":1,"queue":"q","partition":"\\udc00"}',
      '.partition has an unpaired surrogate: send valid Unicode',
    ],
    [
      '{"payload":1,"queue":"q","transactionId":"\\ud800"}',
      '.transactionId has an unpaired surrogate: send valid Unicode',
    ],
  ])('an item %s, naming its position', (item, expected) => {
    expect(refusal(`{"items":[${GOOD},${GOOD},${item},{}]}`)).toBe(`bad_body: items[2]${expected}`);
  });

  it('the first invalid item, but malformed JSON after it first of all', () => {
    expect(refusal('{"items":[{},1,{"queue":1}]}')).toMatch(/^bad_body: items\[0\].payload/);
    expect(refusal('{"items":[{},1,{"queue":1]}')).toMatch(/not valid JSON/);
  });

  it('invalid UTF-8 anywhere', () => {
    const body = ENCODER.encode('{"items":[{"queue":"q","payload":"?"}]}');
    body[body.indexOf(0x3f)] = 0xff;
    expect(refusal(body)).toBe(
      'bad_body: the body is not valid JSON: expected valid UTF-8 at byte 34',
    );
  });

  it('transaction ids beyond 65,535 bytes of UTF-8', () => {
    const body = (txn: string): string =>
      JSON.stringify({ items: [{ queue: 'q', payload: 1, transactionId: txn }] });
    expect(refusal(body('x'.repeat(65_535)))).toBe('push');
    expect(refusal(body('ä'.repeat(32_768)))).toBe(
      'bad_request: items[0].transactionId has 65536 bytes: at most 65535 are allowed',
    );
  });

  it('names beyond the budget, naming the longest', () => {
    const body = (queue: number, partition: number): string =>
      JSON.stringify({
        items: [{ queue: 'q'.repeat(queue), partition: 'p'.repeat(partition), payload: 1 }],
      });
    expect(refusal(body(200, 211))).toBe('push');
    expect(refusal(body(200, 212))).toMatch(
      /^name_too_long: items\[0\]\.partition is too long: it has 212 bytes/,
    );
    expect(refusal(body(410, 2))).toMatch(/^name_too_long: items\[0\]\.queue is too long/);
    expect(parse(body(200, 212), { tenant: '' }).kind).toBe('push');
  });

  it('more items than one push may carry', { timeout: 60_000 }, () => {
    const item = '{"queue":"q","payload":1},';
    const body = (count: number): Uint8Array =>
      Buffer.concat([
        Buffer.from('{"items":['),
        Buffer.alloc(count * item.length - 1, item),
        Buffer.from(']}'),
      ]);
    const context = { scratch: new PushItems() };
    expect(parse(body(PUSH_ITEMS_MAX), context).kind).toBe('push');
    expect(parse(body(PUSH_ITEMS_MAX + 1), context)).toMatchObject({
      kind: 'refused',
      code: 'too_large',
    });
  });

  it('a token subject that does not fit a block', () => {
    const parsed = parse('{"items":[]}', { producerSub: 'x'.repeat(65_536) });
    expect(parsed).toMatchObject({ kind: 'refused', code: 'bad_request' });
  });
});
