// The transport without sockets: nodes of one process that hand each other what has been through the
// real frames. Lossless and ordered until a test cuts it; runs on any clock, virtual ones included.

import type { Clock } from '@queen-ts/base';
import { channelOf } from '@queen-ts/raft';
import type { Message, NodeId } from '@queen-ts/raft';
import type { Scheduler } from '../../scheduler.ts';
import type { PeerAddress } from '../addresses.ts';
import { DeferredReports } from '../deferred-reports.ts';
import { IncomingRequests } from '../incoming-requests.ts';
import { OpenRequests } from '../open-requests.ts';
import type { ResponseFrame } from '../request-codec.ts';
import { TransportCounters } from '../transport-counters.ts';
import { FORMAT_LIMITS } from '../transport-limits.ts';
import type { TransportLimits } from '../transport-limits.ts';
import { PeerRequestError } from '../transport.ts';
import type {
  ConnectionClass,
  LinkState,
  PeerRequestOptions,
  PeerState,
  Transport,
  TransportHandler,
  TransportStats,
} from '../transport.ts';
import { throughTheWire } from './wire.ts';

const CLASSES: readonly ConnectionClass[] = ['bulk', 'control'];

/** Parts of a network. */
export interface MemoryNetworkOptions {
  readonly clock: Clock;
  readonly scheduler: Scheduler;
  readonly limits: TransportLimits;
  /** Time that everything travels, in microseconds. */
  readonly latencyUs: number;
}

/** What connects the nodes. */
export class MemoryNetwork {
  readonly options: MemoryNetworkOptions;
  readonly #nodes = new Map<NodeId, MemoryTransport>();
  readonly #cuts = new Set<string>();

  constructor(options: MemoryNetworkOptions) {
    this.options = options;
  }

  /** A node of this network; it is connected once it has started. */
  create(nodeId: NodeId, peers: readonly PeerAddress[]): MemoryTransport {
    return new MemoryTransport(this, nodeId, peers);
  }

  /** Lets nothing through from `from` to `to`, in this direction only, and forgets what is under way. */
  cut(from: NodeId, to: NodeId): void {
    this.#cuts.add(`${from}>${to}`);
    this.#nodes.get(from)?.lose(to);
    this.#nodes.get(to)?.abortRequestsOf(from);
  }

  /** Takes back {@link cut}. */
  heal(from: NodeId, to: NodeId): void {
    this.#cuts.delete(`${from}>${to}`);
  }

  /** The node that `from` can send to; undefined if nothing would arrive. */
  reach(from: NodeId, to: NodeId): MemoryTransport | undefined {
    return this.#cuts.has(`${from}>${to}`) ? undefined : this.#nodes.get(to);
  }

  join(node: MemoryTransport): void {
    this.#nodes.set(node.nodeId, node);
  }

  leave(node: MemoryTransport): void {
    if (this.#nodes.get(node.nodeId) !== node) return;
    this.#nodes.delete(node.nodeId);
    for (const other of this.#nodes.values()) {
      other.lose(node.nodeId);
      other.abortRequestsOf(node.nodeId);
    }
  }
}

/** What a node keeps about a peer. */
interface MemoryPeer {
  readonly address: string;
  readonly requests: OpenRequests;
  sentBytes: number;
  dropped: number;
}

/** One node. Requests are matched and bounded by the same code as over TCP. */
export class MemoryTransport implements Transport {
  readonly nodeId: NodeId;
  readonly #network: MemoryNetwork;
  readonly #initialPeers: readonly PeerAddress[];
  readonly #peers = new Map<NodeId, MemoryPeer>();
  readonly #incoming = new Map<NodeId, IncomingRequests>();
  readonly #counters: TransportCounters;
  readonly #unreachable: DeferredReports;
  #handler: TransportHandler | undefined;
  #isStopped = false;

  constructor(network: MemoryNetwork, nodeId: NodeId, peers: readonly PeerAddress[]) {
    this.nodeId = nodeId;
    this.#network = network;
    this.#initialPeers = peers;
    const { clock, scheduler, limits } = network.options;
    this.#counters = new TransportCounters({ clock, limits, onEvent: () => {} });
    this.#unreachable = new DeferredReports(scheduler, (id) => this.#handler?.unreachable(id));
  }

  start(handler: TransportHandler): Promise<void> {
    this.#handler = handler;
    this.setPeers(this.#initialPeers);
    this.#network.join(this);
    return Promise.resolve();
  }

  setPeers(peers: readonly PeerAddress[]): void {
    const wanted = new Map(peers.map(({ id, address }) => [id, address]));
    wanted.delete(this.nodeId);
    for (const [id, { requests }] of this.#peers) {
      if (wanted.has(id)) continue;
      requests.failAll('lost');
      this.#peers.delete(id);
    }
    for (const [id, address] of wanted) {
      if (!this.#peers.has(id)) this.#peers.set(id, this.#peerOf(id, address));
    }
  }

  setClusterId(): void {}

  send(messages: readonly Message[]): void {
    for (const message of messages) {
      const connectionClass = channelOf(message);
      const arrived = throughTheWire(message, connectionClass);
      const isUnderWay = this.#carry(message.to, 0, (node) => node.#handler?.receive(arrived));
      if (!isUnderWay && connectionClass === 'bulk') this.#unreachable.add(message.to);
    }
  }

  async request(
    to: NodeId,
    request: { readonly kind: number; readonly bytes: Uint8Array },
    options: PeerRequestOptions,
  ): Promise<Uint8Array> {
    const { clock, limits } = this.#network.options;
    const peer = this.#peers.get(to);
    if (this.#isStopped) throw new PeerRequestError(to, 'stopped', 'notApplied');
    if (peer === undefined) throw new PeerRequestError(to, 'unreachable', 'notApplied');
    if (request.bytes.length > FORMAT_LIMITS.messageBytesMax) {
      throw new PeerRequestError(to, 'tooLarge', 'notApplied');
    }
    if (peer.requests.size >= limits.openRequestsMax) {
      throw new PeerRequestError(to, 'overloaded', 'notApplied');
    }
    const timeoutUs = Math.max(0, options.deadlineUs - clock.monotonicUs());
    const { id, answer } = peer.requests.open(options);
    const bytes = request.bytes.slice();
    const begin = (node: MemoryTransport): void => {
      if (!peer.requests.begin(id)) return;
      node.#incomingOf(this.nodeId).begin({ id, kind: request.kind, timeoutUs, bytes });
    };
    if (!this.#carry(to, bytes.length, begin)) peer.requests.fail(id, 'unreachable');
    return answer;
  }

  peers(): readonly PeerState[] {
    const states = [...this.#peers].map(([id, peer]) => this.#stateOf(id, peer));
    return states.sort((a, b) => a.id - b.id);
  }

  stats(): TransportStats {
    return this.#counters.stats();
  }

  stop(): Promise<void> {
    if (this.#isStopped) return Promise.resolve();
    this.#isStopped = true;
    this.#unreachable.close();
    for (const { requests } of this.#peers.values()) requests.failAll('stopped');
    for (const incoming of this.#incoming.values()) incoming.abortAll();
    this.#peers.clear();
    this.#network.leave(this);
    return Promise.resolve();
  }

  /** What is under way to `to` is lost. */
  lose(to: NodeId): void {
    const peer = this.#peers.get(to);
    if (peer === undefined) return;
    peer.requests.failAll('lost');
    this.#unreachable.add(to);
  }

  /** The peer that asked is gone. */
  abortRequestsOf(from: NodeId): void {
    this.#incoming.get(from)?.abortAll();
    this.#incoming.delete(from);
  }

  /** Does something at a peer after the latency, if the way still exists by then. */
  #carry(to: NodeId, size: number, arrive: (node: MemoryTransport) => void): boolean {
    const { scheduler, latencyUs } = this.#network.options;
    const peer = this.#peers.get(to);
    const target = this.#isStopped ? undefined : this.#network.reach(this.nodeId, to);
    if (peer === undefined || target === undefined) {
      if (peer !== undefined) peer.dropped += 1;
      return false;
    }
    peer.sentBytes += size;
    scheduler.after(latencyUs, () => {
      if (this.#network.reach(this.nodeId, to) === target && !this.#isStopped) arrive(target);
    });
    return true;
  }

  #incomingOf(from: NodeId): IncomingRequests {
    const known = this.#incoming.get(from);
    if (known !== undefined) return known;
    const { clock, limits } = this.#network.options;
    const incoming = new IncomingRequests({
      from,
      clock,
      limits,
      load: { count: 0, bytes: 0 },
      handle: (request) => this.#handler!.request(request),
      respond: (response) => this.#respond(from, response),
      overloaded: () => this.#counters.overloaded(),
      failed: () => {},
    });
    this.#incoming.set(from, incoming);
    return incoming;
  }

  /** An answer travels on the asker's connection: it needs the asker's way, not one of its own. */
  #respond(to: NodeId, response: ResponseFrame): void {
    const { scheduler, latencyUs } = this.#network.options;
    const bytes = response.bytes.slice();
    scheduler.after(latencyUs, () => {
      const asker = this.#network.reach(this.nodeId, to);
      if (asker === undefined) return;
      asker.#peers.get(this.nodeId)?.requests.settle({ ...response, bytes });
    });
  }

  #peerOf(id: NodeId, address: string): MemoryPeer {
    const { clock, scheduler, limits } = this.#network.options;
    const cancelRemote = (request: number): void => {
      this.#carry(id, 0, (node) => node.#incoming.get(this.nodeId)?.cancel(request));
    };
    const resolutionUs = limits.deadlineResolutionUs;
    const requests = new OpenRequests({ to: id, clock, scheduler, resolutionUs, cancelRemote });
    return { address, requests, sentBytes: 0, dropped: 0 };
  }

  #stateOf(id: NodeId, peer: MemoryPeer): PeerState {
    const isOpen = this.#network.reach(this.nodeId, id) !== undefined;
    const isInbound = this.#network.reach(id, this.nodeId) !== undefined && isOpen;
    const link: LinkState = {
      state: isOpen ? 'open' : 'waiting',
      connectsTotal: isOpen ? 1 : 0,
      queuedBytes: 0,
      sentBytesTotal: peer.sentBytes,
      receivedBytesTotal: 0,
      droppedTotal: peer.dropped,
      problem: isOpen ? '' : 'cut',
    };
    return {
      id,
      address: peer.address,
      control: link,
      bulk: link,
      inbound: isInbound ? CLASSES : [],
      roundTripUs: undefined,
      openRequests: peer.requests.size,
    };
  }
}
