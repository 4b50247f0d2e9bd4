// An HTTP client that sends exactly the bytes a test asks for, and reads answers one by one.

import { connect } from 'node:net';
import type { Socket } from 'node:net';

const HEAD_END = '\r\n\r\n';

/** One answer. Header names are in lower case. */
export interface RawAnswer {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
  /** The body as JSON. */
  readonly json: unknown;
}

/** One connection to 127.0.0.1. */
export class RawClient {
  readonly #socket: Socket;
  #received = Buffer.alloc(0);
  #isEnded = false;
  #failure: Error | undefined;
  #wake: () => void = () => {};

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('data', (chunk) => {
      this.#received = Buffer.concat([this.#received, chunk]);
      this.#wake();
    });
    socket.on('error', (error) => {
      this.#failure = error;
    });
    const ended = (): void => {
      this.#isEnded = true;
      this.#wake();
    };
    socket.on('end', ended);
    socket.on('close', ended);
  }

  /** Connects. */
  static async open(port: number): Promise<RawClient> {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', () => resolve());
      socket.once('error', reject);
    });
    return new RawClient(socket);
  }

  /** Sends bytes; resolves when the system has taken them over. */
  send(bytes: string | Uint8Array): Promise<void> {
    return new Promise((resolve) => {
      this.#socket.write(bytes, () => resolve());
    });
  }

  /** Sends a POST with a declared length. */
  post(path: string, body: string | Uint8Array): Promise<void> {
    const bytes = typeof body === 'string' ? Buffer.from(body) : body;
    const head = `POST ${path} HTTP/1.1\r\nHost: test\r\nContent-Length: ${bytes.length}\r\n\r\n`;
    return this.send(Buffer.concat([Buffer.from(head), bytes]));
  }

  /** Sends a GET. */
  get(path: string): Promise<void> {
    return this.send(`GET ${path} HTTP/1.1\r\nHost: test\r\n\r\n`);
  }

  /** Resolves with the next answer; rejects when the connection ends before it is complete. */
  async answer(): Promise<RawAnswer> {
    for (;;) {
      const answer = this.#takeAnswer();
      if (answer !== undefined) return answer;
      if (this.#isEnded) {
        const text = `connection ended after ${JSON.stringify(this.#received.toString('latin1'))}`;
        throw new Error(text, { cause: this.#failure });
      }
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  /** Resolves when at least so many bytes have come that no answer has taken. */
  async received(count: number): Promise<void> {
    while (this.#received.length < count && !this.#isEnded) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  /** Resolves when the server has ended the connection. */
  async ended(): Promise<void> {
    while (!this.#isEnded) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  /** Sends nothing any more, and still reads. */
  end(): void {
    this.#socket.end();
  }

  /** Leaves without a word. */
  destroy(): void {
    this.#socket.destroy();
  }

  #takeAnswer(): RawAnswer | undefined {
    const headEnd = this.#received.indexOf(HEAD_END);
    if (headEnd < 0) return undefined;
    const [statusLine, ...lines] = this.#received.toString('latin1', 0, headEnd).split('\r\n');
    const headers = new Map(
      lines.map((line) => {
        const colon = line.indexOf(':');
        return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
      }),
    );
    const bodyStart = headEnd + HEAD_END.length;
    const bodyEnd = bodyStart + Number(headers.get('content-length') ?? 0);
    if (this.#received.length < bodyEnd) return undefined;
    const body = this.#received.toString('utf8', bodyStart, bodyEnd);
    this.#received = this.#received.subarray(bodyEnd);
    return {
      status: Number(statusLine?.split(' ')[1]),
      headers,
      body,
      get json() {
        return JSON.parse(body) as unknown;
      },
    };
  }
}
