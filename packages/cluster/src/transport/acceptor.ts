// The listening side: accepts connections, lets each prove who it is, and hands on only those that
// did. What is not authenticated yet is bounded in number, in bytes and in time.

import type { AddressInfo, Server, Socket } from 'node:net';
import { createServer } from 'node:net';
import type { NodeId } from '@queen-ts/raft';
import type { Scheduler } from '../scheduler.ts';
import type { HostPort } from './addresses.ts';
import type { FrameKind } from './frame.ts';
import { FramedSocket } from './framed-socket.ts';
import type { SocketEnd } from './framed-socket.ts';
import { AcceptorHandshake } from './handshake.ts';
import type { HandshakeParts } from './handshake.ts';
import type { Hello } from './handshake-codec.ts';
import { HandshakeSink } from './handshake-sink.ts';
import type { RefusalReason } from './refusal.ts';
import { FORMAT_LIMITS } from './transport-limits.ts';
import type { TransportLimits } from './transport-limits.ts';

/** A handshake that was refused. */
export interface RefusedPeer {
  readonly reason: RefusalReason;
  /** Who it said it was, proven or not; 0 if it did not get that far. */
  readonly claimedId: NodeId | 0;
  readonly remoteAddress: string;
}

/** Parts of an {@link Acceptor}. */
export interface AcceptorParts {
  readonly handshake: HandshakeParts;
  readonly scheduler: Scheduler;
  readonly limits: TransportLimits;
  /** Decides on a peer that proved itself. */
  readonly admit: (hello: Hello) => RefusalReason | undefined;
  /** Takes an authenticated connection; returns what to call when it is over. */
  readonly established: (socket: FramedSocket, hello: Hello) => (end: SocketEnd) => void;
  readonly refused: (peer: RefusedPeer) => void;
}

/** Listens on one address. */
export class Acceptor {
  readonly #parts: AcceptorParts;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #handshakes = 0;

  constructor(parts: AcceptorParts) {
    this.#parts = parts;
    this.#server = createServer((socket) => this.#accept(socket));
  }

  /** Listens; resolves with the port, which the system chose if it was 0. Rejects as listen fails. */
  async listen({ host, port }: HostPort): Promise<number> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#server.once('error', reject);
    this.#server.once('close', reject);
    this.#server.listen({ host, port }, resolve);
    await promise;
    this.#server.off('error', reject);
    this.#server.off('close', reject);
    // Accepting may fail for want of descriptors; those who were not accepted dial again.
    this.#server.on('error', () => {});
    return (this.#server.address() as AddressInfo).port;
  }

  /** Stops listening and cuts off every connection; resolves when all are closed. */
  async close(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    // The error of a server that never listened says only that.
    this.#server.close(() => resolve());
    for (const socket of this.#sockets) socket.destroy();
    await promise;
  }

  #accept(raw: Socket): void {
    const { limits, scheduler } = this.#parts;
    const remoteAddress = raw.remoteAddress ?? 'unknown';
    if (this.#handshakes >= limits.handshakesMax) {
      this.#parts.refused({ reason: 'overloaded', claimedId: 0, remoteAddress });
      raw.destroy();
      return;
    }
    this.#sockets.add(raw);
    raw.once('close', () => this.#sockets.delete(raw));
    this.#handshakes += 1;
    const handshake = new AcceptorHandshake(this.#parts.handshake, this.#parts.admit);
    let finishHandshake = (): void => {};
    let onEnd = ({ isDamaged }: SocketEnd): void => {
      finishHandshake();
      if (isDamaged) this.#refused('malformed', handshake, remoteAddress);
    };
    const step = (kind: FrameKind, body: Uint8Array): void => {
      const result = handshake.step(kind, body);
      if (result.kind === 'send') return socket.write(result.frame);
      if (result.kind === 'refused') {
        this.#refused(result.reason, handshake, remoteAddress);
        return socket.endWith(result.frame ?? new Uint8Array(0), 'refused');
      }
      finishHandshake();
      if (result.frame !== undefined) socket.write(result.frame);
      onEnd = this.#parts.established(socket, handshake.hello!);
    };
    const socket: FramedSocket = new FramedSocket(raw, {
      sink: new HandshakeSink(step),
      bodyBytesMax: FORMAT_LIMITS.handshakeBodyBytesMax,
      bufferBytesMax: limits.socketBufferBytesMax,
      onEnd: (end) => onEnd(end),
    });
    const cancelTimer = scheduler.after(limits.handshakeUs, () => socket.end('no handshake'));
    finishHandshake = (): void => {
      cancelTimer();
      this.#handshakes -= 1;
    };
  }

  #refused(reason: RefusalReason, handshake: AcceptorHandshake, remoteAddress: string): void {
    const claimedId = handshake.hello?.from.nodeId ?? 0;
    this.#parts.refused({ reason, claimedId, remoteAddress });
  }
}
