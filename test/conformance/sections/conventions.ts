// §0 of the reference: transport, identifiers, timestamps, the name budget, the error envelope.

import { expect } from 'vitest';
import { rule, uncheckedRule } from '../rule.ts';
import type { Check, Rule, Section } from '../rule.ts';
import {
  expectError,
  expectKeys,
  first,
  MICROSECONDS,
  MILLISECONDS,
  UUID,
  UUID_V7,
} from '../scene.ts';

/** With the default tenant's 36 bytes, two names share 447. */
const NAME_BYTES_LEFT = 411;

const KNOWN_PATHS: readonly (readonly [string, string])[] = [
  ['GET', '/push'],
  ['PUT', '/push'],
  ['DELETE', '/push'],
  ['POST', '/pop'],
  ['POST', '/pop/queue/q'],
  ['DELETE', '/pop/queue/q/partition/p'],
  ['GET', '/ack'],
  ['GET', '/ack/batch'],
  ['GET', '/lease/x/extend'],
  ['GET', '/transaction'],
  ['GET', '/configure'],
  ['POST', '/resources/queues'],
  ['GET', '/fetch'],
  ['GET', '/fetch/offsets'],
  ['GET', '/partitions/changed'],
  ['POST', '/dlq'],
];

const BAD_QUERIES = [
  'wait=1',
  'wait=TRUE',
  'autoAck=yes',
  'batch=1.5',
  'batch=x',
  'batch=3000000000',
];

const tooLong =
  (method: string, path: (name: string) => string, body?: (name: string) => unknown): Check =>
  async (scene) => {
    const name = `${scene.queue}${'n'.repeat(NAME_BYTES_LEFT)}`;
    expectError(await scene.send(method, path(name), body?.(name)), 413, 'name_too_long');
  };

const transport: readonly Rule[] = [
  rule('§0.1 answers with a body are application/json', async (scene) => {
    const answer = await scene.send('POST', '/push', { items: [] });
    expect(answer.headers['content-type']).toMatch(/^application\/json\b/);
  }),
  rule('§0.1 error answers are application/json', async (scene) => {
    const answer = await scene.text('/push', 'nonsense');
    expect(answer.headers['content-type']).toMatch(/^application\/json\b/);
  }),
  rule('§0.1 a 204 has neither body nor Content-Length nor Transfer-Encoding', async (scene) => {
    const answer = await scene.popAnswer(`/queue/${scene.queue}`);
    expect(answer).toMatchObject({ status: 204, text: '' });
    expect(answer.headers).not.toHaveProperty('content-length');
    expect(answer.headers).not.toHaveProperty('transfer-encoding');
  }),
  rule('§0.1 a JSON body is taken whatever its Content-Type says', async (scene) => {
    const body = JSON.stringify({ items: [{ queue: scene.queue, payload: 1 }] });
    const headers = { 'content-type': 'text/plain' };
    const answer = await scene.client.request('POST', '/api/v1/push', { body, headers });
    expect(answer.status).toBe(201);
  }),
  rule('§0.1 unknown fields of a body are ignored', async (scene) => {
    const item = { queue: scene.queue, payload: 1, colour: 'red' };
    expect(await scene.post('/push', { items: [item], more: {} }, 201)).toHaveLength(1);
  }),
  rule('§0.1 unknown query parameters are ignored', async (scene) => {
    await scene.fill(1);
    expect((await scene.claim({ colour: 'red', BATCH: 'x' })).messages).toHaveLength(1);
  }),
  rule('§0.1 query parameters are camelCase: snake_case ones are unknown', async (scene) => {
    await scene.fill(1);
    expect((await scene.claim({ consumer_group: 'x' })).consumerGroup).toBe('__QUEUE_MODE__');
  }),
  ...BAD_QUERIES.map((query) =>
    rule(`§0.1 a query parameter that does not deserialize is a 400: ${query}`, async (scene) => {
      const answer = await scene.send('GET', `/pop/queue/${scene.queue}?${query}`);
      expect(answer.status).toBe(400);
      expect(answer.text).toMatch(/\w/);
    }),
  ),
  rule('§0.1 the path segment of a queue is percent-decoded', async (scene) => {
    const queue = `${scene.queue}/a b%ä`;
    await scene.fill(1, { queue });
    const answer = await scene.popAnswer(`/queue/${encodeURIComponent(queue)}`);
    expect(JSON.parse(answer.text)).toMatchObject({ queue });
  }),
  rule('§0.1 the path segment of a partition is percent-decoded', async (scene) => {
    const partition = 'a/b c+%2F';
    await scene.fill(1, { partition });
    const path = `/queue/${scene.queue}/partition/${encodeURIComponent(partition)}`;
    expect(JSON.parse((await scene.popAnswer(path)).text)).toMatchObject({ partition });
  }),
  rule('§0.1 the path segment of a group is percent-decoded', async (scene) => {
    const group = `${scene.group}/ä b`;
    await scene.fill(1);
    await scene.claim({ consumerGroup: group });
    expect(await scene.get(`/consumer-groups/${encodeURIComponent(group)}`)).toHaveProperty([
      scene.queue,
    ]);
  }),
  rule('§0.1 the path segment of a transaction id is percent-decoded', async (scene) => {
    await scene.fill(1, { transactionId: 'x/y z' });
    const { partitionId } = await scene.claim();
    const message = await scene.get(`/messages/${partitionId}/x%2Fy%20z`);
    expect(message['transactionId']).toBe('x/y z');
  }),
  rule('§0.1 malformed percent-encoding is a 400', async (scene) => {
    expectError(await scene.popAnswer(`/queue/${scene.queue}%zz`), 400);
  }),
  ...['GET', 'POST', 'PUT', 'PATCH', 'DELETE'].map((method) =>
    rule(`§0.1 an unknown /api/ route is 404 no_such_route for ${method}`, async (scene) => {
      const path = `/${scene.queue}/nothing`;
      const body = expectError(await scene.send(method, `${path}?a=1`), 404, 'no_such_route');
      expectKeys(body, 'code error path');
      expect(body['path']).toBe(`/api/v1${path}`);
    }),
  ),
  rule('§0.1 an unknown /streams/ route is 404 no_such_route', async (scene) => {
    const answer = await scene.client.request('GET', '/streams/nothing');
    expectError(answer, 404, 'no_such_route');
  }),
  rule('§0.1 a trailing slash makes another route', async (scene) => {
    expectError(await scene.send('POST', '/push/', { items: [] }), 404, 'no_such_route');
  }),
  ...KNOWN_PATHS.map(([method, path]) =>
    rule(
      `§0.1 a method that a known path does not take is 405: ${method} ${path}`,
      async (scene) => {
        const answer = await scene.send(method, path);
        expectError(answer, 405, 'method_not_allowed');
        expect(answer.headers.allow).toMatch(/^[A-Z]+(, [A-Z]+)*$/);
      },
    ),
  ),
  rule('§0.1 the Allow header of a 405 lists what the path takes', async (scene) => {
    expect((await scene.send('GET', '/push')).headers.allow).toBe('POST');
  }),
  uncheckedRule(
    '§0.1 the body limit is QUEEN_MAX_BODY_BYTES, 64 MiB, else 413',
    'configuration; integration',
  ),
  uncheckedRule('§0.1 port 6632 and bind address', 'configuration; integration'),
  uncheckedRule('§0.1 any node answers, a follower prepares', 'needs a cluster'),
];

const identifiers: readonly Rule[] = [
  rule('§0.2 message ids are UUIDv7 texts', async (scene) => {
    expect((await scene.fill(1))[0]?.message_id).toMatch(UUID_V7);
  }),
  rule('§0.2 lease ids are UUIDv7 texts', async (scene) => {
    await scene.fill(1);
    expect((await scene.claim()).leaseId).toMatch(UUID_V7);
  }),
  rule('§0.2 dead letter ids are UUID texts', async (scene) => {
    await scene.fill(1);
    await scene.bury();
    expect((await scene.letters())[0]?.['id']).toMatch(UUID);
  }),
  rule('§0.2 queue ids are UUID texts', async (scene) => {
    expect((await scene.configure({}))['queueId']).toMatch(UUID);
  }),
  rule('§0.2 transaction call ids are UUIDv7 texts', async (scene) => {
    const push = { type: 'push', queue: scene.queue, payload: 1 };
    const done = await scene.post('/transaction', { operations: [push] });
    expect(done['transactionId']).toMatch(UUID_V7);
  }),
  rule('§0.2 the partition id is one UUID text everywhere', async (scene) => {
    await scene.fill(1);
    const { partitionId } = await scene.claim();
    const listed = await scene.get<{ messages: { partitionId: string }[] }>(
      `/messages?queue=${scene.queue}`,
    );
    const shown = await scene.get<{ partitions: { id: string }[] }>(
      `/resources/queues/${scene.queue}`,
    );
    expect(partitionId).toMatch(UUID);
    expect(listed.messages[0]?.partitionId).toBe(partitionId);
    expect(shown.partitions[0]?.id).toBe(partitionId);
  }),
  rule('§0.2 an ack also takes the decimal number of the partition', async (scene) => {
    await scene.fill(1);
    const batch = await scene.claim();
    const partitionId = String(Number.parseInt(batch.partitionId.slice(-12), 16));
    expect(await scene.ack(batch, [{ at: 0, partitionId }])).toMatchObject([{ success: true }]);
  }),
  rule('§0.2 offsets start at 0 and have no gaps', async (scene) => {
    await scene.fill(2, {});
    const more = await scene.push([2, 3], { transactionId: null });
    expect(more.map(({ offset }) => offset)).toEqual([2, 3]);
  }),
  rule('§0.2 offsets count per partition', async (scene) => {
    await scene.fill(3, { partition: 'a' });
    expect((await scene.fill(1, { partition: 'b' }))[0]?.offset).toBe(0);
  }),
  rule('§0.2 the group of a pop that names none is __QUEUE_MODE__', async (scene) => {
    await scene.fill(1);
    const batch = await scene.claim();
    expect([batch.consumerGroup, first(batch).consumerGroup]).toEqual(
      Array(2).fill('__QUEUE_MODE__'),
    );
  }),
  rule('§0.2 the partition of an item that names none is Default', async (scene) => {
    await scene.fill(1);
    expect((await scene.claim()).partition).toBe('Default');
  }),
  rule(
    '§0.2 a partition that is created again has another id and starts at offset 0',
    async (scene) => {
      await scene.fill(2);
      const before = await scene.claim();
      await scene.client.deleteQueue(scene.queue);
      expect((await scene.fill(1))[0]?.offset).toBe(0);
      expect((await scene.claim()).partitionId).not.toBe(before.partitionId);
    },
  ),
];

const timestamps: readonly Rule[] = [
  rule('§0.3 createdAt of a pop has microseconds and Z', async (scene) => {
    await scene.fill(1);
    expect(first(await scene.claim()).createdAt).toMatch(MICROSECONDS);
  }),
  rule('§0.3 the expiry of a lease has milliseconds and Z', async (scene) => {
    await scene.fill(1);
    const { leaseId } = await scene.claim();
    expect((await scene.client.extend(leaseId, 60)).newExpiresAt).toMatch(MILLISECONDS);
  }),
  rule('§0.3 createdAt of listed messages has microseconds and Z', async (scene) => {
    await scene.fill(1);
    const { messages } = await scene.get<{ messages: { createdAt: string }[] }>(
      `/messages?queue=${scene.queue}`,
    );
    expect(messages[0]?.createdAt).toMatch(MICROSECONDS);
  }),
  rule('§0.3 failedAt of a dead letter has microseconds and Z', async (scene) => {
    await scene.fill(1);
    await scene.bury();
    expect((await scene.letters())[0]?.['failedAt']).toMatch(MICROSECONDS);
  }),
  rule('§0.3 createdAt of a queue has microseconds and Z', async (scene) => {
    await scene.fill(1);
    expect((await scene.client.queueRow(scene.queue))?.createdAt).toMatch(MICROSECONDS);
  }),
  rule('§0.3 the messages of one push to one partition share createdAt', async (scene) => {
    await scene.fill(3);
    const stamps = (await scene.claim()).messages.map(({ createdAt }) => createdAt);
    expect(new Set(stamps).size).toBe(1);
  }),
  rule('§0.3 createdAt strictly increases from append to append', async (scene) => {
    for (let i = 0; i < 5; i += 1) await scene.push([i], { transactionId: null });
    const stamps = (await scene.claim()).messages.map(({ createdAt }) => createdAt);
    expect(stamps).toEqual([...new Set(stamps)].toSorted());
    expect(stamps).toHaveLength(5);
  }),
];

const budget: readonly Rule[] = [
  rule('§0.4 a queue and a partition name may take the whole budget', async (scene) => {
    const queue = scene.queue.padEnd(200, 'q');
    const verdicts = await scene.fill(1, { queue, partition: 'p'.repeat(NAME_BYTES_LEFT - 200) });
    expect(verdicts).toMatchObject([{ status: 'queued' }]);
    await scene.client.deleteQueue(queue);
  }),
  rule('§0.4 one byte more fails the push', async (scene) => {
    const queue = scene.queue.padEnd(200, 'q');
    const item = { queue, partition: 'p'.repeat(NAME_BYTES_LEFT - 199), payload: 1 };
    expectError(await scene.send('POST', '/push', { items: [item] }), 413, 'name_too_long');
  }),
  rule('§0.4 the budget counts bytes, not characters', async (scene) => {
    const item = { queue: scene.queue, partition: 'é'.repeat(200), payload: 1 };
    expectError(await scene.send('POST', '/push', { items: [item] }), 413, 'name_too_long');
  }),
  rule('§0.4 one offending item fails the whole push', async (scene) => {
    const items = [
      { queue: scene.queue, payload: 1 },
      { queue: 'x'.repeat(500), payload: 1 },
    ];
    expectError(await scene.send('POST', '/push', { items }), 413, 'name_too_long');
    expect(await scene.client.queueRow(scene.queue)).toBeUndefined();
  }),
  rule(
    '§0.4 a wildcard pop checks the budget',
    tooLong('GET', (name) => `/pop/queue/${name}`),
  ),
  rule(
    '§0.4 a pinned pop checks the budget',
    tooLong('GET', (name) => `/pop/queue/q/partition/${name}`),
  ),
  rule(
    '§0.4 a pop checks the budget of its group',
    tooLong('GET', (name) => `/pop/queue/q?consumerGroup=${name}`),
  ),
  rule(
    '§0.4 configure checks the budget',
    tooLong(
      'POST',
      () => '/configure',
      (queue) => ({ queue, options: {} }),
    ),
  ),
  rule('§0.4 an ack checks the budget of its group', async (scene) => {
    const consumerGroup = 'g'.repeat(500);
    const acknowledgments = [{ transactionId: 't', partitionId: '1' }];
    const answer = await scene.send('POST', '/ack', { consumerGroup, acknowledgments });
    expectError(answer, 413, 'name_too_long');
  }),
  rule(
    '§0.4 a transaction checks the budget of its pushes, with the engine envelope',
    tooLong(
      'POST',
      () => '/transaction',
      (queue) => ({ operations: [{ type: 'push', queue, payload: 1 }] }),
    ),
  ),
  rule('§0.4 a replay checks the budget of its destination', async (scene) => {
    await scene.fill(1);
    await scene.bury();
    const id = String((await scene.letters())[0]?.['id']);
    const answer = await scene.send('POST', `/dlq/${id}/replay`, { queue: 'x'.repeat(500) });
    expectError(answer, 413, 'name_too_long');
    expect(await scene.letters()).toHaveLength(1);
  }),
];

const envelope: readonly Rule[] = [
  rule('§0.5 the envelope is error, then code', async (scene) => {
    expectKeys(expectError(await scene.text('/push', '{'), 400, 'bad_body'), 'error code');
  }),
  rule('§0.5 the text of an error says what was wrong', async (scene) => {
    const answer = await scene.send('POST', '/push', { items: [{ queue: scene.queue }] });
    expect(expectError(answer, 400)['error']).toMatch(/payload/);
  }),
  uncheckedRule('§0.5 429 overloaded with Retry-After', 'needs a broker under load; integration'),
  uncheckedRule('§0.5 503 with Retry-After: 1', 'needs a failure; integration and cluster'),
  uncheckedRule('§0.5 507 storage_full', 'needs a full disk; integration'),
  uncheckedRule('§0.5 deadlines of push, ack and transaction', 'needs a stalled broker'),
  uncheckedRule('§0.6 access levels by role', 'JWT is off on the node under test'),
  uncheckedRule('§0.7 the tenant header', 'tenancy is off on the node under test'),
  rule('§0.7 with tenancy off the tenant header changes nothing', async (scene) => {
    await scene.fill(1);
    const headers = { 'x-queen-tenant': '11111111-1111-4111-8111-111111111111' };
    const path = `/api/v1/pop/queue/${scene.queue}`;
    expect((await scene.client.request('GET', path, { headers })).status).toBe(200);
  }),
];

/** §0. */
export const CONVENTIONS: Section = {
  title: '0 conventions',
  rules: [...transport, ...identifiers, ...timestamps, ...budget, ...envelope],
};
