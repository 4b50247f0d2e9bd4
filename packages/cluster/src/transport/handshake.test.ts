// The handshake without sockets: who is let in, and what a liar can do with what it hears.

import { SeededRng } from '@queen-ts/base';
import type { Id128 } from '@queen-ts/base';
import { toNodeId } from '@queen-ts/raft';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FRAME_HEADER_SIZE, FRAME_KIND, readFrameHeader } from './frame.ts';
import type { FrameKind } from './frame.ts';
import { AcceptorHandshake, DialerHandshake } from './handshake.ts';
import { encodeChallenge, proofOf } from './handshake-codec.ts';
import type { HandshakeParts, HandshakeStep } from './handshake.ts';
import type { RefusalReason } from './refusal.ts';
import { randomBytesOf } from './testing/random-bytes.ts';

const CLUSTER: Id128 = [1, 2, 3, 4];
const OTHER_CLUSTER: Id128 = [1, 2, 3, 5];

function partsOf(
  nodeId: number,
  options: { readonly token?: string; readonly clusterId?: Id128 | undefined } = {},
): HandshakeParts {
  return {
    self: {
      nodeId: toNodeId(nodeId),
      incarnation: 100 + nodeId,
      session: [nodeId, 0, 0, 7],
      clusterId: 'clusterId' in options ? options.clusterId : CLUSTER,
      address: `host-${nodeId}:7400`,
    },
    token: options.token ?? 'secret',
    randomBytes: randomBytesOf(new SeededRng(nodeId)),
  };
}

function dialerOf(parts: HandshakeParts, to = 2): DialerHandshake {
  return new DialerHandshake(parts, {
    to: toNodeId(to),
    connectionClass: 'bulk',
    isAnswering: false,
  });
}

function acceptorOf(parts: HandshakeParts, verdict?: RefusalReason): AcceptorHandshake {
  return new AcceptorHandshake(parts, () => verdict);
}

/** Hands a whole frame to one side. */
function give(side: DialerHandshake | AcceptorHandshake, frame: Uint8Array): HandshakeStep {
  const { kind } = readFrameHeader(frame, 0, 1024);
  return side.step(kind, frame.subarray(FRAME_HEADER_SIZE));
}

function frameOf(step: HandshakeStep): Uint8Array {
  if (step.kind === 'refused' && step.frame === undefined) throw new Error(step.reason);
  return step.frame!;
}

/** Runs a whole handshake; the outcomes of both sides. */
function shake(
  dialer: DialerHandshake,
  acceptor: AcceptorHandshake,
): { dialer: HandshakeStep | undefined; acceptor: HandshakeStep } {
  let atAcceptor = give(acceptor, dialer.begin());
  let atDialer: HandshakeStep | undefined;
  while (atAcceptor.kind === 'send') {
    atDialer = give(dialer, atAcceptor.frame);
    if (atDialer.kind !== 'send') return { dialer: atDialer, acceptor: atAcceptor };
    atAcceptor = give(acceptor, atDialer.frame);
  }
  if (atAcceptor.frame !== undefined) atDialer = give(dialer, atAcceptor.frame);
  return { dialer: atDialer, acceptor: atAcceptor };
}

describe('a handshake', () => {
  it('tells both sides who the other is', () => {
    const acceptor = acceptorOf(partsOf(2));
    const result = shake(dialerOf(partsOf(1)), acceptor);
    expect(result.dialer).toMatchObject({
      kind: 'done',
      peer: { nodeId: 2, incarnation: 102, session: [2, 0, 0, 7], clusterId: CLUSTER },
    });
    expect(result.acceptor).toMatchObject({ kind: 'done', peer: { nodeId: 1, incarnation: 101 } });
    expect(acceptor.hello).toMatchObject({ connectionClass: 'bulk', address: 'host-1:7400' });
  });

  it.each([
    ['the dialer', undefined, CLUSTER],
    ['the acceptor', CLUSTER, undefined],
    ['both', undefined, undefined],
  ])('succeeds while %s belongs to no cluster yet', (_, dialerCluster, acceptorCluster) => {
    const dialer = dialerOf(partsOf(1, { clusterId: dialerCluster }));
    const acceptor = acceptorOf(partsOf(2, { clusterId: acceptorCluster }));
    expect(shake(dialer, acceptor).dialer).toMatchObject({ kind: 'done' });
  });

  it.each<[RefusalReason, DialerHandshake, AcceptorHandshake]>([
    ['token', dialerOf(partsOf(1, { token: 'other' })), acceptorOf(partsOf(2))],
    ['token', dialerOf(partsOf(1, { token: '' })), acceptorOf(partsOf(2))],
    ['token', dialerOf(partsOf(1)), acceptorOf(partsOf(2, { token: '' }))],
    ['cluster', dialerOf(partsOf(1, { clusterId: OTHER_CLUSTER })), acceptorOf(partsOf(2))],
    ['node', dialerOf(partsOf(1), 3), acceptorOf(partsOf(2))],
    ['duplicate', dialerOf(partsOf(2)), acceptorOf(partsOf(2))],
    ['overloaded', dialerOf(partsOf(1)), acceptorOf(partsOf(2), 'overloaded')],
    ['duplicate', dialerOf(partsOf(1)), acceptorOf(partsOf(2), 'duplicate')],
  ])('is refused for the %s, and both sides know why', (reason, dialer, acceptor) => {
    expect(shake(dialer, acceptor)).toMatchObject({
      dialer: { kind: 'refused', reason },
      acceptor: { kind: 'refused', reason },
    });
  });

  it.each([
    ['cluster', partsOf(2, { clusterId: OTHER_CLUSTER })],
    ['node', partsOf(3)],
  ])('is refused by the dialer for the %s, should the acceptor not care', (reason, parts) => {
    const dialer = dialerOf(partsOf(1));
    const hello = dialer.begin().subarray(FRAME_HEADER_SIZE);
    const { address: _, ...from } = parts.self;
    const challenge = encodeChallenge({ version: 1, from, nonce: new Uint8Array(32) });
    expect(dialer.step(FRAME_KIND.challenge, challenge)).toMatchObject({ kind: 'send' });
    const ready = proofOf('acceptor', { token: 'secret', hello, challenge });
    expect(dialer.step(FRAME_KIND.ready, ready)).toEqual({ kind: 'refused', reason });
  });

  it('is refused when no version is common', () => {
    const acceptor = acceptorOf(partsOf(2));
    const hello = dialerOf(partsOf(1)).begin().slice(FRAME_HEADER_SIZE);
    hello[4] = 2;
    hello[5] = 3;
    expect(acceptor.step(FRAME_KIND.hello, hello)).toMatchObject({ reason: 'version' });
  });

  it('needs the frames in order', () => {
    const proof = new Uint8Array(32);
    expect(acceptorOf(partsOf(2)).step(FRAME_KIND.proof, proof)).toMatchObject({
      reason: 'malformed',
    });
    expect(dialerOf(partsOf(1)).step(FRAME_KIND.ready, proof)).toMatchObject({
      reason: 'malformed',
    });
    const acceptor = acceptorOf(partsOf(2));
    const hello = dialerOf(partsOf(1)).begin();
    expect(give(acceptor, hello)).toMatchObject({ kind: 'send' });
    expect(give(acceptor, hello)).toMatchObject({ reason: 'malformed' });
  });

  it('cannot be replayed: the recorded proof answers another challenge', () => {
    const dialer = dialerOf(partsOf(1));
    const parts = partsOf(2);
    const acceptor = acceptorOf(parts);
    const hello = dialer.begin();
    const proof = frameOf(give(dialer, frameOf(give(acceptor, hello))));
    expect(give(acceptor, proof)).toMatchObject({ kind: 'done' });

    const later = acceptorOf(parts);
    give(later, hello);
    expect(give(later, proof)).toMatchObject({ kind: 'refused', reason: 'token' });
  });

  it('cannot be reflected: a node takes nobody for itself, and its own proofs prove nothing', () => {
    // The attacker is dialed by node 1, and passes all it hears to another connection with node 1.
    const victim = partsOf(1);
    const dialer = dialerOf(victim);
    const acceptor = acceptorOf(victim);
    const challenge = frameOf(give(acceptor, dialer.begin()));
    const proof = frameOf(give(dialer, challenge));
    expect(give(acceptor, proof)).toMatchObject({ kind: 'refused', reason: 'node' });
    // And the proof of the dialer is none of the acceptor.
    const ready = proof.slice();
    expect(dialer.step(FRAME_KIND.ready, ready.subarray(FRAME_HEADER_SIZE))).toMatchObject({
      reason: 'token',
    });
  });

  it('fails when anything in its frames was changed on the way', () => {
    fc.assert(
      fc.property(
        fc.nat({ max: 2 }),
        fc.nat(),
        fc.integer({ min: 1, max: 255 }),
        (which, place, change) => {
          const dialer = dialerOf(partsOf(1));
          const acceptor = acceptorOf(partsOf(2));
          let count = 0;
          /** The body of the frame, changed if it is the chosen one. */
          const tamper = (frame: Uint8Array): [kind: FrameKind, body: Uint8Array] => {
            const { kind } = readFrameHeader(frame, 0, 1024);
            const body = frame.slice(FRAME_HEADER_SIZE);
            if (count === which) body[place % body.length]! ^= change;
            count += 1;
            return [kind, body];
          };
          const challenge = acceptor.step(...tamper(dialer.begin()));
          if (challenge.kind !== 'send') return;
          const proof = dialer.step(...tamper(challenge.frame));
          if (proof.kind !== 'send') return;
          expect(acceptor.step(...tamper(proof.frame))).toMatchObject({ kind: 'refused' });
        },
      ),
      { seed: 5, numRuns: 500 },
    );
  });

  it('ends in a refusal, never in an exception, whatever the frames hold', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...Object.values(FRAME_KIND)),
        fc.uint8Array({ maxLength: 300 }),
        (kind, body) => {
          expect(acceptorOf(partsOf(2)).step(kind, body).kind).toBe('refused');
          expect(dialerOf(partsOf(1)).step(kind, body).kind).toBe('refused');
        },
      ),
      { seed: 6, numRuns: 500 },
    );
  });
});
