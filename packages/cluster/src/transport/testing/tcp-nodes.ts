// Started nodes on the loopback, each pair with a proxy in either direction.

import { SeededRng } from '@queen-ts/base';
import type { Id128 } from '@queen-ts/base';
import { toNodeId } from '@queen-ts/raft';
import type { NodeId } from '@queen-ts/raft';
import { vi } from 'vitest';
import type { PeerAddress } from '../addresses.ts';
import { TcpTransport } from '../tcp-transport.ts';
import { TRANSPORT_LIMITS_DEFAULT } from '../transport-limits.ts';
import type { TransportLimits } from '../transport-limits.ts';
import type { TransportEvent } from '../transport.ts';
import { randomBytesOf } from './random-bytes.ts';
import { RealTime } from './real-time.ts';
import { RecordingHandler } from './recording-handler.ts';
import { TcpProxy } from './tcp-proxy.ts';

const DEADLINE_MS = 15_000;
const POLL_MS = 3;

// Real sockets on a busy machine: a test that waits must end by its own deadline, not by the runner's.
vi.setConfig({ testTimeout: 4 * DEADLINE_MS, hookTimeout: 4 * DEADLINE_MS });

/** How one node differs from a usual one. */
export interface TcpNodeOptions {
  readonly id: number;
  readonly peers?: readonly PeerAddress[];
  readonly token?: string;
  readonly clusterId?: Id128 | undefined;
  readonly seed?: number;
  readonly limits?: Partial<TransportLimits>;
  readonly port?: number;
}

/** A transport and everything around it in reach. */
export class TcpNode {
  readonly id: NodeId;
  readonly transport: TcpTransport;
  readonly handler = new RecordingHandler();
  readonly events: TransportEvent[] = [];
  readonly time = new RealTime();

  constructor(options: TcpNodeOptions) {
    this.id = toNodeId(options.id);
    const rng = new SeededRng(options.seed ?? options.id);
    this.transport = new TcpTransport({
      nodeId: this.id,
      incarnation: 100 + options.id,
      clusterId: 'clusterId' in options ? options.clusterId : [1, 2, 3, 4],
      token: options.token ?? 'secret',
      listen: { host: '127.0.0.1', port: options.port ?? 0 },
      peers: options.peers ?? [],
      clock: this.time,
      scheduler: this.time,
      rng,
      randomBytes: randomBytesOf(rng),
      limits: { ...TRANSPORT_LIMITS_DEFAULT, ...options.limits },
      onEvent: (event) => this.events.push(event),
    });
  }

  static async start(options: TcpNodeOptions): Promise<TcpNode> {
    const node = new TcpNode(options);
    await node.transport.start(node.handler);
    return node;
  }

  get address(): string {
    return `127.0.0.1:${this.transport.port}`;
  }

  /** Where this node is found by its peers. */
  get peerAddress(): PeerAddress {
    return { id: this.id, address: this.address };
  }

  /** The event lines of one kind. */
  linesOf(kind: TransportEvent['kind']): string[] {
    return this.events.filter((event) => event.kind === kind).map(({ message }) => message);
  }
}

/** Nodes and the proxies between them. */
export class TcpNodes {
  readonly nodes: readonly TcpNode[];
  readonly #proxies: ReadonlyMap<string, TcpProxy>;

  private constructor(nodes: readonly TcpNode[], proxies: ReadonlyMap<string, TcpProxy>) {
    this.nodes = nodes;
    this.#proxies = proxies;
  }

  /** Starts nodes 1 to `count`; resolves when everybody is connected to everybody. */
  static async start(
    count: number,
    options: Omit<TcpNodeOptions, 'id' | 'peers'> = {},
  ): Promise<TcpNodes> {
    const ids = Array.from({ length: count }, (_, i) => i + 1);
    const proxies = new Map<string, TcpProxy>();
    for (const from of ids) {
      for (const to of ids) {
        if (from !== to) proxies.set(`${from}>${to}`, await TcpProxy.start());
      }
    }
    const nodes: TcpNode[] = [];
    for (const id of ids) {
      const node = await TcpNode.start({ ...options, id });
      for (const from of ids) {
        const proxy = proxies.get(`${from}>${id}`);
        if (proxy !== undefined) proxy.targetPort = node.transport.port;
      }
      nodes.push(node);
    }
    const all = new TcpNodes(nodes, proxies);
    for (const node of nodes) node.transport.setPeers(all.peersOf(node.id));
    await eventually(() => {
      const isOpen = nodes.every(({ transport }) =>
        transport.peers().every((peer) => peer.inbound.length === 2 && isConnected(peer)),
      );
      if (!isOpen) throw new Error('not connected yet');
    });
    return all;
  }

  /** The addresses that node `id` dials: its proxies. */
  peersOf(id: number): PeerAddress[] {
    return this.nodes
      .filter((node) => node.id !== id)
      .map((node) => ({ id: node.id, address: this.proxy(id, node.id).address }));
  }

  proxy(from: number, to: number): TcpProxy {
    const proxy = this.#proxies.get(`${from}>${to}`);
    if (proxy === undefined) throw new Error(`no way from ${from} to ${to}`);
    return proxy;
  }

  async close(): Promise<void> {
    for (const { transport } of this.nodes) await transport.stop();
    for (const proxy of this.#proxies.values()) await proxy.close();
  }
}

/** Resolves once `check` does not throw; rejects with its last error after a generous deadline. */
export async function eventually(check: () => void): Promise<void> {
  await vi.waitFor(check, { timeout: DEADLINE_MS, interval: POLL_MS });
}

function isConnected(peer: ReturnType<TcpTransport['peers']>[number]): boolean {
  return peer.control.state === 'open' && peer.bulk.state === 'open';
}
