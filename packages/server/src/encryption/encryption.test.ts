// Encryption at rest over an engine: what is stored, and what the routes show of it.

import { partitionIdText } from '@queen-ts/protocol';
import { beforeEach, describe, expect, test } from 'vitest';
import { engineEdge } from '../testing/engine-edge.ts';
import type { EngineEdge } from '../testing/engine-edge.ts';

const KEY = new Uint8Array(32).fill(1);
const OTHER_KEY = new Uint8Array(32).fill(2);
const POP = '/api/v1/pop/queue';

/** Verbatim, and found nowhere else. */
const SECRET = '{ "secret" : 9007199254740993, "x":1.0 }';

interface Message {
  readonly id: string;
  readonly transactionId: string;
  readonly partitionId: string;
  readonly leaseId: string;
}

let edge: EngineEdge;

/** Every byte that entries hold. */
function storedBytes(): string {
  return edge.driver.entries
    .map(({ head, payload }) => Buffer.concat([head, payload]).toString('latin1'))
    .join('\n');
}

/** The same cluster through a node with another configuration. */
function nodeWith(config: Parameters<typeof engineEdge>[0]): EngineEdge {
  return engineEdge(config, edge.driver);
}

async function push(items: readonly object[] | string, node = edge): Promise<unknown> {
  const body = typeof items === 'string' ? `{"items":[${items}]}` : { items };
  const answer = await node.send('POST', '/api/v1/push', body);
  expect(answer.status).toBe(201);
  return answer.body;
}

async function popOne(queue: string, group = 'g'): Promise<{ text: string; message: Message }> {
  const { status, text, body } = await edge.send('GET', `${POP}/${queue}?consumerGroup=${group}`);
  expect(status).toBe(200);
  return { text, message: (body as { messages: Message[] }).messages[0]! };
}

async function fileAll(queue: string): Promise<void> {
  const { body } = await edge.send('GET', `${POP}/${queue}?consumerGroup=g`);
  const acknowledgments = (body as { messages: Message[] }).messages.map((message) => ({
    ...message,
    status: 'dlq',
    error: 'bad',
  }));
  await edge.send('POST', '/api/v1/ack', { consumerGroup: 'g', acknowledgments });
}

async function firstLetter(): Promise<{ id: string; text: string }> {
  const { status, text, body } = await edge.send('GET', '/api/v1/dlq');
  expect(status).toBe(200);
  return { id: (body as { messages: { id: string }[] }).messages[0]!.id, text };
}

beforeEach(() => {
  edge = engineEdge({ encryptionKey: KEY });
  edge.driver.configure('q', { encryptionEnabled: true });
});

describe('a queue that encrypts', () => {
  test('stores no payload in the clear and shows every payload as it was pushed', async () => {
    const answer = await push(
      `{"queue":"q","payload":${SECRET}},{"queue":"q","transactionId":"t","payload":${SECRET}},` +
        `{"queue":"q","transactionId":"t","payload":${SECRET}},{"queue":"open","payload":"clear"}`,
    );
    expect(answer).toMatchObject([
      { status: 'queued', offset: 0 },
      { status: 'queued', offset: 1 },
      { status: 'duplicate', offset: 1 },
      { status: 'queued', offset: 0 },
    ]);
    expect(storedBytes()).not.toContain('secret');
    expect(storedBytes()).toContain('"clear"');
    const { text, message } = await popOne('q');
    expect(text.split(`"data":${SECRET},`)).toHaveLength(3);
    expect(message.transactionId).toBe(message.id);
    const where = `/api/v1/messages/${message.partitionId}`;
    for (const id of [message.transactionId, 't']) {
      const detail = await edge.send('GET', `${where}/${id}`);
      expect(detail.text).toContain(`"data":${SECRET},"payload":${SECRET},`);
      expect(detail.body).toMatchObject({ isEncrypted: true });
    }
    const list = await edge.send('GET', '/api/v1/messages?queue=q');
    expect(list.text.split(`"data":${SECRET},"payload":${SECRET},`)).toHaveLength(3);
    const entries = [{ queue: 'q', partition: 'Default', offset: 0 }];
    const fetched = await edge.send('POST', '/api/v1/fetch', { entries });
    expect(fetched.text.split(`"payload":${SECRET},`)).toHaveLength(3);
  });

  test('goes on when the option is switched, with messages of both kinds', async () => {
    await push([{ queue: 'mixed', payload: 'plain' }]);
    edge.driver.configure('mixed', { encryptionEnabled: true });
    await push([{ queue: 'mixed', payload: 'sealed' }]);
    edge.driver.configure('mixed', { encryptionEnabled: false });
    await push([{ queue: 'mixed', payload: 'plain again' }]);
    const { text } = await popOne('mixed');
    const { messages } = JSON.parse(text) as { messages: { data: unknown }[] };
    expect(messages.map(({ data }) => data)).toEqual(['plain', 'sealed', 'plain again']);
    expect(storedBytes()).not.toContain('"sealed"');
  });

  test('still knows what it was sent before', async () => {
    await push([{ queue: 'q', transactionId: 't', payload: 1 }]);
    const again = await push([
      { queue: 'q', transactionId: 't', payload: 2 },
      { queue: 'q', payload: 3 },
    ]);
    expect(again).toMatchObject([
      { status: 'duplicate', offset: 0 },
      { status: 'queued', offset: 1 },
    ]);
    // The duplicate took no id, so the minted one is not the one that the edge could have expected.
    const { text } = await popOne('q');
    const { messages } = JSON.parse(text) as { messages: { data: unknown }[] };
    expect(messages.map(({ data }) => data)).toEqual([1, 3]);
  });

  test('seals the pushes of transactions', async () => {
    const operations = [{ type: 'push', items: [{ queue: 'q', payload: { secret: 1 } }] }];
    const { body } = await edge.send('POST', '/api/v1/transaction', { operations });
    expect(body).toMatchObject({ success: true });
    expect(storedBytes()).not.toContain('secret');
    expect((await popOne('q')).text).toContain('"data":{"secret":1}');
  });

  test('is recognised by the leader where this node has not heard of it', async () => {
    edge.broker.onEncrypts = () => false;
    await push([{ queue: 'q', payload: 'secret' }]);
    expect(edge.broker.commands).toHaveLength(2);
    expect(storedBytes()).not.toContain('secret');
    const operations = [{ type: 'push', items: [{ queue: 'q', payload: 'secret' }] }];
    await edge.send('POST', '/api/v1/transaction', { operations });
    expect(storedBytes()).not.toContain('secret');
  });
});

describe('the wrong key', () => {
  beforeEach(async () => {
    await push([{ queue: 'q', transactionId: 't', payload: 'secret' }]);
  });

  test.each([{ encryptionKey: OTHER_KEY }, { encryptionKey: undefined }])(
    'answers 503 and delivers nothing: %o',
    async (config) => {
      const wrong = nodeWith(config);
      const refused = { code: 'encryption_key_mismatch' };
      const popped = await wrong.send('GET', `${POP}/q?consumerGroup=g`);
      expect(popped).toMatchObject({ status: 503, body: refused });
      expect(wrong.broker.released).toEqual([wrong.broker.pops[0]?.leaseId]);
      const entries = [{ queue: 'q', partition: 'Default', offset: 0 }];
      const fetched = await wrong.send('POST', '/api/v1/fetch', { entries });
      expect(fetched).toMatchObject({ status: 503, body: refused });
      const detail = await wrong.send('GET', `/api/v1/messages/${partitionIdText(1)}/t`);
      expect(detail).toMatchObject({ status: 503, body: refused });
      const list = await wrong.send('GET', '/api/v1/messages?queue=q');
      const [row] = (list.body as { messages: object[] }).messages;
      expect(row).toMatchObject({ data: null, payloadAvailable: false, isEncrypted: true });
    },
  );

  test.each([{ encryptionKey: OTHER_KEY }, { encryptionKey: undefined }])(
    'takes nothing from a group that commits on delivery: %o',
    async (config) => {
      const wrong = nodeWith(config);
      await push([{ queue: 'q', partition: 'p', payload: 'more' }]);
      const query = 'autoAck=true&consumerGroup=g&partitions=9';
      for (const path of [`${POP}/q?${query}`, `${POP}/q/partition/Default?${query}`]) {
        for (let attempt = 0; attempt < 3; attempt += 1) {
          const refused = await wrong.send('GET', path);
          expect(refused).toMatchObject({
            status: 503,
            body: { code: 'encryption_key_mismatch' },
          });
        }
      }
      const { body } = await edge.send('GET', `${POP}/q?${query}`);
      const { messages } = body as { messages: { data: unknown }[] };
      expect(new Set(messages.map(({ data }) => data))).toEqual(new Set(['more', 'secret']));
    },
  );

  test('shows no dead letter and replays none', async () => {
    await fileAll('q');
    const { id } = await firstLetter();
    for (const encryptionKey of [OTHER_KEY, undefined]) {
      const wrong = nodeWith({ encryptionKey });
      const refused = { status: 503, body: { code: 'encryption_key_mismatch' } };
      expect(await wrong.send('GET', '/api/v1/dlq')).toMatchObject(refused);
      expect(await wrong.send('POST', `/api/v1/dlq/${id}/replay`)).toMatchObject(refused);
    }
    expect((await firstLetter()).id).toBe(id);
  });

  test('opens nothing that was moved to another message', async () => {
    // The stored bytes are the same, the place is not.
    const { onPop } = edge.broker;
    edge.broker.onPop = async (command, options) => {
      const outcome = await onPop({ ...command, group: 'h' }, options);
      if (outcome.kind !== 'pop') return outcome;
      return { ...outcome, claims: outcome.claims.map((claim) => ({ ...claim, queue: 'r' })) };
    };
    const moved = await edge.send('GET', `${POP}/q?consumerGroup=h`);
    expect(moved).toMatchObject({ status: 503, body: { code: 'encryption_key_mismatch' } });
  });
});

describe('without a key', () => {
  test('items are refused one by one, and those of other queues stored', async () => {
    const keyless = nodeWith({});
    const items = [
      { queue: 'q', payload: 'secret' },
      { queue: 'open', payload: 1 },
    ];
    expect(await push(items, keyless)).toMatchObject([
      { status: 'error', code: 'encryption_key_missing' },
      { status: 'queued' },
    ]);
    expect(storedBytes()).not.toContain('secret');
    const operations = [{ type: 'push', items }];
    const { body } = await keyless.send('POST', '/api/v1/transaction', { operations });
    expect(body).toMatchObject({ success: false, reason: 'encryption_key_missing' });
  });

  test('plaintext is stored where the node is told to', async () => {
    const waived = nodeWith({ storesPlaintextWithoutKey: true });
    await push([{ queue: 'q', payload: 'secret' }], waived);
    expect(storedBytes()).toContain('secret');
    expect((await popOne('q')).text).toContain('"data":"secret"');
  });

  test('a plain dead letter cannot be replayed into a queue that encrypts', async () => {
    await push([{ queue: 'open', payload: 1 }]);
    await fileAll('open');
    const { id } = await firstLetter();
    const path = `/api/v1/dlq/${id}/replay`;
    const refused = await nodeWith({}).send('POST', path, { queue: 'q' });
    expect(refused).toMatchObject({ status: 409, body: { reason: 'encryption_key_missing' } });
    const waived = await nodeWith({ storesPlaintextWithoutKey: true }).send('POST', path, {
      queue: 'q',
    });
    expect(waived).toMatchObject({ status: 200, body: { result: 'moved' } });
  });
});

describe('a dead letter of a queue that encrypts', () => {
  beforeEach(async () => {
    await push(`{"queue":"q","payload":${SECRET}}`);
    await fileAll('q');
  });

  test('stays encrypted, and is shown as it was pushed', async () => {
    expect((await firstLetter()).text).toContain(`"data":${SECRET},"payload":${SECRET},`);
    expect(storedBytes()).not.toContain('secret');
  });

  test.each([
    ['where it came from', {}, 'q'],
    ['another partition', { partition: 'p' }, 'q'],
    ['another queue that encrypts', { queue: 'r' }, 'r'],
    ['a queue that does not encrypt', { queue: 'open' }, 'open'],
  ])('is replayed to %s and stays encrypted', async (_, body, queue) => {
    edge.driver.configure('r', { encryptionEnabled: true });
    const { id } = await firstLetter();
    const answer = await edge.send('POST', `/api/v1/dlq/${id}/replay`, body);
    expect(answer).toMatchObject({ status: 200, body: { result: 'moved', dlqRowRemoved: true } });
    const { text } = await edge.send('GET', `${POP}/${queue}?partitions=9&consumerGroup=later`);
    expect(text).toContain(`"transactionId":"dlq:${id}","traceId":null,"data":${SECRET},`);
    expect(storedBytes()).not.toContain('secret');
    const again = await edge.send('POST', `/api/v1/dlq/${id}/replay`, body);
    expect(again).toMatchObject({ status: 404, body: { result: 'gone' } });
  });
});
