// Peer addresses, `host:port`, and the rule that a cluster without a token stays on one machine.

import type { NodeId } from '@queen-ts/raft';
import { isIPv4 } from 'node:net';

/** Longest address, in bytes of UTF-8. */
export const PEER_ADDRESS_SIZE_MAX = 255;

/** Where a peer listens. */
export interface PeerAddress {
  readonly id: NodeId;
  /** `host:port`; an IPv6 address stands in brackets. */
  readonly address: string;
}

/** A host and a port apart. */
export interface HostPort {
  readonly host: string;
  readonly port: number;
}

const ADDRESS = /^(?:\[([0-9a-fA-F:.]+)\]|([A-Za-z0-9._-]+)):(\d{1,5})$/;

/** Splits `host:port`; undefined unless it is exactly that with a port in [1, 65535]. */
export function parseAddress(text: string): HostPort | undefined {
  if (text.length > PEER_ADDRESS_SIZE_MAX) return undefined;
  const match = ADDRESS.exec(text);
  const host = match?.[1] ?? match?.[2];
  const port = Number(match?.[3]);
  if (host === undefined || port < 1 || port > 65_535) return undefined;
  return { host, port };
}

/** True for a host that cannot be reached from another machine. */
export function isLoopbackHost(host: string): boolean {
  if (isIPv4(host)) return host.startsWith('127.');
  return host === 'localhost' || host === '::1' || /^::ffff:127\.[\d.]+$/i.test(host);
}

/**
 * Why these peers may not be spoken to with this token, in one line; undefined if they may. Without
 * a token anyone who reaches the port could write into the log, so then everything must be loopback.
 */
export function peerSecurityProblem(options: {
  readonly token: string;
  readonly listenHost: string;
  readonly peers: readonly PeerAddress[];
}): string | undefined {
  if (options.token !== '') return undefined;
  const open = options.peers.find(({ address }) => !isLoopbackAddress(address));
  if (open !== undefined) {
    return `peer ${open.id} at ${open.address} is not on this machine: set QUEEN_RAFT_TOKEN`;
  }
  if (isLoopbackHost(options.listenHost)) return undefined;
  return `peers can connect from other machines to ${options.listenHost}: set QUEEN_RAFT_TOKEN`;
}

/** True for `host:port` with a loopback host. */
export function isLoopbackAddress(address: string): boolean {
  const parsed = parseAddress(address);
  return parsed !== undefined && isLoopbackHost(parsed.host);
}
