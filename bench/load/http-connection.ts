// A connection that sends one request and waits for its answer, over a bare socket: a generator that
// shares the machine with the broker must cost little.

import { connect } from 'node:net';
import type { Socket } from 'node:net';

const HEAD_END = Buffer.from('\r\n\r\n');
const CONTENT_LENGTH = /\r\ncontent-length: *(\d+)/i;
const CHUNKED = /\r\ntransfer-encoding: *chunked/i;
const CLOSING = /\r\nconnection: *close/i;
const LINE_END = Buffer.from('\r\n');

/** An answer; `status` 0: none came. */
export interface RawAnswer {
  readonly status: number;
  readonly body: Buffer;
}

const NO_ANSWER: RawAnswer = { status: 0, body: Buffer.alloc(0) };
const EMPTY: Buffer = Buffer.alloc(0);

/** One keep-alive connection; dials again after it broke. */
export class HttpConnection {
  readonly #host: string;
  readonly #port: number;
  readonly #timeoutMs: number;
  #socket: Socket | undefined;
  #received: Buffer = EMPTY;
  #resolve: ((answer: RawAnswer) => void) | undefined;

  /** @param timeoutMs longest wait for an answer, which then counts as none. */
  constructor(url: string, timeoutMs: number) {
    const { hostname, port } = new URL(url);
    this.#host = hostname;
    this.#port = Number(port === '' ? 80 : port);
    this.#timeoutMs = timeoutMs;
  }

  /** Head of a request, for {@link send}. */
  head(method: string, path: string): string {
    return `${method} ${path} HTTP/1.1\r\nHost: ${this.#host}:${this.#port}\r\n`;
  }

  /** Sends a request and resolves with its answer. Calls must not overlap. */
  async send(head: string, body?: string): Promise<RawAnswer> {
    const socket = this.#socket ?? this.#dial();
    const { promise, resolve } = Promise.withResolvers<RawAnswer>();
    this.#resolve = resolve;
    if (body === undefined) socket.write(`${head}\r\n`);
    else {
      const length = Buffer.byteLength(body);
      socket.write(
        `${head}Content-Type: application/json\r\nContent-Length: ${length}\r\n\r\n${body}`,
      );
    }
    return promise;
  }

  close(): void {
    this.#socket?.destroy();
  }

  #dial(): Socket {
    const socket = connect({ host: this.#host, port: this.#port, noDelay: true });
    this.#socket = socket;
    this.#received = EMPTY;
    socket.setTimeout(this.#timeoutMs, () => socket.destroy());
    // What an error means is what its close means: no answer.
    socket.on('error', () => socket.destroy());
    socket.on('close', () => {
      if (this.#socket === socket) this.#socket = undefined;
      this.#settle(NO_ANSWER);
    });
    socket.on('data', (chunk: Buffer) => this.#take(socket, chunk));
    return socket;
  }

  #take(socket: Socket, chunk: Buffer): void {
    this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk]);
    const headEnd = this.#received.indexOf(HEAD_END);
    if (headEnd < 0) return;
    const head = this.#received.toString('latin1', 0, headEnd);
    const body = completeBody(head, this.#received.subarray(headEnd + HEAD_END.length));
    if (body === undefined) return;
    this.#received = EMPTY;
    const answer = { status: Number(head.slice(9, 12)), body };
    if (CLOSING.test(head)) {
      this.#socket = undefined;
      socket.destroy();
    }
    this.#settle(answer);
  }

  #settle(answer: RawAnswer): void {
    const resolve = this.#resolve;
    this.#resolve = undefined;
    resolve?.(answer);
  }
}

/** The body if it is complete; nothing can follow it, since one request is in flight. */
function completeBody(head: string, rest: Buffer): Buffer | undefined {
  const length = CONTENT_LENGTH.exec(head);
  if (length !== null) return rest.length >= Number(length[1]) ? rest : undefined;
  return CHUNKED.test(head) ? joinChunks(rest) : EMPTY;
}

function joinChunks(bytes: Buffer): Buffer | undefined {
  const chunks: Buffer[] = [];
  for (let at = 0; ;) {
    const lineEnd = bytes.indexOf(LINE_END, at);
    if (lineEnd < 0) return undefined;
    const size = Number.parseInt(bytes.toString('latin1', at, lineEnd), 16);
    const start = lineEnd + LINE_END.length;
    const end = start + size + LINE_END.length;
    if (bytes.length < end) return undefined;
    if (size === 0) return Buffer.concat(chunks);
    chunks.push(bytes.subarray(start, start + size));
    at = end;
  }
}
