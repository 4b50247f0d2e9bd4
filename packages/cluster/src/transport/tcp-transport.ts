// The transport over TCP. Every node dials two connections to each peer and sends on those; on what
// peers dialed it only answers. Reasons: docs/adr/0006-peer-transport.md.

import { assert, idsEqual } from '@queen-ts/base';
import type { Clock, Id128, Rng } from '@queen-ts/base';
import { channelOf } from '@queen-ts/raft';
import type { Message, NodeId } from '@queen-ts/raft';
import type { Scheduler } from '../scheduler.ts';
import { Acceptor } from './acceptor.ts';
import type { RefusedPeer } from './acceptor.ts';
import { isLoopbackAddress, peerSecurityProblem } from './addresses.ts';
import type { HostPort, PeerAddress } from './addresses.ts';
import { DeferredReports } from './deferred-reports.ts';
import type { FramedSocket, SocketEnd } from './framed-socket.ts';
import type { LocalIdentity } from './handshake.ts';
import type { Hello } from './handshake-codec.ts';
import { InboundConnection } from './inbound-connection.ts';
import { encodeMessage, splitAppend } from './message-codec.ts';
import { Peer } from './peer.ts';
import { describeRefusal } from './refusal.ts';
import type { RefusalReason } from './refusal.ts';
import { encodeRequest } from './request-codec.ts';
import { FORMAT_LIMITS } from './transport-limits.ts';
import type { TransportLimits } from './transport-limits.ts';
import { PeerRequestError } from './transport.ts';
import type {
  ConnectionClass,
  PeerRequestOptions,
  PeerState,
  Transport,
  TransportEvent,
  TransportHandler,
  TransportStats,
} from './transport.ts';
import { TransportCounters } from './transport-counters.ts';

/** Everything a TCP transport is made of. */
export interface TcpTransportOptions {
  readonly nodeId: NodeId;
  /** Identity of this node's disk, in [1, 2^48). */
  readonly incarnation: number;
  /** undefined until the node belongs to a cluster. */
  readonly clusterId: Id128 | undefined;
  /** The shared secret; '' only if every address is a loopback one ({@link peerSecurityProblem}). */
  readonly token: string;
  /** Where to listen; port 0 takes a free one. */
  readonly listen: HostPort;
  /** Where peers reach this node; default: where it listens, unless that is no single address. */
  readonly advertise?: string;
  readonly peers: readonly PeerAddress[];
  readonly clock: Clock;
  readonly scheduler: Scheduler;
  /** For jitter. */
  readonly rng: Rng;
  /** Unpredictable bytes, for nonces. */
  readonly randomBytes: (size: number) => Uint8Array;
  readonly limits: TransportLimits;
  readonly onEvent: (event: TransportEvent) => void;
}

/** Peers over TCP. */
export class TcpTransport implements Transport {
  readonly #options: TcpTransportOptions;
  readonly #self: LocalIdentity;
  readonly #acceptor: Acceptor;
  readonly #peers = new Map<NodeId, Peer>();
  readonly #counters: TransportCounters;
  readonly #unreachable: DeferredReports;
  #handler: TransportHandler | undefined;
  #cancelTick: () => void = () => {};
  #stopping: Promise<void> | undefined;
  #port = 0;

  constructor(options: TcpTransportOptions) {
    const { token, listen, peers, clock, scheduler, limits, onEvent } = options;
    const problem = peerSecurityProblem({ token, listenHost: listen.host, peers });
    assert(problem === undefined, problem ?? '');
    this.#options = options;
    this.#self = {
      nodeId: options.nodeId,
      incarnation: options.incarnation,
      session: randomId(options.randomBytes),
      clusterId: options.clusterId,
      address: options.advertise ?? '',
    };
    this.#counters = new TransportCounters({ clock, limits, onEvent });
    this.#unreachable = new DeferredReports(scheduler, (id) => this.#handler?.unreachable(id));
    this.#acceptor = new Acceptor({
      handshake: this.#handshakeParts,
      scheduler,
      limits,
      admit: (hello) => this.#admit(hello),
      established: (socket, hello) => this.#established(socket, hello),
      refused: (peer) => this.#refused(peer),
    });
  }

  /** The port that this node listens on; 0 before `start`. */
  get port(): number {
    return this.#port;
  }

  /** Rejects if the address cannot be listened on. */
  async start(handler: TransportHandler): Promise<void> {
    assert(this.#handler === undefined, 'a transport starts once');
    this.#handler = handler;
    const { listen, advertise, peers } = this.#options;
    this.#port = await this.#acceptor.listen(listen);
    const isWildcard = listen.host === '0.0.0.0' || listen.host === '::';
    if (advertise === undefined && !isWildcard) {
      const host = listen.host.includes(':') ? `[${listen.host}]` : listen.host;
      this.#self.address = `${host}:${this.#port}`;
    }
    if (this.#stopping !== undefined) return;
    this.setPeers(peers);
    this.#armTick();
  }

  setPeers(peers: readonly PeerAddress[]): void {
    if (this.#stopping !== undefined) return;
    const wanted = new Map(peers.map(({ id, address }) => [id, address]));
    wanted.delete(this.#self.nodeId);
    for (const peer of this.#peers.values()) {
      if (!wanted.has(peer.id)) this.#forget(peer);
    }
    for (const [id, address] of wanted) {
      const peer = this.#peers.get(id) ?? this.#addPeer(id);
      peer.isConfigured = true;
      this.#dial(peer, address);
    }
  }

  setClusterId(clusterId: Id128): void {
    const known = this.#self.clusterId;
    assert(known === undefined || idsEqual(known, clusterId), 'the cluster id never changes');
    if (known !== undefined) return;
    this.#self.clusterId = clusterId;
    // Peers were let in without being asked for their cluster: ask them now.
    for (const peer of this.#peers.values()) peer.reconnect('the cluster id became known');
  }

  send(messages: readonly Message[]): void {
    for (const message of messages) {
      if (channelOf(message) === 'bulk') this.#sendBulk(message);
      else this.#peers.get(message.to)?.control.push(encodeMessage(message));
    }
  }

  async request(
    to: NodeId,
    request: { readonly kind: number; readonly bytes: Uint8Array },
    options: PeerRequestOptions,
  ): Promise<Uint8Array> {
    const peer = this.#peers.get(to);
    if (this.#stopping !== undefined) throw new PeerRequestError(to, 'stopped', 'notApplied');
    if (peer === undefined) throw new PeerRequestError(to, 'unreachable', 'notApplied');
    if (request.bytes.length > FORMAT_LIMITS.messageBytesMax) {
      throw new PeerRequestError(to, 'tooLarge', 'notApplied');
    }
    if (peer.requests.size >= this.#options.limits.openRequestsMax) {
      throw new PeerRequestError(to, 'overloaded', 'notApplied');
    }
    const remainingUs = Math.floor(options.deadlineUs - this.#options.clock.monotonicUs());
    const timeoutUs = Math.max(0, Math.min(remainingUs, Number.MAX_SAFE_INTEGER));
    const { id, answer } = peer.requests.open(options);
    const frame = encodeRequest({ id, ...request, timeoutUs });
    const verdict = peer.bulk.offer(frame, () => peer.requests.begin(id));
    if (verdict !== 'queued') peer.requests.fail(id, verdict);
    return answer;
  }

  peers(): readonly PeerState[] {
    return [...this.#peers.values()].map((peer) => peer.state()).sort((a, b) => a.id - b.id);
  }

  stats(): TransportStats {
    return this.#counters.stats();
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#close();
    return this.#stopping;
  }

  async #close(): Promise<void> {
    this.#cancelTick();
    this.#unreachable.close();
    for (const peer of this.#peers.values()) {
      peer.requests.failAll('stopped');
      peer.close();
    }
    this.#peers.clear();
    await this.#acceptor.close();
  }

  get #handshakeParts() {
    return {
      self: this.#self,
      token: this.#options.token,
      randomBytes: this.#options.randomBytes,
    };
  }

  #armTick(): void {
    const { scheduler, limits } = this.#options;
    this.#cancelTick = scheduler.after(limits.pingUs, () => {
      for (const peer of this.#peers.values()) peer.tick();
      this.#armTick();
    });
  }

  #sendBulk(message: Message): void {
    const peer = this.#peers.get(message.to);
    const pieces = message.kind === 'append' ? splitAppend(message) : [message];
    const isQueued =
      peer !== undefined &&
      pieces.every((piece) => peer.bulk.offer(encodeMessage(piece)) === 'queued');
    if (!isQueued) this.#unreachable.add(message.to);
  }

  #addPeer(id: NodeId): Peer {
    const { clock, scheduler, rng, limits } = this.#options;
    const parts = { handshake: this.#handshakeParts, clock, scheduler, rng, limits };
    const describe = (connectionClass: ConnectionClass): string =>
      `${connectionClass} connection to node ${id} at ${peer.address || 'an unknown address'}`;
    const peer: Peer = new Peer(id, parts, {
      opened: (connectionClass) =>
        this.#tell('connected', { id, connectionClass }, `${describe(connectionClass)}: open`),
      problem: (connectionClass, text) =>
        this.#tell(
          'disconnected',
          { id, connectionClass },
          `${describe(connectionClass)}: ${text}`,
        ),
      refused: (reason) => this.#counters.refused(reason),
      unreachable: () => this.#unreachable.add(id),
    });
    this.#peers.set(id, peer);
    return peer;
  }

  #dial(peer: Peer, address: string): void {
    const isAllowed = this.#options.token !== '' || isLoopbackAddress(address);
    peer.dial(isAllowed ? address : '');
    if (isAllowed || address === '') return;
    const text = `node ${peer.id} at ${address} is not on this machine: set QUEEN_RAFT_TOKEN`;
    this.#tell('refused', { id: peer.id, connectionClass: undefined }, text);
  }

  #forget(peer: Peer): void {
    this.#peers.delete(peer.id);
    peer.close();
  }

  #admit({ from, isAnswering }: Hello): RefusalReason | undefined {
    if (this.#stopping !== undefined) return 'overloaded';
    const peer = this.#peers.get(from.nodeId);
    // Else two nodes that have forgotten each other could keep each other for ever.
    if (isAnswering && peer?.isConfigured !== true) return 'stranger';
    if (peer === undefined) {
      return this.#peers.size < this.#options.limits.peersMax ? undefined : 'overloaded';
    }
    return peer.isOtherProcess(from.session) ? 'duplicate' : undefined;
  }

  #established(socket: FramedSocket, hello: Hello): (end: SocketEnd) => void {
    const { connectionClass } = hello;
    const id = hello.from.nodeId;
    const handler = this.#handler;
    assert(handler !== undefined, 'a peer before the start');
    const peer = this.#peers.get(id) ?? this.#addPeer(id);
    const connection = new InboundConnection({
      socket,
      connectionClass,
      self: this.#self.nodeId,
      peer: hello.from,
      clock: this.#options.clock,
      limits: this.#options.limits,
      load: peer.load,
      handler,
      overloaded: () => this.#counters.overloaded(),
      failed: (error) =>
        this.#tell(
          'handlerFailed',
          { id, connectionClass },
          `request of node ${id}: ${textOf(error)}`,
        ),
    });
    if (!peer.isConfigured) this.#dial(peer, hello.address);
    peer.addInbound(connectionClass, connection);
    return ({ isDamaged, reason }) => {
      connection.ended();
      peer.removeInbound(connectionClass, connection);
      if (isDamaged) this.#counters.damaged({ id, connectionClass }, reason);
      const isStranger = !peer.isConfigured && !peer.isConnectedHere;
      if (isStranger && this.#peers.get(id) === peer) this.#forget(peer);
    };
  }

  #refused({ reason, claimedId, remoteAddress }: RefusedPeer): void {
    const who = claimedId === 0 ? '' : ` that calls itself node ${claimedId}`;
    const text = `peer at ${remoteAddress}${who} refused: ${describeRefusal(reason)}`;
    this.#counters.refused(reason, { claimedId, text });
  }

  #tell(
    kind: TransportEvent['kind'],
    about: { readonly id: NodeId; readonly connectionClass: ConnectionClass | undefined },
    message: string,
  ): void {
    const { id: peer, connectionClass } = about;
    if (this.#stopping === undefined) {
      this.#options.onEvent({ kind, peer, connectionClass, message });
    }
  }
}

function randomId(randomBytes: (size: number) => Uint8Array): Id128 {
  const view = new DataView(randomBytes(16).slice().buffer);
  return [view.getUint32(0), view.getUint32(4), view.getUint32(8), view.getUint32(12)];
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : 'failed';
}
