// An HTTP proxy that can change what a client receives: shows that a check notices what it claims to.

import { createServer, request } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';

/** Gets the path and the body of a 200 or 201 answer and returns the body to hand on. */
export type Tamper = (path: string, text: string) => string;

/** Stands between a client and a broker. */
export class TamperingProxy {
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  /** Starts a proxy in front of the broker at `target`. */
  static async start(target: string, tamper: Tamper): Promise<TamperingProxy> {
    const server = createServer((incoming, outgoing) => {
      forward({ incoming, outgoing, target, tamper });
    });
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(0, '127.0.0.1', resolve);
    });
    return new TamperingProxy(server);
  }

  get url(): string {
    const address = this.#server.address();
    if (address === null || typeof address === 'string') throw new Error('the proxy is not open');
    return `http://127.0.0.1:${address.port}`;
  }

  /** Ends the proxy and its connections. */
  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}

function forward(exchange: {
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
  readonly target: string;
  readonly tamper: Tamper;
}): void {
  const { incoming, outgoing, target, tamper } = exchange;
  const { method = 'GET', url = '/', headers } = incoming;
  const onward = request(new URL(target), { method, path: url, headers }, (answer) => {
    const chunks: Buffer[] = [];
    answer.on('data', (chunk: Buffer) => chunks.push(chunk));
    answer.on('end', () => {
      const status = answer.statusCode ?? 502;
      outgoing.statusCode = status;
      if (status === 204) outgoing.end();
      else outgoing.end(tamper(url, Buffer.concat(chunks).toString('utf8')));
    });
  });
  onward.on('error', () => outgoing.destroy());
  outgoing.on('close', () => {
    if (!outgoing.writableFinished) onward.destroy();
  });
  incoming.pipe(onward);
}
