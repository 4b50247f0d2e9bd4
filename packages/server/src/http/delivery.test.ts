// Clients that leave before and during their answer, over real connections.

import type { CancelSignal } from '@queen-ts/cluster';
import { createServer } from 'node:http';
import type { ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { eventually } from '../testing/eventually.ts';
import { RawClient } from '../testing/raw-client.ts';
import { clientSignal, watchDelivery } from './delivery.ts';

/** More than the buffers of a loopback connection take in. */
const LARGE = Buffer.alloc(16 * 1024 * 1024, 0x20);

const closers: (() => void)[] = [];

afterEach(() => {
  for (const close of closers.splice(0)) close();
});

/** Answers every request with `handle`. */
async function serve(handle: (outgoing: ServerResponse) => void): Promise<RawClient> {
  const server = createServer((_incoming, outgoing) => handle(outgoing));
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const client = await RawClient.open((server.address() as AddressInfo).port);
  closers.push(() => {
    client.destroy();
    server.closeAllConnections();
    server.close();
  });
  return client;
}

describe('clientSignal', () => {
  test('aborts when the client leaves before the answer', async () => {
    const signals: CancelSignal[] = [];
    const client = await serve((outgoing) => signals.push(clientSignal(outgoing)));
    await client.get('/');
    await eventually(() => expect(signals).toHaveLength(1));
    expect(signals[0]!.aborted).toBe(false);
    client.destroy();
    await eventually(() => expect(signals[0]!.aborted).toBe(true));
  });

  test('is aborted from the start when the client has left already', async () => {
    const outgoings: ServerResponse[] = [];
    const client = await serve((outgoing) => outgoings.push(outgoing));
    await client.get('/');
    await eventually(() => expect(outgoings).toHaveLength(1));
    client.destroy();
    await eventually(() => expect(outgoings[0]!.closed).toBe(true));
    expect(clientSignal(outgoings[0]!).aborted).toBe(true);
  });

  test('does not abort when the answer went out, however the connection ends', async () => {
    const signals: CancelSignal[] = [];
    const outgoings: ServerResponse[] = [];
    const client = await serve((outgoing) => {
      outgoings.push(outgoing);
      signals.push(clientSignal(outgoing));
      outgoing.end('there');
    });
    await client.get('/');
    await eventually(() => expect(outgoings).toHaveLength(1));
    client.destroy();
    await eventually(() => expect(outgoings[0]!.closed).toBe(true));
    expect(signals[0]!.aborted).toBe(false);
  });
});

describe('watchDelivery', () => {
  test('stays quiet when the whole answer was taken over', async () => {
    const onLost = vi.fn();
    const outgoings: ServerResponse[] = [];
    const client = await serve((outgoing) => {
      outgoings.push(outgoing);
      watchDelivery(outgoing, onLost);
      outgoing.setHeader('Content-Length', 5);
      outgoing.end('there');
    });
    await client.get('/');
    expect((await client.answer()).body).toBe('there');
    client.destroy();
    await eventually(() => expect(outgoings[0]!.closed).toBe(true));
    expect(onLost).not.toHaveBeenCalled();
  });

  test('tells once when the client leaves in the middle of a large answer', async () => {
    const onLost = vi.fn();
    const client = await serve((outgoing) => {
      watchDelivery(outgoing, onLost);
      outgoing.end(LARGE);
      client.destroy();
    });
    await client.get('/');
    await eventually(() => expect(onLost).toHaveBeenCalledTimes(1));
  });

  test('tells at once when the client has left before the answer', async () => {
    const onLost = vi.fn();
    const outgoings: ServerResponse[] = [];
    const client = await serve((outgoing) => outgoings.push(outgoing));
    await client.get('/');
    await eventually(() => expect(outgoings).toHaveLength(1));
    client.destroy();
    await eventually(() => expect(outgoings[0]!.closed).toBe(true));
    watchDelivery(outgoings[0]!, onLost);
    expect(onLost).toHaveBeenCalledTimes(1);
  });
});
