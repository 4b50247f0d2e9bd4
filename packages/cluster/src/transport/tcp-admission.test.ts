// Who may connect over TCP: secrets, clusters, identities, strangers, and bytes of anything else.

import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { SeededRng } from '@queen-ts/base';
import type { Id128 } from '@queen-ts/base';
import { toNodeId } from '@queen-ts/raft';
import { afterEach, describe, expect, it } from 'vitest';
import { encodeFrame, FRAME_HEADER_SIZE, FRAME_KIND } from './frame.ts';
import { DialerHandshake } from './handshake.ts';
import { randomBytesOf } from './testing/random-bytes.ts';
import { eventually, TcpNode, TcpNodes } from './testing/tcp-nodes.ts';
import type { TcpNodeOptions } from './testing/tcp-nodes.ts';
import { append, heartbeat } from './testing/transport-contract.ts';

const CLUSTER: Id128 = [1, 2, 3, 4];

const closing: (() => Promise<unknown> | void)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

async function startNode(options: TcpNodeOptions): Promise<TcpNode> {
  const node = await TcpNode.start(options);
  closing.push(() => node.transport.stop());
  return node;
}

/** A raw connection to a node, and all that came back on it. */
function knock(node: TcpNode): { socket: Socket; received: Buffer[]; isClosed: () => boolean } {
  const socket = connect({ host: '127.0.0.1', port: node.transport.port });
  const received: Buffer[] = [];
  let isClosed = false;
  socket.on('data', (chunk: Buffer) => received.push(chunk));
  socket.on('error', () => {});
  socket.on('close', () => {
    isClosed = true;
  });
  closing.push(() => void socket.destroy());
  return { socket, received, isClosed: () => isClosed };
}

/** Shakes hands by hand as node 2, on a raw control connection. */
async function introduce(node: TcpNode, options: { readonly isAnswering: boolean }) {
  const { socket, received, isClosed } = knock(node);
  const self = {
    nodeId: toNodeId(2),
    incarnation: 5,
    session: CLUSTER,
    clusterId: undefined,
    address: '',
  };
  const randomBytes = randomBytesOf(new SeededRng(2));
  const dialer = new DialerHandshake(
    { self, token: 'secret', randomBytes },
    { to: node.id, connectionClass: 'control', isAnswering: options.isAnswering },
  );
  socket.write(dialer.begin());
  await eventually(() => expect(received).toHaveLength(1));
  const step = dialer.step(FRAME_KIND.challenge, received[0]!.subarray(FRAME_HEADER_SIZE));
  if (step.kind !== 'send') throw new Error(step.kind);
  socket.write(step.frame);
  return { socket, received, isClosed };
}

function linkOf(node: TcpNode, id: number) {
  return node.transport.peers().find((peer) => peer.id === toNodeId(id))?.control;
}

async function expectOpen(node: TcpNode, id: number): Promise<void> {
  await eventually(() => {
    const peer = node.transport.peers().find((state) => state.id === toNodeId(id));
    expect([peer?.control.state, peer?.bulk.state]).toEqual(['open', 'open']);
  });
}

describe('a wrong token', () => {
  it('is refused, counted and told on both sides in one line', async () => {
    const two = await startNode({ id: 2, token: 'right' });
    const one = await startNode({ id: 1, token: 'wrong', peers: [two.peerAddress] });
    await eventually(() => {
      expect(linkOf(one, 2)?.problem).toBe(
        'wrong token: QUEEN_RAFT_TOKEN must be the same on every node',
      );
      expect(two.transport.stats().refusedTotal.token).toBeGreaterThan(3);
      expect(one.transport.stats().refusedTotal.token).toBeGreaterThan(3);
    });
    expect(one.linesOf('disconnected')).toEqual([
      expect.stringMatching(/^control connection to node 2 at 127\.0\.0\.1:\d+: wrong token/),
      expect.stringMatching(/^bulk connection to node 2 at 127\.0\.0\.1:\d+: wrong token/),
    ]);
    // However often it knocks.
    expect(two.linesOf('refused')).toEqual([
      expect.stringMatching(/^peer at 127\.0\.0\.1 that calls itself node 1 refused: wrong token/),
    ]);
    const lines = [...one.events, ...two.events].map(({ message }) => message).join('\n');
    expect(lines).not.toMatch(/\bright\b|'wrong'/);
  });
});

describe('a cluster without a token', () => {
  it('works on one machine', async () => {
    const two = await startNode({ id: 2, token: '' });
    const one = await startNode({ id: 1, token: '', peers: [two.peerAddress] });
    await expectOpen(one, 2);
  });

  it('dials nobody elsewhere, and says why', async () => {
    const one = await startNode({ id: 1, token: '' });
    one.transport.setPeers([{ id: toNodeId(2), address: 'queen-1.example.org:7400' }]);
    expect(linkOf(one, 2)).toMatchObject({ state: 'waiting' });
    expect(one.linesOf('refused')).toEqual([
      'node 2 at queen-1.example.org:7400 is not on this machine: set QUEEN_RAFT_TOKEN',
    ]);
    const far = { id: 1, token: '', peers: [{ id: toNodeId(2), address: '10.0.0.2:7400' }] };
    expect(() => new TcpNode(far)).toThrow(/set QUEEN_RAFT_TOKEN/);
  });
});

describe('clusters', () => {
  it('are kept apart', async () => {
    const two = await startNode({ id: 2, clusterId: [9, 9, 9, 9] });
    const one = await startNode({ id: 1, clusterId: CLUSTER, peers: [two.peerAddress] });
    await eventually(() => expect(linkOf(one, 2)?.problem).toBe('belongs to another cluster'));
    expect(two.transport.stats().refusedTotal.cluster).toBeGreaterThan(0);
  });

  it('are asked for again once known: those who met before either was founded part', async () => {
    const two = await startNode({ id: 2, clusterId: undefined });
    const one = await startNode({ id: 1, clusterId: undefined, peers: [two.peerAddress] });
    two.transport.setPeers([one.peerAddress]);
    await expectOpen(one, 2);
    await expectOpen(two, 1);
    one.transport.setClusterId(CLUSTER);
    await expectOpen(one, 2);
    two.transport.setClusterId([9, 9, 9, 9]);
    await eventually(() => {
      expect(linkOf(one, 2)?.problem).toBe('belongs to another cluster');
      expect(linkOf(two, 1)?.problem).toBe('belongs to another cluster');
      expect(one.transport.peers()[0]?.inbound).toEqual([]);
    });
  });

  it('stay together when everybody learns the same id', async () => {
    const two = await startNode({ id: 2, clusterId: undefined });
    const one = await startNode({ id: 1, clusterId: undefined, peers: [two.peerAddress] });
    await expectOpen(one, 2);
    one.transport.setClusterId(CLUSTER);
    two.transport.setClusterId(CLUSTER);
    two.transport.setClusterId(CLUSTER);
    await eventually(() => expect(linkOf(one, 2)?.connectsTotal).toBeGreaterThanOrEqual(2));
    await expectOpen(one, 2);
    expect(() => two.transport.setClusterId([0, 0, 0, 1])).toThrow(/never changes/);
  });
});

describe('node ids', () => {
  it('must be those of the address book', async () => {
    const three = await startNode({ id: 3 });
    const one = await startNode({ id: 1, peers: [{ id: toNodeId(2), address: three.address }] });
    await eventually(() => expect(linkOf(one, 2)?.problem).toMatch(/another node id/));
    expect(three.transport.stats().refusedTotal.node).toBeGreaterThan(0);
  });

  it('belong to one live process: a second one is refused until the first is gone', async () => {
    const two = await startNode({ id: 2 });
    const one = await startNode({ id: 1, peers: [two.peerAddress] });
    await expectOpen(one, 2);
    const twin = await startNode({ id: 1, seed: 99, peers: [two.peerAddress] });
    await eventually(() => expect(linkOf(twin, 2)?.problem).toMatch(/another live process/));
    expect(two.transport.stats().refusedTotal.duplicate).toBeGreaterThan(0);
    expect(linkOf(one, 2)).toMatchObject({ state: 'open', connectsTotal: 1 });
    await one.transport.stop();
    await expectOpen(twin, 2);
  });

  it('have one connection of a class: a newer one of the same process replaces the older', async () => {
    const one = await startNode({ id: 1 });
    const older = await introduce(one, { isAnswering: false });
    await eventually(() => expect(one.transport.peers()[0]?.inbound).toEqual(['control']));
    const newer = await introduce(one, { isAnswering: false });
    await eventually(() => expect(older.isClosed()).toBe(true));
    expect(newer.isClosed()).toBe(false);
    expect(one.transport.peers()[0]?.inbound).toEqual(['control']);
  });

  it('are not shared with oneself', async () => {
    const two = await startNode({ id: 2 });
    const twin = await startNode({ id: 2, seed: 99, peers: [] });
    const three = { id: toNodeId(3), address: two.address };
    twin.transport.setPeers([{ id: toNodeId(2), address: two.address }, three]);
    // A node never dials itself, and another address of its own is another node's id.
    await eventually(() => expect(linkOf(twin, 3)?.problem).toMatch(/another node id/));
    expect(twin.transport.peers()).toHaveLength(1);
  });
});

describe('a node that nobody told about', () => {
  it('is dialed back at the address it names while it stays, and forgotten when it leaves', async () => {
    const one = await startNode({ id: 1 });
    const two = await startNode({ id: 2, peers: [one.peerAddress] });
    await expectOpen(one, 2);
    expect(one.transport.peers()[0]?.address).toBe(two.address);
    one.transport.send([heartbeat(one.id, two.id, 4)]);
    await eventually(() => expect(two.handler.order).toEqual(['heartbeat:4']));
    await two.transport.stop();
    await eventually(() => expect(one.transport.peers()).toEqual([]));
  });

  it('is not kept by dialing back alone', async () => {
    const one = await startNode({ id: 1 });
    const two = await startNode({ id: 2, peers: [one.peerAddress] });
    await expectOpen(one, 2);
    two.transport.setPeers([]);
    await eventually(() => {
      expect(one.transport.peers()).toEqual([]);
      expect(two.transport.peers()).toEqual([]);
    });
  });

  it('is refused if it only dials back to a node that does not know it either', async () => {
    const one = await startNode({ id: 1 });
    await introduce(one, { isAnswering: true });
    await eventually(() => expect(one.transport.stats().refusedTotal.stranger).toBe(1));
    expect(one.transport.peers()).toEqual([]);
  });

  it('is refused when there are too many peers', async () => {
    const one = await startNode({ id: 1, limits: { peersMax: 1 } });
    const two = await startNode({ id: 2, peers: [one.peerAddress] });
    await expectOpen(two, 1);
    const three = await startNode({ id: 3, peers: [one.peerAddress] });
    await eventually(() => expect(linkOf(three, 1)?.problem).toMatch(/too many peers/));
  });
});

describe('anything else that connects', () => {
  it.each([
    ['an HTTP request', Buffer.from('GET / HTTP/1.1\r\nhost: queen\r\n\r\n')],
    ['noise', Buffer.alloc(4096, 0xa5)],
    ['a frame that is no hello', encodeFrame(FRAME_KIND.ping, new Uint8Array(0))],
    ['a hello that is none', encodeFrame(FRAME_KIND.hello, new Uint8Array(120))],
    ['a hello that is too large', encodeFrame(FRAME_KIND.hello, new Uint8Array(1025))],
    ['data', encodeFrame(FRAME_KIND.data, new Uint8Array(10))],
  ])('is cut off: %s', async (_, bytes) => {
    const node = await startNode({ id: 1 });
    const { socket, isClosed } = knock(node);
    socket.write(bytes);
    await eventually(() => expect(isClosed()).toBe(true));
    expect(node.transport.stats().refusedTotal.malformed).toBe(1);
    expect(node.handler.messages).toEqual([]);
    expect(node.transport.peers()).toEqual([]);
  });

  it('is cut off when it says nothing for too long', async () => {
    const node = await startNode({ id: 1, limits: { handshakeUs: 30_000 } });
    const { isClosed } = knock(node);
    await eventually(() => expect(isClosed()).toBe(true));
    expect(node.time.pending.size).toBe(1);
  });

  it('cannot occupy more than a bounded number of places', async () => {
    const node = await startNode({ id: 1, limits: { handshakesMax: 3 } });
    const idle = [knock(node), knock(node), knock(node)];
    await eventually(() =>
      expect(idle.every(({ socket }) => socket.readyState === 'open')).toBe(true),
    );
    const late = knock(node);
    await eventually(() => expect(late.isClosed()).toBe(true));
    expect(node.transport.stats().refusedTotal.overloaded).toBe(1);
    idle[0]?.socket.destroy();
    await eventually(() => expect(idle[0]?.isClosed()).toBe(true));
    const two = await startNode({ id: 2, peers: [node.peerAddress] });
    await expectOpen(two, 1);
  });

  it('gains nothing from repeating what a member said', async () => {
    const all = await TcpNodes.start(2);
    closing.push(() => all.close());
    const [one, two] = all.nodes as [TcpNode, TcpNode];
    const proxy = all.proxy(1, 2);
    proxy.isRecording = true;
    proxy.kill();
    await eventually(() => expect(one.transport.peers()[0]?.bulk.connectsTotal).toBe(2));
    one.transport.send([append({ from: one.id, to: two.id, number: 1 })]);
    await eventually(() => expect(two.handler.order).toEqual(['append:1']));
    const spoken = [...proxy.connections].find((it) => it.connectionClass === 'bulk');
    const recorded = Buffer.concat(spoken?.recorded ?? []);
    // The hello, the proof and the append.
    expect(recorded.length).toBeGreaterThan(180);
    const { socket, received, isClosed } = knock(two);
    socket.write(recorded);
    await eventually(() => expect(isClosed()).toBe(true));
    expect(two.transport.stats().refusedTotal.token).toBe(1);
    expect(two.handler.order).toEqual(['append:1']);
    // A challenge, and «wrong token».
    const answer = Buffer.concat(received);
    expect(answer.subarray(-1)).toEqual(Buffer.of(2));
    expect(one.transport.peers()[0]?.bulk).toMatchObject({ state: 'open', connectsTotal: 2 });
  });
});
