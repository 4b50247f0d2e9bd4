// A relay between one node and a peer that it dials, with a hand on every connection: tests record,
// hold back, damage or break what passes.

import { connect, createServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';
import { FRAME_HEADER_SIZE } from '../frame.ts';
import type { ConnectionClass } from '../transport.ts';

/** Where a hello says which class the connection is of. */
const CLASS_AT = FRAME_HEADER_SIZE + 6;

/** One relayed connection. */
export interface ProxiedConnection {
  /** undefined until the hello passed. */
  connectionClass: ConnectionClass | undefined;
  readonly dialer: Socket;
  readonly acceptor: Socket;
  /** What the dialer said so far, if {@link TcpProxy.isRecording}. */
  readonly recorded: Buffer[];
  isHeld: boolean;
}

/** Relays to `127.0.0.1:targetPort`. */
export class TcpProxy {
  targetPort = 0;
  /** New connections are closed at once. */
  isCut = false;
  isRecording = false;
  /** Classes whose acceptors are not heard any more: what they say is thrown away. */
  readonly muted = new Set<ConnectionClass>();
  /** Changes what the dialer says on its way; undefined leaves it. */
  damage: ((chunk: Buffer, connection: ProxiedConnection) => void) | undefined;
  readonly connections = new Set<ProxiedConnection>();
  /** Classes of which nothing is read from the dialer any more. */
  readonly #held = new Set<ConnectionClass>();
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor() {
    this.#server = createServer((socket) => this.#relay(socket));
  }

  static async start(): Promise<TcpProxy> {
    const proxy = new TcpProxy();
    const { promise, resolve } = Promise.withResolvers<void>();
    proxy.#server.listen({ host: '127.0.0.1', port: 0 }, resolve);
    await promise;
    return proxy;
  }

  get address(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Breaks every connection. */
  kill(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Stops reading what the dialer says on connections of this class, also later ones. */
  hold(connectionClass: ConnectionClass): void {
    this.#held.add(connectionClass);
    this.#applyHolds();
  }

  /** Stops reading what the acceptor says on the connections of this class that exist. */
  holdAnswers(connectionClass: ConnectionClass): void {
    for (const connection of this.connections) {
      if (connection.connectionClass === connectionClass) connection.acceptor.pause();
    }
  }

  release(connectionClass: ConnectionClass): void {
    this.#held.delete(connectionClass);
    this.#applyHolds();
  }

  async close(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#server.close(() => resolve());
    this.kill();
    await promise;
  }

  #applyHolds(): void {
    for (const connection of this.connections) {
      const { connectionClass, dialer } = connection;
      connection.isHeld = connectionClass !== undefined && this.#held.has(connectionClass);
      if (connection.isHeld) dialer.pause();
      else dialer.resume();
    }
  }

  #relay(dialer: Socket): void {
    if (this.isCut) {
      dialer.destroy();
      return;
    }
    const acceptor = connect({ host: '127.0.0.1', port: this.targetPort });
    const connection: ProxiedConnection = {
      connectionClass: undefined,
      dialer,
      acceptor,
      recorded: [],
      isHeld: false,
    };
    this.connections.add(connection);
    for (const socket of [dialer, acceptor]) {
      this.#sockets.add(socket);
      socket.setNoDelay(true);
      socket.on('error', () => socket.destroy());
    }
    const end = (socket: Socket, other: Socket): void => {
      this.#sockets.delete(socket);
      this.connections.delete(connection);
      other.destroySoon();
    };
    dialer.on('close', () => end(dialer, acceptor));
    acceptor.on('close', () => end(acceptor, dialer));
    dialer.on('data', (chunk: Buffer) => this.#forward(connection, chunk));
    acceptor.on('drain', () => {
      if (!connection.isHeld) dialer.resume();
    });
    acceptor.on('data', (chunk: Buffer) => {
      const { connectionClass } = connection;
      const isMuted = connectionClass !== undefined && this.muted.has(connectionClass);
      if (!isMuted) dialer.write(chunk);
    });
  }

  #forward(connection: ProxiedConnection, chunk: Buffer): void {
    if (connection.connectionClass === undefined) {
      connection.connectionClass = chunk[CLASS_AT] === 1 ? 'bulk' : 'control';
      this.#applyHolds();
    }
    if (this.isRecording) connection.recorded.push(Buffer.from(chunk));
    this.damage?.(chunk, connection);
    if (!connection.acceptor.write(chunk)) connection.dialer.pause();
  }
}
