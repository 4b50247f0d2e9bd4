// The two sides of a handshake as step machines without I/O: a frame in, what to do out.
// The dialer proves itself first, so that nobody who merely connects is given a proof to guess from.

import { CodecError, idsEqual } from '@queen-ts/base';
import type { Id128 } from '@queen-ts/base';
import type { NodeId } from '@queen-ts/raft';
import { encodeFrame, FRAME_KIND, PEER_FORMAT_VERSION } from './frame.ts';
import type { FrameKind } from './frame.ts';
import {
  decodeChallenge,
  decodeHello,
  encodeChallenge,
  encodeHello,
  NONCE_SIZE,
  proofOf,
  proofsEqual,
} from './handshake-codec.ts';
import type { Challenge, Hello, PeerIdentity } from './handshake-codec.ts';
import { refusalCode, refusalOf } from './refusal.ts';
import type { RefusalReason } from './refusal.ts';
import type { ConnectionClass } from './transport.ts';

/** This node, as it introduces itself. */
export interface LocalIdentity {
  readonly nodeId: NodeId;
  readonly incarnation: number;
  readonly session: Id128;
  clusterId: Id128 | undefined;
  /** Where peers reach it; '' if not known. */
  address: string;
}

/** What both sides need. */
export interface HandshakeParts {
  readonly self: LocalIdentity;
  /** The shared secret; '' proves nothing and is only for a cluster on one machine. */
  readonly token: string;
  /** Unpredictable bytes. */
  readonly randomBytes: (size: number) => Uint8Array;
}

/** Whom a connection is for. */
export interface DialTarget {
  readonly to: NodeId;
  readonly connectionClass: ConnectionClass;
  /** As in {@link Hello}. */
  readonly isAnswering: boolean;
}

/*
 * dialer                          acceptor
 * hello (ids, class, nonce)  →
 *                            ←    challenge (ids, version, nonce)
 * proof                      →
 *                            ←    ready (its own proof), or refused (why) at any point
 */

/** What a frame led to. */
export type HandshakeStep =
  | { readonly kind: 'send'; readonly frame: Uint8Array }
  /** The connection may be used; `frame`, if any, goes out first. */
  | { readonly kind: 'done'; readonly peer: PeerIdentity; readonly frame?: Uint8Array }
  /** The connection is to be closed, after `frame`, if any. */
  | { readonly kind: 'refused'; readonly reason: RefusalReason; readonly frame?: Uint8Array };

/** The side that connected. */
export class DialerHandshake {
  readonly #parts: HandshakeParts;
  readonly #to: NodeId;
  readonly #hello: Uint8Array;
  /** The acceptor's challenge, once it came. */
  #challenge: { readonly bytes: Uint8Array; readonly value: Challenge } | undefined;

  constructor(parts: HandshakeParts, target: DialTarget) {
    this.#parts = parts;
    this.#to = target.to;
    const { address, ...from } = parts.self;
    this.#hello = encodeHello({
      versionMin: PEER_FORMAT_VERSION,
      versionMax: PEER_FORMAT_VERSION,
      connectionClass: target.connectionClass,
      isAnswering: target.isAnswering,
      from,
      to: target.to,
      nonce: parts.randomBytes(NONCE_SIZE),
      address,
    });
  }

  /** The first frame. */
  begin(): Uint8Array {
    return encodeFrame(FRAME_KIND.hello, this.#hello);
  }

  /** Takes the acceptor's next frame. */
  step(kind: FrameKind, body: Uint8Array): HandshakeStep {
    if (kind === FRAME_KIND.refused) {
      // Not proven to come from a member, so only a hint for the operator.
      const reason = body.length === 1 ? refusalOf(body[0]!) : undefined;
      return { kind: 'refused', reason: reason ?? 'malformed' };
    }
    if (kind === FRAME_KIND.challenge && this.#challenge === undefined) return this.#prove(body);
    if (kind === FRAME_KIND.ready && this.#challenge !== undefined) {
      return this.#finish(this.#challenge.value, body);
    }
    return { kind: 'refused', reason: 'malformed' };
  }

  #prove(body: Uint8Array): HandshakeStep {
    const value = decoded(decodeChallenge, body);
    if (value === undefined) return { kind: 'refused', reason: 'malformed' };
    if (value.version !== PEER_FORMAT_VERSION) return { kind: 'refused', reason: 'version' };
    this.#challenge = { bytes: body.slice(), value };
    return { kind: 'send', frame: encodeFrame(FRAME_KIND.proof, this.#proof('dialer')) };
  }

  #finish({ from }: Challenge, body: Uint8Array): HandshakeStep {
    if (!proofsEqual(this.#proof('acceptor'), body)) return { kind: 'refused', reason: 'token' };
    if (from.nodeId !== this.#to) return { kind: 'refused', reason: 'node' };
    if (isOtherCluster(this.#parts.self, from)) return { kind: 'refused', reason: 'cluster' };
    return { kind: 'done', peer: from };
  }

  #proof(side: 'dialer' | 'acceptor'): Uint8Array {
    const challenge = this.#challenge?.bytes ?? new Uint8Array(0);
    return proofOf(side, { token: this.#parts.token, hello: this.#hello, challenge });
  }
}

/** The side that was connected to. */
export class AcceptorHandshake {
  readonly #parts: HandshakeParts;
  /** Decides on a peer that proved itself; a reason refuses it. */
  readonly #admit: (hello: Hello) => RefusalReason | undefined;
  #hello: { readonly bytes: Uint8Array; readonly value: Hello } | undefined;
  #challenge = new Uint8Array(0);

  constructor(parts: HandshakeParts, admit: (hello: Hello) => RefusalReason | undefined) {
    this.#parts = parts;
    this.#admit = admit;
  }

  /** What the dialer said; proven only once a step was `done`. */
  get hello(): Hello | undefined {
    return this.#hello?.value;
  }

  /** Takes the dialer's next frame. */
  step(kind: FrameKind, body: Uint8Array): HandshakeStep {
    if (kind === FRAME_KIND.hello && this.#hello === undefined) return this.#challengeDialer(body);
    if (kind === FRAME_KIND.proof && this.#hello !== undefined) {
      return this.#finish(this.#hello.value, body);
    }
    return refuse('malformed');
  }

  #challengeDialer(body: Uint8Array): HandshakeStep {
    const value = decoded(decodeHello, body);
    if (value === undefined) return refuse('malformed');
    const hasVersion =
      value.versionMin <= PEER_FORMAT_VERSION && value.versionMax >= PEER_FORMAT_VERSION;
    if (!hasVersion) return refuse('version');
    this.#hello = { bytes: body.slice(), value };
    const { address: _, ...from } = this.#parts.self;
    const nonce = this.#parts.randomBytes(NONCE_SIZE);
    this.#challenge = encodeChallenge({ version: PEER_FORMAT_VERSION, from, nonce }).slice();
    return { kind: 'send', frame: encodeFrame(FRAME_KIND.challenge, this.#challenge) };
  }

  #finish(hello: Hello, body: Uint8Array): HandshakeStep {
    if (!proofsEqual(this.#proof('dialer'), body)) return refuse('token');
    const { self } = this.#parts;
    if (hello.to !== self.nodeId) return refuse('node');
    if (hello.from.nodeId === self.nodeId) return refuse('duplicate');
    if (isOtherCluster(self, hello.from)) return refuse('cluster');
    const reason = this.#admit(hello);
    if (reason !== undefined) return refuse(reason);
    const frame = encodeFrame(FRAME_KIND.ready, this.#proof('acceptor'));
    return { kind: 'done', peer: hello.from, frame };
  }

  #proof(side: 'dialer' | 'acceptor'): Uint8Array {
    const hello = this.#hello?.bytes ?? new Uint8Array(0);
    return proofOf(side, { token: this.#parts.token, hello, challenge: this.#challenge });
  }
}

/** A refusal that the other side is told. */
function refuse(reason: RefusalReason): HandshakeStep {
  const frame = encodeFrame(FRAME_KIND.refused, Uint8Array.of(refusalCode(reason)));
  return { kind: 'refused', reason, frame };
}

/** Two clusters that are both known and differ. A node without one may yet join either. */
function isOtherCluster(self: LocalIdentity, peer: PeerIdentity): boolean {
  if (self.clusterId === undefined || peer.clusterId === undefined) return false;
  return !idsEqual(self.clusterId, peer.clusterId);
}

function decoded<T>(decode: (bytes: Uint8Array) => T, bytes: Uint8Array): T | undefined {
  try {
    return decode(bytes);
  } catch (error) {
    if (error instanceof CodecError) return undefined;
    throw error;
  }
}
