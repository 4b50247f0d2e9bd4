// One TCP connection as frames: reads verified ones, writes what a queue holds as fast as the other
// side takes it, and notices when the other side is gone. Knows neither handshake nor messages.

import type { Socket } from 'node:net';
import { FrameReader } from './frame-reader.ts';
import type { FrameSink } from './frame-reader.ts';
import { PeerProtocolError } from './peer-protocol-error.ts';
import type { SendQueue } from './send-queue.ts';

/** Idle time before the operating system probes a connection. */
const KEEP_ALIVE_MS = 10_000;

/** How a connection ended. */
export interface SocketEnd {
  /** One line. */
  readonly reason: string;
  /** The other side sent bytes that are no valid frames. */
  readonly isDamaged: boolean;
}

/** Owns a socket from its first byte to its end. */
export class FramedSocket {
  readonly #socket: Socket;
  readonly #bufferBytesMax: number;
  #reader: FrameReader;
  #onEnd: ((end: SocketEnd) => void) | undefined;
  #queue: SendQueue | undefined;
  #isCorked = false;
  /** Probes since anything was received, or, for a waiting writer, since anything was taken. */
  #silentTicks = 0;
  #sentBytes = 0;
  #receivedBytes = 0;

  /**
   * @param options.sink takes the frames, at first those of a handshake.
   * @param options.onEnd called once when the connection is over, whoever ended it.
   */
  constructor(
    socket: Socket,
    options: {
      readonly sink: FrameSink;
      readonly bodyBytesMax: number;
      readonly bufferBytesMax: number;
      readonly onEnd: (end: SocketEnd) => void;
    },
  ) {
    this.#socket = socket;
    this.#bufferBytesMax = options.bufferBytesMax;
    this.#reader = new FrameReader(options.sink, options.bodyBytesMax);
    this.#onEnd = options.onEnd;
    socket.setNoDelay(true);
    socket.setKeepAlive(true, KEEP_ALIVE_MS);
    socket.on('data', (chunk: Buffer) => this.#receive(chunk));
    socket.on('drain', () => {
      this.#silentTicks = 0;
      this.pump();
    });
    socket.on('error', (error: NodeJS.ErrnoException) => this.end(error.code ?? error.message));
    socket.on('close', () => this.end('closed by the peer'));
  }

  get isOver(): boolean {
    return this.#onEnd === undefined;
  }

  get sentBytes(): number {
    return this.#sentBytes;
  }

  get receivedBytes(): number {
    return this.#receivedBytes;
  }

  /** The handshake is done: frames go to `sink` from the next one on, and may be larger. */
  upgrade(sink: FrameSink, bodyBytesMax: number): void {
    this.#reader.hand(sink, bodyBytesMax);
  }

  /** From now on sends what the queue holds; call {@link pump} whenever something was added. */
  attach(queue: SendQueue): void {
    this.#queue = queue;
    this.pump();
  }

  /** Writes frames until the queue is empty or the socket has enough to do. */
  pump(): void {
    if (this.#queue === undefined || this.isOver) return;
    while (this.#socket.writableLength < this.#bufferBytesMax) {
      const frame = this.#queue.nextFrame();
      if (frame === undefined) return;
      for (const piece of frame) this.write(piece);
    }
  }

  /** Writes bytes past the queue. Everything written in one turn leaves in one system call. */
  write(bytes: Uint8Array): void {
    if (this.isOver) return;
    if (!this.#isCorked) {
      this.#isCorked = true;
      this.#socket.cork();
      queueMicrotask(() => {
        this.#isCorked = false;
        this.#socket.uncork();
      });
    }
    this.#sentBytes += bytes.length;
    this.#socket.write(bytes);
  }

  /**
   * One probe interval passed. Returns how many did since the other side showed that it lives. Counts
   * calls, not time: a process that was stopped blames nobody for it.
   */
  tick(): number {
    this.#silentTicks += 1;
    return this.#silentTicks;
  }

  /** Ends the connection at once, whatever is still to be sent. Idempotent. */
  end(reason: string): void {
    this.#finish({ reason, isDamaged: false });
  }

  /** Sends one last frame and ends the connection in order. */
  endWith(frame: Uint8Array, reason: string): void {
    if (this.isOver) return;
    this.#socket.end(frame);
    this.#reader.stop();
    const socket = this.#socket;
    this.#tell({ reason, isDamaged: false });
    // Whoever does not close its side is cut off; reading on would let it talk for ever.
    socket.destroySoon();
  }

  #receive(chunk: Buffer): void {
    this.#silentTicks = 0;
    this.#receivedBytes += chunk.length;
    try {
      this.#reader.push(chunk);
    } catch (error) {
      if (!(error instanceof PeerProtocolError)) throw error;
      this.#finish({ reason: error.message, isDamaged: true });
    }
  }

  #finish(end: SocketEnd): void {
    if (this.isOver) return;
    this.#reader.stop();
    this.#socket.destroy();
    this.#tell(end);
  }

  #tell(end: SocketEnd): void {
    const onEnd = this.#onEnd;
    this.#onEnd = undefined;
    this.#queue = undefined;
    onEnd?.(end);
  }
}
