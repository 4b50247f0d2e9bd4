// The demo's HTTP client: plain node:http over kept-alive connections, one method per route used.

import { Agent, request } from 'node:http';

/** Above the longest long poll, so that a lost answer shows as an error and not as a hang. */
const ANSWER_DEADLINE_MS = 30_000;

/** Verdict of a push on one item. */
export interface Verdict {
  readonly status: 'queued' | 'duplicate' | 'error';
  readonly offset?: number;
}

/** One delivered message, as far as the demo looks at it. */
export interface DeliveredMessage {
  readonly transactionId: string;
  readonly partition: string;
  readonly partitionId: string;
  readonly leaseId: string;
  readonly offset: number;
  readonly data: unknown;
}

/** What a wildcard pop asks for. */
export interface PopRequest {
  readonly queue: string;
  readonly group: string;
  readonly batch: number;
  readonly partitions: number;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

interface Answer {
  readonly status: number;
  readonly text: string;
}

/** Raised when the broker cannot be reached or answers something other than the contract says. */
export class DemoError extends Error {
  override readonly name = 'DemoError';
}

/** Talks to one node. */
export class BrokerClient {
  readonly #url: URL;
  readonly #agent = new Agent({ keepAlive: true });

  constructor(url: URL) {
    this.#url = url;
  }

  /** Throws unless a node answers and calls itself healthy. */
  async checkHealth(): Promise<void> {
    const answer = await this.#send('GET', '/health').catch((error: unknown) => {
      throw new DemoError(
        `no broker answers at ${this.#url.origin}: start one with "npm start", ` +
          'or name another with QUEEN_URL',
        { cause: error },
      );
    });
    if (answer.status !== 200) {
      throw new DemoError(`the node at ${this.#url.origin} is not healthy: ${answer.text}`);
    }
  }

  /** Pushes items given as raw JSON; returns one verdict per item. */
  async push(items: readonly string[]): Promise<readonly Verdict[]> {
    const answer = await this.#send('POST', '/api/v1/push', {
      body: `{"items":[${items.join(',')}]}`,
    });
    return parseAnswer<readonly Verdict[]>(answer, 201, 'push');
  }

  /** Long-polls a queue; empty when nothing came before the timeout. */
  async pop(pop: PopRequest): Promise<readonly DeliveredMessage[]> {
    const query = new URLSearchParams({
      consumerGroup: pop.group,
      subscriptionMode: 'all',
      batch: String(pop.batch),
      partitions: String(pop.partitions),
      wait: 'true',
      timeout: String(pop.timeoutMs),
    });
    const path = `/api/v1/pop/queue/${encodeURIComponent(pop.queue)}?${query.toString()}`;
    const answer = await this.#send('GET', path, { signal: pop.signal });
    if (answer.status === 204) return [];
    return parseAnswer<{ readonly messages: readonly DeliveredMessage[] }>(answer, 200, 'pop')
      .messages;
  }

  /** Acknowledges delivered messages as completed; throws unless every one is accepted. */
  async ack(group: string, messages: readonly DeliveredMessage[]): Promise<void> {
    const acknowledgments = messages.map(({ transactionId, partitionId, leaseId }) => ({
      transactionId,
      partitionId,
      leaseId,
      status: 'completed',
    }));
    const body = JSON.stringify({ consumerGroup: group, acknowledgments });
    const answer = await this.#send('POST', '/api/v1/ack/batch', { body });
    const verdicts = parseAnswer<readonly { readonly success: boolean }[]>(answer, 200, 'ack');
    const isComplete = verdicts.length === messages.length;
    if (!isComplete || !verdicts.every(({ success }) => success)) {
      throw new DemoError(`the broker refused an acknowledgement: ${answer.text.slice(0, 500)}`);
    }
  }

  /** Drops all connections. */
  close(): void {
    this.#agent.destroy();
  }

  async #send(
    method: string,
    path: string,
    options: { readonly body?: string; readonly signal?: AbortSignal } = {},
  ): Promise<Answer> {
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    const outgoing = request(this.#url, {
      method,
      path,
      agent: this.#agent,
      headers: options.body === undefined ? {} : { 'content-type': 'application/json' },
      ...(options.signal === undefined ? {} : { signal: options.signal }),
    });
    outgoing.setTimeout(ANSWER_DEADLINE_MS, () => {
      outgoing.destroy(new DemoError(`the broker did not answer ${method} ${path} in time`));
    });
    const fail = (error: Error): void => {
      const text = `the broker did not answer ${method} ${path}: ${error.message}`;
      reject(error instanceof DemoError ? error : new DemoError(text, { cause: error }));
    };
    outgoing.on('error', fail);
    outgoing.on('response', (incoming) => {
      const chunks: Buffer[] = [];
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
      incoming.on('error', fail);
      incoming.on('end', () => {
        const text = Buffer.concat(chunks).toString('utf8');
        resolve({ status: incoming.statusCode ?? 0, text });
      });
    });
    outgoing.end(options.body);
    return promise;
  }
}

function parseAnswer<T>(answer: Answer, status: number, what: string): T {
  if (answer.status !== status) {
    throw new DemoError(`a ${what} was answered ${answer.status}: ${answer.text.slice(0, 500)}`);
  }
  return JSON.parse(answer.text) as T;
}
