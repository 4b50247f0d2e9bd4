// TCP under what networks and peers do: breaks, stalls, silence, damage, full queues.

import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { toNodeId } from '@queen-ts/raft';
import type { AppendMessage } from '@queen-ts/raft';
import { afterEach, describe, expect, it } from 'vitest';
import { FRAME_HEADER_SIZE } from './frame.ts';
import type { PeerRequestError } from './transport.ts';
import { entryOf, TOO_MANY_ENTRIES } from './testing/arbitrary-message.ts';
import { eventually, TcpNode, TcpNodes } from './testing/tcp-nodes.ts';
import type { TcpNodeOptions } from './testing/tcp-nodes.ts';
import { append, heartbeat } from './testing/transport-contract.ts';

const MIB = 1024 * 1024;
const ONE = toNodeId(1);
const TWO = toNodeId(2);

let open: TcpNodes | undefined;

afterEach(async () => {
  await open?.close();
  open = undefined;
});

async function startTwo(
  options: Omit<TcpNodeOptions, 'id' | 'peers'> = {},
): Promise<{ one: TcpNode; two: TcpNode; all: TcpNodes }> {
  const all = await TcpNodes.start(2, options);
  open = all;
  const [one, two] = all.nodes as [TcpNode, TcpNode];
  return { one, two, all };
}

/** Append `number` from node 1 to node 2 with one entry, the only one of its index. */
function bulk(number: number, payloadSize: number): AppendMessage {
  const entries = [entryOf({ index: number, payloadSize })];
  return append({ from: ONE, to: TWO, number, entries });
}

function beat(number: number) {
  return heartbeat(ONE, TWO, number);
}

function ofKind(node: TcpNode, kind: 'append' | 'heartbeat'): string[] {
  return node.handler.order.filter((text) => text.startsWith(kind));
}

describe('a broken connection', () => {
  it('is dialed again, and what follows arrives in order', async () => {
    const { one, two, all } = await startTwo();
    one.transport.send([bulk(1, 10), beat(2)]);
    await eventually(() => expect(two.handler.messages).toHaveLength(2));
    for (const proxy of [all.proxy(1, 2), all.proxy(2, 1)]) proxy.kill();
    await eventually(() => {
      expect(one.handler.lost).toEqual([TWO]);
      expect(two.handler.lost).toEqual([ONE]);
    });
    await eventually(() => {
      const [peer] = one.transport.peers();
      expect([peer?.control.state, peer?.bulk.state]).toEqual(['open', 'open']);
      expect([peer?.control.connectsTotal, peer?.bulk.connectsTotal]).toEqual([2, 2]);
    });
    two.handler.messages.length = 0;
    for (let number = 1; number <= 50; number += 1) one.transport.send([bulk(number, 100)]);
    await eventually(() => expect(two.handler.messages).toHaveLength(50));
    expect(ofKind(two, 'append')).toEqual(Array.from({ length: 50 }, (_, i) => `append:${i + 1}`));
    expect(one.linesOf('disconnected').length).toBeGreaterThanOrEqual(2);
    expect(one.linesOf('connected')).toHaveLength(4);
  });

  it('loses the message it was in the middle of, and never delivers a part', async () => {
    const { one, two, all } = await startTwo();
    const proxy = all.proxy(1, 2);
    let passed = 0;
    proxy.damage = (chunk, { connectionClass, acceptor }) => {
      if (connectionClass !== 'bulk') return;
      passed += chunk.length;
      if (passed > MIB) acceptor.destroy();
    };
    one.transport.send([bulk(1, 4 * MIB)]);
    await eventually(() => expect(one.handler.lost).toEqual([TWO]));
    proxy.damage = undefined;
    await eventually(() => {
      one.transport.send([bulk(2, 10)]);
      expect(ofKind(two, 'append')).toContain('append:2');
    });
    expect(ofKind(two, 'append')).not.toContain('append:1');
  });

  it('takes with it what was queued for it: the next one begins with a frame of its own', async () => {
    const { one, two, all } = await startTwo();
    all.proxy(1, 2).hold('bulk');
    // The first cannot have been sent completely, the second not have been begun.
    one.transport.send([bulk(1, 30 * MIB), bulk(2, MIB)]);
    expect(one.transport.peers()[0]?.bulk.queuedBytes).toBeGreaterThan(31 * MIB);
    all.proxy(1, 2).kill();
    await eventually(() => expect(one.handler.lost).toEqual([TWO]));
    expect(one.transport.peers()[0]?.bulk).toMatchObject({ queuedBytes: 0, droppedTotal: 1 });
    all.proxy(1, 2).release('bulk');
    await eventually(() => expect(one.transport.peers()[0]?.bulk.state).toBe('open'));
    one.transport.send([bulk(3, 10)]);
    await eventually(() => expect(ofKind(two, 'append')).toContain('append:3'));
    expect(ofKind(two, 'append')).toEqual(['append:3']);
    expect(two.transport.stats().damagedTotal).toBe(0);
  });

  it('keeps the newest control messages for the next one, and no more than fit', async () => {
    const { one, two, all } = await startTwo({ limits: { controlQueueBytesMax: 300 } });
    const proxy = all.proxy(1, 2);
    proxy.isCut = true;
    proxy.kill();
    await eventually(() => {
      expect(one.transport.peers()[0]?.control.problem).not.toBe('');
      expect(one.transport.peers()[0]?.bulk.state).not.toBe('open');
    });
    // The next connection takes a while longer to come than this turn.
    proxy.isCut = false;
    for (let number = 1; number <= 100; number += 1) one.transport.send([beat(number)]);
    const queuedBytes = one.transport.peers()[0]?.control.queuedBytes ?? 0;
    expect(queuedBytes).toBeGreaterThan(200);
    expect(queuedBytes).toBeLessThanOrEqual(300);
    await eventually(() => {
      one.transport.send([beat(101)]);
      expect(ofKind(two, 'heartbeat')).toContain('heartbeat:101');
    });
    const arrived = ofKind(two, 'heartbeat').filter((text) => text !== 'heartbeat:101');
    expect(arrived.length).toBeLessThan(20);
    expect(arrived.every((text) => Number(text.slice('heartbeat:'.length)) > 80)).toBe(true);
    expect(one.transport.peers()[0]?.control.droppedTotal).toBeGreaterThanOrEqual(80);
  });

  it('is dialed at once when the peer shows that it is there', async () => {
    // On its own, this node would wait longer than any test.
    const { one, all } = await startTwo({ limits: { redialUsMin: 2 ** 29, redialUsMax: 2 ** 30 } });
    const proxy = all.proxy(1, 2);
    proxy.isCut = true;
    proxy.kill();
    await eventually(() => {
      const [peer] = one.transport.peers();
      expect([peer?.control.state, peer?.bulk.state]).toEqual(['waiting', 'waiting']);
    });
    proxy.isCut = false;
    // The peer connects anew.
    const [, two] = all.nodes as [TcpNode, TcpNode];
    two.transport.setPeers([one.peerAddress]);
    await eventually(() => {
      const [peer] = one.transport.peers();
      expect([peer?.control.state, peer?.bulk.state]).toEqual(['open', 'open']);
    });
  });

  it('does not count as a failure if it had worked: the wait begins anew', async () => {
    // Doubled each time, the last wait would be of minutes.
    const { one, all } = await startTwo({ limits: { redialUsMin: 2_000, redialUsMax: 2 ** 30 } });
    for (let connects = 2; connects <= 18; connects += 1) {
      all.proxy(1, 2).kill();
      await eventually(() => {
        const [peer] = one.transport.peers();
        expect([peer?.control.connectsTotal, peer?.bulk.connectsTotal]).toEqual([
          connects,
          connects,
        ]);
      });
    }
  });

  it('is replaced at once when the address changes', async () => {
    const { one, two, all } = await startTwo();
    one.transport.setPeers([two.peerAddress]);
    await eventually(() => {
      expect(one.transport.peers()[0]).toMatchObject({
        address: two.address,
        control: { state: 'open' },
        bulk: { state: 'open' },
      });
      expect(all.proxy(1, 2).connections.size).toBe(0);
    });
    one.transport.send([bulk(1, 10)]);
    await eventually(() => expect(two.handler.order).toEqual(['append:1']));
  });
});

describe('a peer that does not read bulk data', () => {
  it('still gets every heartbeat, and the data later, in order and without a gap', async () => {
    const { one, two, all } = await startTwo();
    const proxy = all.proxy(1, 2);
    proxy.hold('bulk');
    const appends = Array.from({ length: 40 }, (_, i) => bulk(i + 1, MIB));
    one.transport.send(appends);
    for (let number = 1; number <= 20; number += 1) one.transport.send([beat(number)]);
    await eventually(() => expect(ofKind(two, 'heartbeat')).toHaveLength(20));
    // What the kernel had room for may have arrived; most of it cannot have.
    const early = ofKind(two, 'append').length;
    expect(early).toBeLessThan(30);
    expect(one.transport.peers()[0]?.bulk.queuedBytes).toBeGreaterThan(MIB);
    proxy.release('bulk');
    await eventually(() => expect(ofKind(two, 'append')).toHaveLength(40));
    expect(ofKind(two, 'append')).toEqual(appends.map((_, i) => `append:${i + 1}`));
    expect(one.handler.lost).toEqual([]);
  });

  it('costs no more memory than the bound: what is too much is dropped and reported', async () => {
    const bulkQueueBytesMax = 4 * MIB;
    const { one, two, all } = await startTwo({ limits: { bulkQueueBytesMax } });
    const proxy = all.proxy(1, 2);
    proxy.hold('bulk');
    for (let number = 1; number <= 60; number += 1) {
      one.transport.send([bulk(number, MIB)]);
      expect(one.transport.peers()[0]?.bulk.queuedBytes).toBeLessThanOrEqual(bulkQueueBytesMax);
    }
    const dropped = one.transport.peers()[0]?.bulk.droppedTotal ?? 0;
    expect(dropped).toBeGreaterThan(30);
    const options = { deadlineUs: one.time.monotonicUs() + 10_000_000 };
    const request = one.transport.request(TWO, { kind: 1, bytes: new Uint8Array(MIB) }, options);
    await expect(request).rejects.toMatchObject({ reason: 'overloaded', outcome: 'notApplied' });
    await eventually(() => expect(one.handler.lost).toContain(TWO));
    proxy.release('bulk');
    await eventually(() => expect(ofKind(two, 'append')).toHaveLength(60 - dropped));
    expect(one.transport.peers()[0]?.bulk.state).toBe('open');
  });

  it('nor its answers is cut off, for no answer is dropped in silence', async () => {
    const { one, two, all } = await startTwo({
      limits: { bulkQueueBytesMax: 2 * MIB, bulkSilentPingsMax: 100_000 },
    });
    two.handler.answer = () => Promise.resolve(new Uint8Array(MIB));
    all.proxy(1, 2).holdAnswers('bulk');
    const options = { deadlineUs: one.time.monotonicUs() + 15_000_000 };
    const asked = Array.from({ length: 60 }, (_, i) =>
      one.transport.request(TWO, { kind: 1, bytes: Uint8Array.of(i) }, options),
    );
    const results = await Promise.allSettled(asked);
    const lost = results.filter(
      (result) =>
        result.status === 'rejected' && (result.reason as PeerRequestError).reason === 'lost',
    );
    expect(lost.length).toBeGreaterThan(30);
  });

  it('is not waited for by a request whose time passed while it was queued', async () => {
    const { one, two, all } = await startTwo();
    all.proxy(1, 2).hold('bulk');
    for (let number = 1; number <= 40; number += 1) one.transport.send([bulk(number, MIB)]);
    const options = { deadlineUs: one.time.monotonicUs() + 30_000 };
    const request = one.transport.request(TWO, { kind: 1, bytes: new Uint8Array(1) }, options);
    await expect(request).rejects.toMatchObject({ reason: 'timeout', outcome: 'notApplied' });
    all.proxy(1, 2).release('bulk');
    await eventually(() => expect(ofKind(two, 'append')).toHaveLength(40));
    expect(two.handler.requests).toEqual([]);
  });
});

describe('a large message', () => {
  it('of 96 MiB arrives intact, and heartbeats sent after it arrive before it', async () => {
    const { one, two } = await startTwo();
    const message = bulk(1, 96 * MIB);
    one.transport.send([message, beat(1), beat(2)]);
    await eventually(() => expect(two.handler.messages).toHaveLength(3));
    expect(two.handler.order).toEqual(['heartbeat:1', 'heartbeat:2', 'append:1']);
    const [entry] = (two.handler.messages[2] as AppendMessage).entries;
    expect(Buffer.compare(entry!.payload, message.entries[0]!.payload)).toBe(0);
    expect(entry!.payload.buffer.byteLength).toBe(96 * MIB + 8);
  });

  it('of more entries than one message may carry arrives as several that follow each other', async () => {
    const { one, two } = await startTwo();
    const entries = Array.from({ length: TOO_MANY_ENTRIES }, (_, i) =>
      entryOf({ index: i + 1, headSize: 0, payloadSize: 0 }),
    );
    one.transport.send([append({ from: ONE, to: TWO, number: 5, entries })]);
    await eventually(() => expect(two.handler.messages).toHaveLength(3));
    const pieces = two.handler.messages as AppendMessage[];
    expect(pieces.flatMap((piece) => piece.entries.map(({ index }) => index))).toEqual(
      entries.map(({ index }) => index),
    );
    expect(pieces[1]?.prevIndex).toBe(pieces[0]?.entries.at(-1)?.index);
  });
});

describe('damage on the way', () => {
  it.each([
    ['in a header', 2],
    ['in a body', FRAME_HEADER_SIZE + 1],
  ])('%s closes the connection and reaches nobody; the next one works', async (_, at) => {
    const { one, two, all } = await startTwo();
    const proxy = all.proxy(1, 2);
    proxy.damage = (chunk, { connectionClass }) => {
      if (connectionClass !== 'bulk' || proxy.damage === undefined) return;
      proxy.damage = undefined;
      chunk[at]! ^= 0x10;
    };
    one.transport.send([bulk(1, 100)]);
    await eventually(() => expect(one.handler.lost).toEqual([TWO]));
    expect(two.transport.stats().damagedTotal).toBe(1);
    expect(two.linesOf('damaged')).toEqual([
      expect.stringMatching(/^bulk connection from node 1 closed: frame (header|body) is damaged$/),
    ]);
    await eventually(() => {
      one.transport.send([bulk(2, 10)]);
      expect(ofKind(two, 'append')).toContain('append:2');
    });
    expect(ofKind(two, 'append')).not.toContain('append:1');
  });
});

describe('a peer that falls silent', () => {
  // A probe takes a few turns of the event loop, so the limit is many more probes than that.
  const limits = { pingUs: 5_000, controlSilentPingsMax: 25, bulkSilentPingsMax: 100_000 };

  /** A request that node 2 works on until it is told to stop. */
  async function askFor(one: TcpNode, two: TcpNode): Promise<{ reason: () => string }> {
    two.handler.answer = () => new Promise(() => {});
    const options = { deadlineUs: one.time.monotonicUs() + 30_000_000 };
    let reason = '';
    one.transport
      .request(TWO, { kind: 1, bytes: new Uint8Array(1) }, options)
      .catch((error: unknown) => {
        reason = (error as PeerRequestError).reason;
      });
    await eventually(() => expect(two.handler.requests).toHaveLength(1));
    return { reason: () => reason };
  }

  it('is given up by those it does not answer, on both connections, and found again', async () => {
    const { one, two, all } = await startTwo({ limits });
    const asked = await askFor(one, two);
    // Nothing is closed: the pongs just go nowhere.
    all.proxy(1, 2).muted.add('control');
    await eventually(() => expect(asked.reason()).toBe('lost'));
    const lines = one.linesOf('disconnected').join('\n');
    expect(lines).toMatch(/control .*: the peer is silent/);
    expect(lines).toMatch(/bulk .*: the peer is silent on its control connection/);
    await eventually(() => expect(one.handler.lost).toContain(TWO));
    all.proxy(1, 2).muted.clear();
    await eventually(() => {
      const [peer] = one.transport.peers();
      expect([peer?.control.state, peer?.bulk.state]).toEqual(['open', 'open']);
    });
  });

  it('is given up by those it does not probe, with all that it asked for', async () => {
    const { one, two, all } = await startTwo({ limits });
    const asked = await askFor(one, two);
    all.proxy(1, 2).hold('control');
    await eventually(() => expect(two.handler.requests[0]?.signal.aborted).toBe(true));
    await eventually(() => expect(asked.reason()).toBe('lost'));
    all.proxy(1, 2).release('control');
    await eventually(() => expect(two.transport.peers()[0]?.inbound).toEqual(['bulk', 'control']));
  });

  it('is not one that is merely quiet: pings are answered, and their round trip is known', async () => {
    const { one } = await startTwo({ limits });
    await eventually(() => {
      const [peer] = one.transport.peers();
      expect(peer?.roundTripUs).toBeGreaterThan(0);
      // Twenty pings of an empty frame.
      expect(peer?.control.receivedBytesTotal).toBeGreaterThan(20 * FRAME_HEADER_SIZE);
    });
    expect(one.transport.peers()[0]?.control.connectsTotal).toBe(1);
  });
});

describe('starting and stopping', () => {
  it('fails to start on a port that is taken, and can be stopped', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await eventually(() => expect(server.listening).toBe(true));
    const node = new TcpNode({ id: 1, port: (server.address() as AddressInfo).port });
    await expect(node.transport.start(node.handler)).rejects.toMatchObject({ code: 'EADDRINUSE' });
    await node.transport.stop();
    server.close();
  });

  it('leaves no socket and no timer behind, wherever it was', async () => {
    await eventually(() => expect(openSockets()).toEqual([]));
    const { one, two, all } = await startTwo();
    const nobody = { id: toNodeId(3), address: '127.0.0.1:9' };
    one.transport.setPeers([...all.peersOf(1), nobody]);
    await eventually(() => expect(one.transport.peers()[1]?.control.problem).not.toBe(''));
    two.handler.answer = () => new Promise(() => {});
    const options = { deadlineUs: one.time.monotonicUs() + 30_000_000 };
    const request = one.transport.request(TWO, { kind: 1, bytes: new Uint8Array(1) }, options);
    one.transport.send([bulk(1, 8 * MIB)]);
    const stopped = [one.transport.stop(), one.transport.stop(), two.transport.stop()];
    await expect(request).rejects.toMatchObject({ reason: 'stopped' });
    await Promise.all(stopped);
    expect(one.time.pending.size).toBe(0);
    expect(two.time.pending.size).toBe(0);
    await open?.close();
    await eventually(() => expect(openSockets()).toEqual([]));
  });

  it('can stop while it starts', async () => {
    const node = new TcpNode({ id: 1 });
    const starting = node.transport.start(node.handler).catch(() => 'cut short');
    await node.transport.stop();
    await starting;
    expect(node.time.pending.size).toBe(0);
  });
});

function openSockets(): string[] {
  return process.getActiveResourcesInfo().filter((name) => name.startsWith('TCP'));
}
