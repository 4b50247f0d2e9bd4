// A bare TCP connection for what an HTTP client refuses to send: malformed requests, bodies that
// stop half-way, readers that stop reading, connections that reset.

import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { within } from './eventually.ts';

const DEADLINE_MS = 10_000;

/** One connection to a broker. */
export class RawConnection {
  readonly #socket: Socket;
  readonly #closed: Promise<void>;
  #received = '';

  private constructor(socket: Socket) {
    this.#socket = socket;
    this.#closed = new Promise((resolve) => {
      socket.on('close', () => {
        resolve();
      });
    });
    // A reset is one of the outcomes that tests look for; it ends in 'close'.
    socket.on('error', () => undefined);
    socket.on('data', (chunk: Buffer) => {
      this.#received += chunk.toString('latin1');
    });
  }

  /** Connects to the host and port of an http URL. */
  static async open(url: string): Promise<RawConnection> {
    const { hostname, port } = new URL(url);
    const socket = connect({ host: hostname, port: Number(port) });
    await within(
      `a connection to ${url}`,
      new Promise<void>((resolve, reject) => {
        socket.once('connect', () => {
          resolve();
        });
        socket.once('error', reject);
      }),
      DEADLINE_MS,
    );
    return new RawConnection(socket);
  }

  /** Everything received so far, one character per byte. */
  get received(): string {
    return this.#received;
  }

  /** Sends bytes. */
  send(bytes: string | Uint8Array): void {
    this.#socket.write(bytes);
  }

  /** Stops reading, so that the kernel's buffers fill up. */
  pause(): void {
    this.#socket.pause();
  }

  /** Resolves once at least one byte was received. */
  async firstByte(): Promise<void> {
    if (this.#received !== '') return;
    const arrived = new Promise<void>((resolve) => {
      this.#socket.once('data', () => {
        resolve();
      });
    });
    await within('the first byte of an answer', arrived, DEADLINE_MS);
  }

  /** Resolves once the peer has closed the connection. */
  async closed(): Promise<void> {
    await within('the end of a connection', this.#closed, DEADLINE_MS);
  }

  /** Ends the connection with a reset. */
  reset(): void {
    this.#socket.resetAndDestroy();
  }

  /** Ends the connection in order. */
  end(): void {
    this.#socket.end();
  }
}
