// The handshake's frames as bytes and the proof of the shared secret. The layout of these bodies never
// changes: it is how two versions find out whether they have one in common.

import { ByteReader, ByteWriter, CodecError, encodeUtf8 } from '@queen-ts/base';
import type { Id128 } from '@queen-ts/base';
import type { NodeId } from '@queen-ts/raft';
import { createHmac, timingSafeEqual } from 'node:crypto';
import { PEER_ADDRESS_SIZE_MAX } from './addresses.ts';
import { checkNodeId } from './member-codec.ts';
import type { ConnectionClass } from './transport.ts';

/** Size of a nonce and of a proof, in bytes. */
export const NONCE_SIZE = 32;

/** «QSTP» as bytes. */
const MAGIC = 0x5054_5351;
const CLASSES: readonly ConnectionClass[] = ['control', 'bulk'];
const ZERO_ID: Id128 = [0, 0, 0, 0];
const INCARNATION_MAX = 2 ** 48 - 1;

/** Which side of a connection proves itself. */
export type HandshakeSide = 'dialer' | 'acceptor';

/** What a node says about itself. */
export interface PeerIdentity {
  readonly nodeId: NodeId;
  /** Of its disk, in [1, 2^48). */
  readonly incarnation: number;
  /** Of its process: drawn at start. Tells a restarted process from a second one. */
  readonly session: Id128;
  /** undefined: it belongs to no cluster yet. */
  readonly clusterId: Id128 | undefined;
}

/** First frame, from the side that dialed. */
export interface Hello {
  readonly versionMin: number;
  readonly versionMax: number;
  readonly connectionClass: ConnectionClass;
  /** The acceptor is no peer of the dialer, which only dials back. */
  readonly isAnswering: boolean;
  readonly from: PeerIdentity;
  /** The node that is meant to answer. */
  readonly to: NodeId;
  readonly nonce: Uint8Array;
  /** Where the dialer itself listens; '' if it does not say. */
  readonly address: string;
}

/** Answer to a hello. */
export interface Challenge {
  /** The version that both sides speak from here on. */
  readonly version: number;
  readonly from: PeerIdentity;
  readonly nonce: Uint8Array;
}

/** Encodes a hello. */
export function encodeHello(hello: Hello): Uint8Array {
  const writer = new ByteWriter();
  writer.u32(MAGIC);
  writer.u8(hello.versionMin);
  writer.u8(hello.versionMax);
  writer.u8(CLASSES.indexOf(hello.connectionClass));
  writer.u8(hello.isAnswering ? 1 : 0);
  writeIdentity(writer, hello.from);
  writer.u32(hello.to);
  writer.raw(hello.nonce);
  writer.string(hello.address);
  return writer.written();
}

/** Reads a hello. Throws CodecError. */
export function decodeHello(bytes: Uint8Array): Hello {
  const reader = new ByteReader(bytes);
  if (reader.u32() !== MAGIC) throw new CodecError('not the peer protocol');
  const versionMin = reader.u8();
  const versionMax = reader.u8();
  const connectionClass = CLASSES[reader.u8()];
  if (connectionClass === undefined) throw new CodecError('unknown connection class');
  const answering = reader.u8();
  if (answering > 1) throw new CodecError('unknown flag in a hello');
  const from = readIdentity(reader);
  const to = checkNodeId(reader.u32());
  const nonce = reader.raw(NONCE_SIZE).slice();
  const address = reader.string();
  if (address.length > PEER_ADDRESS_SIZE_MAX) throw new CodecError('address is too long');
  reader.expectEnd();
  const isAnswering = answering === 1;
  return { versionMin, versionMax, connectionClass, isAnswering, from, to, nonce, address };
}

/** Encodes a challenge. */
export function encodeChallenge(challenge: Challenge): Uint8Array {
  const writer = new ByteWriter();
  writer.u8(challenge.version);
  writeIdentity(writer, challenge.from);
  writer.raw(challenge.nonce);
  return writer.written();
}

/** Reads a challenge. Throws CodecError. */
export function decodeChallenge(bytes: Uint8Array): Challenge {
  const reader = new ByteReader(bytes);
  const version = reader.u8();
  const from = readIdentity(reader);
  const nonce = reader.raw(NONCE_SIZE).slice();
  reader.expectEnd();
  return { version, from, nonce };
}

/**
 * What proves that `side` knows the token: a MAC over both frames of this handshake, so over both
 * nonces, ids, sessions, the class and the version. It is of no use on another connection, for the
 * other side, or for another node.
 */
export function proofOf(
  side: HandshakeSide,
  options: { readonly token: string; readonly hello: Uint8Array; readonly challenge: Uint8Array },
): Uint8Array {
  const size = new ByteWriter();
  size.u32(options.hello.length);
  return createHmac('sha256', encodeUtf8(options.token))
    .update(`queen-ts peer handshake 1 ${side}\0`)
    .update(size.written())
    .update(options.hello)
    .update(options.challenge)
    .digest();
}

/** Compares two proofs in constant time. */
export function proofsEqual(expected: Uint8Array, given: Uint8Array): boolean {
  return expected.length === given.length && timingSafeEqual(expected, given);
}

function writeIdentity(writer: ByteWriter, identity: PeerIdentity): void {
  writer.u32(identity.nodeId);
  writer.uint53(identity.incarnation);
  writeId(writer, identity.session);
  writeId(writer, identity.clusterId ?? ZERO_ID);
}

function readIdentity(reader: ByteReader): PeerIdentity {
  const nodeId = checkNodeId(reader.u32());
  const incarnation = reader.uint53();
  if (incarnation < 1 || incarnation > INCARNATION_MAX) throw new CodecError('incarnation');
  const session = readId(reader);
  const clusterId = readId(reader);
  const isKnown = clusterId.some((word) => word !== 0);
  return { nodeId, incarnation, session, clusterId: isKnown ? clusterId : undefined };
}

function writeId(writer: ByteWriter, id: Id128): void {
  for (const word of id) writer.u32(word);
}

function readId(reader: ByteReader): Id128 {
  return [reader.u32(), reader.u32(), reader.u32(), reader.u32()];
}
