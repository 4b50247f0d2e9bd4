// §1 of the reference: POST /api/v1/push.

import { expect } from 'vitest';
import type { Verdict } from '../../support/wire.ts';
import { rule, uncheckedRule } from '../rule.ts';
import type { Rule, Section } from '../rule.ts';
import { expectError, expectKeys, first, payloads, UUID_V7 } from '../scene.ts';
import { VERBATIM } from '../verbatim.ts';

const GOOD = '{"queue":"$q","payload":1}';

const BAD_BODIES: readonly (readonly [string, string])[] = [
  ['empty', ''],
  ['text', 'hello'],
  ['an unfinished object', `{"items":[${GOOD}`],
  ['followed by something', `{"items":[${GOOD}]} x`],
  ['with a trailing comma', `{"items":[${GOOD},]}`],
  ['with a comment', `{"items":[/**/${GOOD}]}`],
  ['in single quotes', "{'items':[]}"],
  ['with a raw line break in a text', '{"items":[{"queue":"$q","payload":"a\nb"}]}'],
  ['with a bad escape', String.raw`{"items":[{"queue":"$q","payload":"\x41"}]}`],
  ['with a leading zero', '{"items":[{"queue":"$q","payload":01}]}'],
  ['with a bare fraction', '{"items":[{"queue":"$q","payload":.5}]}'],
  ['with NaN', '{"items":[{"queue":"$q","payload":NaN}]}'],
  ['with a byte order mark', `\ufeff{"items":[${GOOD}]}`],
  ['a list', `[${GOOD}]`],
  ['null', 'null'],
  ['without items', '{}'],
  ['with items null', '{"items":null}'],
  ['with items an object', `{"items":${GOOD}}`],
  ['with an item that is a text', `{"items":[${GOOD},"q"]}`],
  ['with an item that is null', `{"items":[${GOOD},null]}`],
  ['with an item without a queue', `{"items":[${GOOD},{"payload":1}]}`],
  ['with a queue that is a number', `{"items":[${GOOD},{"queue":7,"payload":1}]}`],
  ['with a queue that is null', `{"items":[${GOOD},{"queue":null,"payload":1}]}`],
  ['with an item without a payload', `{"items":[${GOOD},{"queue":"$q"}]}`],
  ['with data in place of payload', `{"items":[${GOOD},{"queue":"$q","data":1}]}`],
  ['with a partition that is a number', '{"items":[{"queue":"$q","partition":1,"payload":1}]}'],
  [
    'with a transaction id that is a number',
    '{"items":[{"queue":"$q","transactionId":1,"payload":1}]}',
  ],
];

const BAD_UTF8: readonly (readonly [string, readonly number[]])[] = [
  ['a lone 0xff', [0xff]],
  ['an overlong slash', [0xc0, 0xaf]],
  ['an encoded surrogate', [0xed, 0xa0, 0x80]],
  ['a code point above U+10FFFF', [0xf4, 0x90, 0x80, 0x80]],
  ['a truncated sequence', [0xe2]],
];

const items: readonly Rule[] = [
  rule('§1 a push to an unknown queue creates it', async (scene) => {
    await scene.fill(1);
    expect(await scene.client.queueRow(scene.queue)).toMatchObject({ partitions: 1 });
  }),
  rule('§1 a push to an unknown partition creates it', async (scene) => {
    await scene.fill(1, { partition: 'new' });
    expect(payloads(await scene.client.popPartition(scene.queue, 'new'))).toEqual([0]);
  }),
  ...(['', null, undefined] as const).map((partition) =>
    rule(`§1 partition ${JSON.stringify(partition) ?? 'absent'} is Default`, async (scene) => {
      const item = { queue: scene.queue, payload: 1, partition };
      await scene.post('/push', { items: [item] }, 201);
      expect((await scene.claim()).partition).toBe('Default');
    }),
  ),
  ...([null, undefined] as const).map((transactionId) =>
    rule(
      `§1 transactionId ${JSON.stringify(transactionId) ?? 'absent'} is the minted message id`,
      async (scene) => {
        const item = { queue: scene.queue, payload: 1, transactionId };
        const [verdict] = await scene.post<Verdict[]>('/push', { items: [item] }, 201);
        expect(verdict?.transaction_id).toBe(verdict?.message_id);
        expect(first(await scene.claim()).transactionId).toBe(verdict?.message_id);
      },
    ),
  ),
  rule('§1 the transaction id "" is taken literally', async (scene) => {
    await scene.fill(1, { transactionId: '' });
    expect(await scene.fill(1, { transactionId: '' })).toMatchObject([
      { transaction_id: '', status: 'duplicate' },
    ]);
  }),
  rule('§1 a transaction id of 65,535 bytes is taken', async (scene) => {
    const transactionId = 'x'.repeat(65_535);
    expect(await scene.fill(1, { transactionId })).toMatchObject([{ status: 'queued' }]);
    expect(first(await scene.claim()).transactionId).toBe(transactionId);
  }),
  rule('§1 a longer transaction id is 400 bad_request for the whole request', async (scene) => {
    const good = { queue: scene.queue, payload: 1 };
    const bad = { ...good, transactionId: 'x'.repeat(65_536) };
    expectError(await scene.send('POST', '/push', { items: [good, bad] }), 400, 'bad_request');
    expect(await scene.pop()).toBeUndefined();
  }),
  rule('§1 a trace id is accepted and dropped', async (scene) => {
    await scene.fill(1, { traceId: '0198f2c1-4d3a-7c10-9f2b-6a1e5d0c7b83' });
    expect(first(await scene.claim()).traceId).toBeNull();
  }),
  rule('§1 producerSub and messageId of an item are ignored', async (scene) => {
    const messageId = '0198f2c1-4d3a-7c10-9f2b-6a1e5d0c7b83';
    const item = { queue: scene.queue, payload: 1, producerSub: 'me', messageId };
    const [verdict] = await scene.post<Verdict[]>('/push', { items: [item] }, 201);
    expect(verdict?.message_id).not.toBe(messageId);
    expect(first(await scene.claim())).toMatchObject({ producerSub: null });
  }),
  rule('§1 snake_case spellings of fields are not accepted', async (scene) => {
    const item = { queue: scene.queue, payload: 1, transaction_id: 'mine' };
    const [verdict] = await scene.post<Verdict[]>('/push', { items: [item] }, 201);
    expect(verdict?.transaction_id).not.toBe('mine');
  }),
  ...[null, false, 0, '', {}, []].map((payload) =>
    rule(`§1 the payload may be ${JSON.stringify(payload)}`, async (scene) => {
      await scene.push([payload]);
      expect(payloads(await scene.claim())).toEqual([payload]);
    }),
  ),
  ...VERBATIM.map(([name, payload]) =>
    rule(`§1 a payload comes back byte by byte: ${name}`, async (scene) => {
      await scene.text('/push', `{"items":[{"queue":"${scene.queue}","payload":${payload}}]}`);
      const { text } = await scene.popAnswer(`/queue/${scene.queue}`);
      expect(text.includes(`"data":${payload},"producerSub"`)).toBe(true);
    }),
  ),
  rule('§1 blanks around a payload are not part of it', async (scene) => {
    await scene.text('/push', `{"items":[{"queue":"${scene.queue}","payload": \n [ 1 ]\t }]}`);
    const { text } = await scene.popAnswer(`/queue/${scene.queue}`);
    expect(text).toContain('"data":[ 1 ],"producerSub"');
  }),
  rule('§1 of a field that comes twice the last one counts', async (scene) => {
    await scene.text(
      '/push',
      `{"items":[{"queue":"${scene.name('x')}","queue":"${scene.queue}","payload":1,"payload":2}]}`,
    );
    expect(payloads(await scene.claim())).toEqual([2]);
  }),
  rule('§1 escaped field names are the same names', async (scene) => {
    const text = String.raw`{"\u0069tems":[{"qu\u0065ue":"${scene.queue}","payl\u006fad":5}]}`;
    expect((await scene.text('/push', text)).status).toBe(201);
    expect(payloads(await scene.claim())).toEqual([5]);
  }),
  rule('§1 a payload of 1 MiB comes back whole', async (scene) => {
    await scene.push(['x'.repeat(1_048_576)]);
    expect(String(first(await scene.claim()).data)).toHaveLength(1_048_576);
  }),
];

const processing: readonly Rule[] = [
  ...BAD_BODIES.map(([name, body]) =>
    rule(`§1.1 a body ${name} is a 400 that stores nothing`, async (scene) => {
      const answer = await scene.text('/push', body.replaceAll('$q', scene.queue));
      expect(expectError(answer, 400)['code']).toMatch(/^bad_(body|request)$/);
      expect(await scene.client.queueRow(scene.queue)).toBeUndefined();
    }),
  ),
  ...BAD_UTF8.map(([name, bytes]) =>
    rule(`§1.1 a body with ${name} is a 400 that stores nothing`, async (scene) => {
      const start = Buffer.from(`{"items":[{"queue":"${scene.queue}","payload":"`);
      const body = Buffer.concat([start, Buffer.from(bytes), Buffer.from('"}]}')]);
      expectError(await scene.text('/push', body), 400, 'bad_body');
      expect(await scene.client.queueRow(scene.queue)).toBeUndefined();
    }),
  ),
  rule('§1.1 empty items are 201 with []', async (scene) => {
    expect(await scene.send('POST', '/push', { items: [] })).toMatchObject({
      status: 201,
      text: '[]',
    });
  }),
  rule('§1.1 a repeat inside a request is a duplicate of the first', async (scene) => {
    const [leader, follower] = await scene.push([1, 2], { transactionId: 'same' });
    expect(leader).toMatchObject({ status: 'queued', offset: 0 });
    expect(follower).toMatchObject({
      index: 1,
      status: 'duplicate',
      message_id: leader?.message_id,
      offset: 0,
    });
    expect(payloads(await scene.claim())).toEqual([1]);
  }),
  rule('§1.1 repeats of one id in two partitions are two messages', async (scene) => {
    const item = { queue: scene.queue, payload: 1, transactionId: 'same' };
    const verdicts = await scene.client.push([
      { ...item, partition: 'a' },
      { ...item, partition: 'b' },
    ]);
    expect(verdicts.map(({ status }) => status)).toEqual(['queued', 'queued']);
  }),
  rule('§1.1 items of a partition get consecutive offsets in request order', async (scene) => {
    const partitions = ['a', 'b', 'a', 'b', 'a'];
    const verdicts = await scene.client.push(
      partitions.map((partition) => ({ queue: scene.queue, partition, payload: 1 })),
    );
    expect(verdicts.map(({ offset }) => offset)).toEqual([0, 0, 1, 1, 2]);
  }),
  rule('§1.1 one request may push to several queues', async (scene) => {
    const verdicts = await scene.client.push(
      ['a', 'b'].map((word) => ({ queue: scene.name(word), payload: word })),
    );
    expect(verdicts.map(({ queueName }) => queueName)).toEqual([scene.name('a'), scene.name('b')]);
  }),
  rule('§1.1 duplicates leave no gap in the offsets of the rest', async (scene) => {
    await scene.fill(1);
    const verdicts = await scene.fill(3);
    expect(verdicts.map(({ status, offset }) => [status, offset])).toEqual([
      ['duplicate', 0],
      ['queued', 1],
      ['queued', 2],
    ]);
  }),
  uncheckedRule(
    '§1.1 a retryable failure of a group fails the request with 503',
    'needs a failure',
  ),
  uncheckedRule('§1.1 a refused group marks its items error', 'needs a group above 96 MiB'),
];

const response: readonly Rule[] = [
  rule('§1.2 the status is 201', async (scene) => {
    const item = { queue: scene.queue, payload: 1 };
    expect((await scene.send('POST', '/push', { items: [item] })).status).toBe(201);
  }),
  rule('§1.2 a duplicate is 201 too', async (scene) => {
    await scene.fill(1);
    expect(await scene.fill(1)).toMatchObject([{ status: 'duplicate' }]);
  }),
  rule('§1.2 a verdict has its keys in order', async (scene) => {
    const [verdict] = await scene.fill(1);
    expectKeys(verdict, 'index message_id transaction_id queueName status offset');
  }),
  rule('§1.2 a duplicate has the same keys', async (scene) => {
    await scene.fill(1);
    const [verdict] = await scene.fill(1);
    expectKeys(verdict, 'index message_id transaction_id queueName status offset');
  }),
  rule('§1.2 there is one verdict per item, in request order', async (scene) => {
    const verdicts = await scene.fill(50);
    expect(verdicts.map(({ index }) => index)).toEqual([...Array(50).keys()]);
    expect(verdicts.map(({ transaction_id: id }) => id)).toEqual(
      Array.from({ length: 50 }, (_, i) => `t${i}`),
    );
  }),
  rule('§1.2 message ids of a request are distinct', async (scene) => {
    const ids = (await scene.fill(50)).map(({ message_id: id }) => id);
    expect(new Set(ids).size).toBe(50);
    expect(ids.every((id) => UUID_V7.test(id))).toBe(true);
  }),
  rule('§1.2 the message id is the one that a pop delivers', async (scene) => {
    const [verdict] = await scene.fill(1);
    expect(first(await scene.claim()).id).toBe(verdict?.message_id);
  }),
  rule('§1.2 the offset is the one that a pop delivers', async (scene) => {
    const verdicts = await scene.fill(3);
    const { messages } = await scene.claim();
    expect(messages.map(({ offset }) => offset)).toEqual(verdicts.map(({ offset }) => offset));
  }),
  uncheckedRule('§1.3 alternative encodings', 'not described by the reference'),
];

/** §1. */
export const PUSH: Section = { title: '1 push', rules: [...items, ...processing, ...response] };
