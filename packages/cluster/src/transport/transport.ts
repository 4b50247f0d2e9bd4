// The port between a node and its peers: raft messages one way, requests with an answer. Two
// implementations keep this contract: TCP, and an in-memory network for tests.

import type { Id128 } from '@queen-ts/base';
import type { Message, NodeId } from '@queen-ts/raft';
import type { CancelSignal } from '../broker.ts';
import type { PeerAddress } from './addresses.ts';
import type { RefusalReason } from './refusal.ts';

/** Which of a peer's two connections: nothing on `bulk` may delay what goes on `control`. */
export type ConnectionClass = 'control' | 'bulk';

/** A request from a peer. */
export interface PeerRequest {
  /** Who asks; proven by the handshake. */
  readonly from: NodeId;
  /** What is asked, in [0, 256); the transport does not read it. */
  readonly kind: number;
  /** An exact-size buffer that the handler owns. */
  readonly bytes: Uint8Array;
  /** When the asker gives up, in monotonic microseconds of this node's clock. */
  readonly deadlineUs: number;
  /** Aborts when the asker gave up or cannot be answered any more: undo what may be undone. */
  readonly signal: AbortSignal;
}

/** What a node does with what arrives. Calls never happen inside a call of the transport. */
export interface TransportHandler {
  /**
   * Takes a message for this node from an authenticated peer. In the order of sending within one
   * class and one connection; any may be missing. Buffers of entries are exact-size and the handler's.
   */
  receive(message: Message): void;
  /** Bulk messages to this peer were lost or are about to be: what is in flight must be probed. */
  unreachable(to: NodeId): void;
  /**
   * Answers a request. Expected failures belong into the bytes; a rejection reaches the asker as
   * `failed` without its reason. The bytes must not change afterwards.
   */
  request(request: PeerRequest): Promise<Uint8Array>;
}

/** How a request may be waited for. */
export interface PeerRequestOptions {
  /** Monotonic microseconds of this node's clock after which the answer is of no use. */
  readonly deadlineUs: number;
  /** Aborts when nobody waits for the answer any more; the peer is told. */
  readonly signal?: CancelSignal;
}

/**
 * Why a request has no answer.
 * `unreachable`: no connection. `overloaded`: too much is queued here, or in work there. `lost`: the
 * connection broke. `timeout`: the deadline passed. `cancelled`: by its signal. `failed`: the peer's
 * handler rejected. `tooLarge`: more than one message may hold. `stopped`: this node stops.
 */
export type PeerRequestFailure =
  | 'unreachable'
  | 'overloaded'
  | 'lost'
  | 'timeout'
  | 'cancelled'
  | 'failed'
  | 'tooLarge'
  | 'stopped';

/** Rejection of {@link Transport.request}. */
export class PeerRequestError extends Error {
  override readonly name = 'PeerRequestError';
  readonly reason: PeerRequestFailure;
  /** `notApplied`: the peer did not begin with it. `unknown`: it may have. */
  readonly outcome: 'notApplied' | 'unknown';

  constructor(to: NodeId, reason: PeerRequestFailure, outcome: 'notApplied' | 'unknown') {
    super(`request to node ${to}: ${reason}`);
    this.reason = reason;
    this.outcome = outcome;
  }
}

/** State of the connection that this node dials for one class. */
export interface LinkState {
  /** `waiting`: for the next attempt. */
  readonly state: 'connecting' | 'open' | 'waiting';
  /** Connections that came to be usable, so far. */
  readonly connectsTotal: number;
  /** Waiting to be sent, in bytes. */
  readonly queuedBytes: number;
  readonly sentBytesTotal: number;
  readonly receivedBytesTotal: number;
  /** Messages that were never handed to a connection: queue full or not connected. */
  readonly droppedTotal: number;
  /** Why it is not open, in one line; '' while it is. */
  readonly problem: string;
}

/** What is known about the way to one peer, for status and metrics. */
export interface PeerState {
  readonly id: NodeId;
  /** `host:port`; '' while not known. */
  readonly address: string;
  readonly control: LinkState;
  readonly bulk: LinkState;
  /** Classes on which the peer is connected to this node. */
  readonly inbound: readonly ConnectionClass[];
  /** Last measured round trip on `control`, in microseconds; undefined before the first. */
  readonly roundTripUs: number | undefined;
  /** Requests sent and not answered yet. */
  readonly openRequests: number;
}

/** Counters of one transport. */
export interface TransportStats {
  /** Handshakes refused by this node, by reason. */
  readonly refusedTotal: Readonly<Record<RefusalReason, number>>;
  /** Connections that peers dialed and that were closed for bytes that are no valid frames. */
  readonly damagedTotal: number;
  /** Requests of peers refused because too many were in work. */
  readonly overloadedTotal: number;
}

/** Something worth a line in the log. */
export interface TransportEvent {
  readonly kind: 'connected' | 'disconnected' | 'refused' | 'damaged' | 'handlerFailed';
  /** 0 if it is not known who. */
  readonly peer: NodeId | 0;
  readonly connectionClass: ConnectionClass | undefined;
  /** One line without secrets or bytes of the other side. */
  readonly message: string;
}

/** A node's way to its peers. */
export interface Transport {
  /** Begins to listen and to dial; resolves when peers can connect. Called once. */
  start(handler: TransportHandler): Promise<void>;
  /**
   * The peers to dial from now on; this node is left out. Connections with all others are closed. One
   * that is not named may still connect, and is then dialed back for as long as it stays: that is how
   * a new member answers before it knows the others, and how a removed one learns that it is.
   */
  setPeers(peers: readonly PeerAddress[]): void;
  /** This node learned which cluster it belongs to. Peers of another one are refused from now on. */
  setClusterId(clusterId: Id128): void;
  /** Sends messages to their addressees, each on its class; any may be lost. Never throws. */
  send(messages: readonly Message[]): void;
  /**
   * Asks a peer and resolves with its answer; rejects with {@link PeerRequestError}.
   * @param request.bytes must not change until the promise settles.
   */
  request(
    to: NodeId,
    request: { readonly kind: number; readonly bytes: Uint8Array },
    options: PeerRequestOptions,
  ): Promise<Uint8Array>;
  /** By ascending id. */
  peers(): readonly PeerState[];
  stats(): TransportStats;
  /** Closes everything; open requests reject with `stopped`. Idempotent. */
  stop(): Promise<void>;
}
