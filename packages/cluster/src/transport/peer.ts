// Everything this node has to do with one peer: the two connections it dials, those the peer dialed,
// and the requests in both directions.

import { idsEqual } from '@queen-ts/base';
import type { Id128 } from '@queen-ts/base';
import type { NodeId } from '@queen-ts/raft';
import type { InboundConnection } from './inbound-connection.ts';
import type { RequestLoad } from './incoming-requests.ts';
import { OpenRequests } from './open-requests.ts';
import { OutboundLink } from './outbound-link.ts';
import type { OutboundLinkParts } from './outbound-link.ts';
import type { RefusalReason } from './refusal.ts';
import { encodeCancel } from './request-codec.ts';
import type { ConnectionClass, PeerState } from './transport.ts';

/** What a peer tells the transport. */
export interface PeerEvents {
  readonly opened: (connectionClass: ConnectionClass) => void;
  readonly problem: (connectionClass: ConnectionClass, text: string) => void;
  readonly refused: (reason: RefusalReason) => void;
  /** What was on its way on `bulk` is lost. */
  readonly unreachable: () => void;
}

/** One per known or connected peer. */
export class Peer {
  readonly id: NodeId;
  readonly control: OutboundLink;
  readonly bulk: OutboundLink;
  readonly requests: OpenRequests;
  /** Of the peer's requests to this node. */
  readonly load: RequestLoad = { count: 0, bytes: 0 };
  /** Named by `setPeers`; others are kept only while they are connected to this node. */
  isConfigured = false;
  #address = '';
  readonly #inbound = new Map<ConnectionClass, InboundConnection>();

  constructor(id: NodeId, parts: OutboundLinkParts, events: PeerEvents) {
    this.id = id;
    this.requests = new OpenRequests({
      to: id,
      clock: parts.clock,
      scheduler: parts.scheduler,
      resolutionUs: parts.limits.deadlineResolutionUs,
      cancelRemote: (request) => void this.bulk.offer(encodeCancel(request)),
    });
    const link = (connectionClass: ConnectionClass, lost: (wasSilent: boolean) => void) =>
      new OutboundLink({ to: id, connectionClass, isAnswering: () => !this.isConfigured }, parts, {
        opened: () => events.opened(connectionClass),
        lost: ({ wasSilent }) => lost(wasSilent),
        problem: (text) => events.problem(connectionClass, text),
        refused: events.refused,
        response: (response) => this.requests.settle(response),
      });
    this.control = link('control', (wasSilent) => {
      // The bulk connection of a dead host would take longer to show it.
      if (wasSilent) this.bulk.reconnect('the peer is silent on its control connection');
    });
    this.bulk = link('bulk', () => {
      this.requests.failAll('lost');
      events.unreachable();
    });
  }

  get address(): string {
    return this.#address;
  }

  get isConnectedHere(): boolean {
    return this.#inbound.size > 0;
  }

  /** Dials this address from now on; '' dials nothing. */
  dial(address: string): void {
    this.#address = address;
    this.control.dial(address);
    this.bulk.dial(address);
  }

  /** Whether a live connection of another process speaks under this peer's id. */
  isOtherProcess(session: Id128): boolean {
    return [...this.#inbound.values()].some(({ peer }) => !idsEqual(peer.session, session));
  }

  /** The peer connected to this node; an older connection of the class is replaced. */
  addInbound(connectionClass: ConnectionClass, connection: InboundConnection): void {
    const replaced = this.#inbound.get(connectionClass);
    this.#inbound.set(connectionClass, connection);
    replaced?.end('replaced by a newer connection');
    // It is up, so it is worth dialing now.
    this.control.hurry();
    this.bulk.hurry();
  }

  /** A connection that the peer dialed is over. */
  removeInbound(connectionClass: ConnectionClass, connection: InboundConnection): void {
    if (this.#inbound.get(connectionClass) === connection) this.#inbound.delete(connectionClass);
  }

  /** Drops all connections, to make them again with another handshake. */
  reconnect(reason: string): void {
    this.#endInbound(reason);
    this.control.reconnect(reason);
    this.bulk.reconnect(reason);
  }

  /** Probes the connections; called once a probe interval. */
  tick(): void {
    this.control.tick();
    this.bulk.tick();
    for (const [connectionClass, connection] of this.#inbound) {
      if (!connection.tick()) continue;
      if (connectionClass === 'control') return this.#endInbound('the peer is silent');
      connection.end('the peer is silent');
    }
  }

  state(): PeerState {
    return {
      id: this.id,
      address: this.#address,
      control: this.control.status(),
      bulk: this.bulk.status(),
      inbound: [...this.#inbound.keys()].sort(),
      roundTripUs: this.control.roundTripUs,
      openRequests: this.requests.size,
    };
  }

  /** Closes everything for good. */
  close(): void {
    this.control.close();
    this.bulk.close();
    this.#endInbound('closed');
  }

  #endInbound(reason: string): void {
    for (const connection of this.#inbound.values()) connection.end(reason);
  }
}
