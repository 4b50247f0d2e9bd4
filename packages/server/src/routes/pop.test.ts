// The pop routes over a fake broker, and clients that do not stay for the answer.

import { BrokerError } from '@queen-ts/protocol';
import type { EmptyReason } from '@queen-ts/protocol';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, describe, expect, test } from 'vitest';
import { HTTP_LIMITS_DEFAULT } from '../http-server.ts';
import { eventually } from '../testing/eventually.ts';
import { delivered, emptyPop } from '../testing/delivered.ts';
import type { FakeBroker } from '../testing/fake-broker.ts';
import { untilAborted } from '../testing/fake-broker.ts';
import type { RawClient } from '../testing/raw-client.ts';
import { serveApp, testEdge, TEST_NOW_US } from '../testing/test-edge.ts';
import type { TestEdge } from '../testing/test-edge.ts';

const QUEUE = '/api/v1/pop/queue/orders';
const closers: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

/** Lets every pop deliver these payloads. */
function deliver(broker: FakeBroker, payloads: readonly string[]): void {
  broker.onPop = (command) => {
    const { outcome, payloads: reader } = delivered(command, payloads);
    broker.payloads = reader;
    return outcome;
  };
}

describe('a pop', () => {
  test('delivers payloads as they were pushed', async () => {
    const { app, broker, edge } = testEdge();
    deliver(broker, ['{ "n":9007199254740993,"x":1.0 }', '"two"']);
    const answer = await app.request(`${QUEUE}?consumerGroup=billing`);
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toBe('application/json');
    const text = await answer.text();
    expect(text).toContain('"data":{ "n":9007199254740993,"x":1.0 },');
    expect(JSON.parse(text)).toMatchObject({
      success: true,
      queue: 'orders',
      partition: 'Default',
      consumerGroup: 'billing',
      partitionsClaimed: 1,
      messages: [
        { offset: 0, deliveryAttempt: 1 },
        { offset: 1, data: 'two' },
      ],
    });
    expect(edge.counters).toMatchObject({ popRequests: 1, popMessages: 2, popEmpty: 0 });
    expect(broker.released).toEqual([]);
  });

  test('names its scope by path, decoded, or by labels', async () => {
    const { app, broker } = testEdge();
    broker.onPop = (command) => emptyPop(command, 'empty');
    await app.request('/api/v1/pop/queue/a%2Fb%20c');
    await app.request('/api/v1/pop/queue/a/partition/p%2F1');
    await app.request('/api/v1/pop?namespace=n+1&task=t%26');
    expect(broker.pops.map(({ scope }) => scope)).toEqual([
      { kind: 'queue', queue: 'a/b c' },
      { kind: 'partition', queue: 'a', partition: 'p/1' },
      { kind: 'labels', namespace: 'n 1', task: 't&' },
    ]);
  });

  test('takes its deadline from timeout, else from the configuration', async () => {
    const { app, broker } = testEdge({ config: { popTimeoutMs: 1234 } });
    broker.onPop = (command) => emptyPop(command, 'empty');
    await app.request(QUEUE);
    await app.request(`${QUEUE}?wait=true&timeout=50`);
    expect(broker.popOptions.map(({ wait, deadlineUs }) => [wait, deadlineUs])).toEqual([
      [false, TEST_NOW_US + 1_234_000],
      [true, TEST_NOW_US + 50_000],
    ]);
  });

  test('starts new groups where the configuration says', async () => {
    const { app, broker } = testEdge({ config: { defaultSubscriptionMode: 'new' } });
    broker.onPop = (command) => emptyPop(command, 'empty');
    await app.request(`${QUEUE}?consumerGroup=g`);
    expect(broker.pops[0]?.subscription).toEqual({ mode: 'new' });
  });

  test.each(['empty', 'paused', 'delayed', 'window', 'leased'] as const)(
    'that delivers nothing is a bodiless 204 with the reason %s',
    async (reason: EmptyReason) => {
      const { app, broker, edge } = testEdge();
      broker.onPop = (command) => emptyPop(command, reason);
      const answer = await app.request(QUEUE);
      expect(answer.status).toBe(204);
      expect(answer.headers.get('queen-pop-reason')).toBe(reason);
      expect(answer.headers.has('content-length')).toBe(false);
      expect(await answer.text()).toBe('');
      expect(edge.counters.popEmpty).toBe(1);
    },
  );

  test('that conflates and delivers nothing is a 200 that says so', async () => {
    const { app, broker } = testEdge();
    broker.onPop = (command) => ({ ...emptyPop(command, 'empty'), conflation: true });
    const answer = await app.request(QUEUE);
    expect(answer.status).toBe(200);
    expect(await answer.json()).toMatchObject({ messages: [], conflation: true });
  });

  test('without labels is refused with the body of the discovery route', async () => {
    const { app, broker } = testEdge();
    const answer = await app.request('/api/v1/pop');
    expect(answer.status).toBe(400);
    expect(await answer.text()).toBe(
      '{"success":false,"error":"namespace or task is required","messages":[]}',
    );
    expect(broker.pops).toEqual([]);
  });

  test('with a parameter that does not parse is refused in plain text', async () => {
    const { app } = testEdge();
    const answer = await app.request(`${QUEUE}?wait=1`);
    expect(answer.status).toBe(400);
    expect(answer.headers.get('content-type')).toContain('text/plain');
    expect(await answer.text()).toContain('wait');
  });

  test('with a query that is not percent-encoded UTF-8 is refused', async () => {
    const { app } = testEdge();
    const answer = await app.request(`${QUEUE}?consumerGroup=%ff`);
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({ code: 'bad_request' });
  });

  test('is not run by HEAD, which could not carry messages', async () => {
    const { app, broker } = testEdge();
    const answer = await app.request(QUEUE, { method: 'HEAD' });
    expect(answer.status).toBe(405);
    expect(answer.headers.get('allow')).toBe('GET');
    expect(broker.pops).toEqual([]);
  });

  test('passes refusals on', async () => {
    const { app, broker } = testEdge();
    broker.onPop = () => Promise.reject(new BrokerError('no_leader', 'nobody leads'));
    const answer = await app.request(QUEUE);
    expect(answer.status).toBe(503);
    expect(answer.headers.get('retry-after')).toBe('1');
    expect(await answer.json()).toEqual({ error: 'nobody leads', code: 'no_leader' });
  });

  test('beyond the limit is answered 429, and there is room again after an answer', async () => {
    const { app, broker } = testEdge({ popsMax: 1 });
    const gate = Promise.withResolvers<void>();
    broker.onPop = async (command) => {
      await gate.promise;
      return emptyPop(command, 'empty');
    };
    const first = app.request(`${QUEUE}?wait=true`);
    await eventually(() => expect(broker.pops).toHaveLength(1));
    const second = await app.request(`${QUEUE}?wait=true`);
    expect(second.status).toBe(429);
    expect(await second.json()).toMatchObject({ code: 'overloaded' });
    gate.resolve();
    expect((await first).status).toBe(204);
    expect((await app.request(QUEUE)).status).toBe(204);
  });

  test('gives back what it cannot render', async () => {
    const { app, broker, crashes } = testEdge();
    deliver(broker, ['1']);
    const { onPop } = broker;
    broker.onPop = (command, options) => {
      const outcome = onPop(command, options);
      broker.payloads = { payload: () => new Uint8Array(500) };
      return outcome;
    };
    const answer = await app.request(QUEUE);
    expect(answer.status).toBe(500);
    expect(broker.released).toEqual([broker.pops[0]?.leaseId]);
    // A stored block that cannot be read is damage: the node must not go on.
    expect(crashes).toHaveLength(1);
  });
});

describe('a client that leaves', () => {
  test('aborts its waiting pop', async () => {
    const { app, broker, edge, lines } = testEdge();
    const { connect, close } = await serveApp(app);
    closers.push(close);
    broker.onPop = (_command, options) => untilAborted(options);
    const client = await connect();
    await client.get(`${QUEUE}?wait=true`);
    await eventually(() => expect(broker.popOptions).toHaveLength(1));
    expect(broker.popOptions[0]?.signal.aborted).toBe(false);
    client.destroy();
    await eventually(() => expect(broker.popOptions[0]?.signal.aborted).toBe(true));
    expect(lines).toEqual([]);
    expect(edge.counters.popUndelivered).toBe(0);
  });

  test('before its answer has its batch given back', async () => {
    const { app, broker, edge } = testEdge();
    const { connect, close } = await serveApp(app);
    closers.push(close);
    const gate = Promise.withResolvers<void>();
    broker.onPop = async (command, { signal }) => {
      const { outcome, payloads } = delivered(command, ['1']);
      broker.payloads = payloads;
      signal.addEventListener('abort', () => gate.resolve());
      await gate.promise;
      return outcome;
    };
    const client = await connect();
    await client.get(QUEUE);
    await eventually(() => expect(broker.pops).toHaveLength(1));
    client.destroy();
    await eventually(() => expect(broker.released).toEqual([broker.pops[0]?.leaseId]));
    expect(edge.counters.popUndelivered).toBe(1);
  });

  test('in the middle of its answer has its batch given back', async () => {
    const { app, broker } = testEdge();
    const { connect, close } = await serveApp(app);
    closers.push(close);
    // More than the buffers of a loopback connection take in.
    const large = JSON.stringify('x'.repeat(16 * 1024 * 1024));
    const client = await connect();
    broker.onPop = (command) => {
      const { outcome, payloads } = delivered(command, [large]);
      broker.payloads = payloads;
      // Leaves the server to write into a connection that ends under its hands.
      client.destroy();
      return outcome;
    };
    await client.get(QUEUE);
    await eventually(() => expect(broker.released).toEqual([broker.pops[0]?.leaseId]));
  });

  test('after its answer keeps its lease', async () => {
    const { app, broker } = testEdge();
    const { connect, close } = await serveApp(app);
    closers.push(close);
    deliver(broker, ['1']);
    const client = await connect();
    await client.get(QUEUE);
    expect((await client.answer()).status).toBe(200);
    client.destroy();
    await close();
    expect(broker.released).toEqual([]);
  });

  test('gives nothing back when its pop acknowledged on delivery', async () => {
    const { app, broker } = testEdge();
    const { connect, close } = await serveApp(app);
    closers.push(close);
    const client = await connect();
    broker.onPop = (command, { signal }) =>
      new Promise((resolve) => {
        const { outcome, payloads } = delivered(command, ['1']);
        broker.payloads = payloads;
        signal.addEventListener('abort', () => resolve(outcome));
      });
    await client.get(`${QUEUE}?autoAck=true`);
    await eventually(() => expect(broker.pops).toHaveLength(1));
    client.destroy();
    await close();
    expect(broker.released).toEqual([]);
  });
});

describe('a pop that sleeps while it waits', () => {
  interface Sleeper {
    readonly node: TestEdge;
    readonly client: RawClient;
    /** Lets its pop come to one message, to nothing, or to an error. */
    readonly answer: (outcome: 'message' | 'nothing' | Error) => void;
  }

  async function sleeper(query: string, payload: string): Promise<Sleeper> {
    const node = testEdge();
    const limits = { ...HTTP_LIMITS_DEFAULT, longWaits: { awakeMax: 0, sleepAfterMs: 0 } };
    const { server, connect, close } = await serveApp(node.app, limits);
    closers.push(close);
    const gate = Promise.withResolvers<'message' | 'nothing'>();
    node.broker.onPop = async (command) => {
      const { outcome, payloads } = delivered(command, [payload]);
      node.broker.payloads = payloads;
      return (await gate.promise) === 'message' ? outcome : emptyPop(command, 'leased');
    };
    const client = await connect();
    await client.get(`${QUEUE}?wait=true${query}`);
    await eventually(() => expect(server.asleepCount).toBe(1));
    const answer = (outcome: 'message' | 'nothing' | Error): void => {
      if (outcome instanceof Error) gate.reject(outcome);
      else gate.resolve(outcome);
    };
    return { node, client, answer };
  }

  test('delivers, and its connection goes on', async () => {
    const { node, client, answer } = await sleeper('', '1');
    answer('message');
    const delivery = await client.answer();
    expect(delivery.status).toBe(200);
    expect(delivery.json).toMatchObject({ queue: 'orders', messages: [{ data: 1 }] });
    expect(node.edge.counters).toMatchObject({ popMessages: 1, popUndelivered: 0 });
    await client.get(`${QUEUE}?wait=true`);
    expect((await client.answer()).status).toBe(200);
    expect(node.broker.released).toEqual([]);
  });

  test('says why it delivers nothing', async () => {
    const { client, answer } = await sleeper('', '1');
    answer('nothing');
    const { status, headers } = await client.answer();
    expect([status, headers.get('queen-pop-reason')]).toEqual([204, 'leased']);
  });

  test('passes refusals on', async () => {
    const { node, client, answer } = await sleeper('', '1');
    answer(new BrokerError('no_leader', 'nobody leads'));
    const { status, headers, json } = await client.answer();
    expect([status, headers.get('retry-after')]).toEqual([503, '1']);
    expect(json).toEqual({ error: 'nobody leads', code: 'no_leader' });
    expect([...node.edge.counters.errors]).toEqual([['no_leader', 1]]);
  });

  test('is aborted when its client leaves, and gives back what was claimed by then', async () => {
    const { node, client, answer } = await sleeper('', '1');
    const { broker } = node;
    client.destroy();
    await eventually(() => expect(broker.popOptions[0]?.signal.aborted).toBe(true));
    expect(broker.released).toEqual([]);
    answer('message');
    await eventually(() => expect(broker.released).toEqual([broker.pops[0]?.leaseId]));
    expect(node.edge.counters.popUndelivered).toBe(1);
  });

  test('gives nothing back when it acknowledged on delivery', async () => {
    const { node, client, answer } = await sleeper('&autoAck=true', '1');
    const { signal } = node.broker.popOptions[0]!;
    client.destroy();
    await eventually(() => expect(signal.aborted).toBe(true));
    answer('message');
    await nextTurn();
    expect(node.broker.released).toEqual([]);
    expect(node.edge.counters.popUndelivered).toBe(0);
  });

  test('has its batch given back when its client leaves in the middle of it', async () => {
    const large = JSON.stringify('x'.repeat(16 * 1024 * 1024));
    const { node, client, answer } = await sleeper('', large);
    answer('message');
    // Far less than the answer: the server is in the middle of it.
    await client.received(1);
    client.destroy();
    const { broker } = node;
    await eventually(() => expect(broker.released).toEqual([broker.pops[0]?.leaseId]));
  });
});
