// A small HTTP client for tests: raw answers (status, headers, exact body text), and one method per
// route that checks the status and gives the body its type.

import { Agent, request } from 'node:http';
import type { IncomingHttpHeaders } from 'node:http';
import { eventually } from './eventually.ts';
import type {
  AckItem,
  AckVerdict,
  Batch,
  Configured,
  Extension,
  PopQuery,
  PushItem,
  QueueRow,
  Verdict,
} from './wire.ts';

/** Longest that any request of a test may take, above every `timeout` that tests send. */
const ANSWER_DEADLINE_MS = 30_000;

const PARKED_POPS = /^queen_parked_long_polls(?:\{.*\})? (\d+)$/m;

/** An answer as it came over the wire. */
export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** What to send; `body` goes out as it is. */
export interface RequestOptions {
  readonly body?: string | Uint8Array;
  readonly headers?: Readonly<Record<string, string | string[]>>;
  readonly signal?: AbortSignal;
}

/** Keeps its connections alive; close it when the broker behind it goes away. */
export class HttpClient {
  readonly url: string;
  readonly #agent = new Agent({ keepAlive: true });

  constructor(url: string) {
    this.url = url;
  }

  /** Sends one request. Rejects when no complete answer arrives. */
  async request(method: string, path: string, options: RequestOptions = {}): Promise<Answer> {
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    const outgoing = request(new URL(this.url), {
      method,
      path,
      agent: this.#agent,
      headers: {
        ...(options.body === undefined ? {} : { 'content-type': 'application/json' }),
        ...options.headers,
      },
      ...(options.signal === undefined ? {} : { signal: options.signal }),
    });
    outgoing.setTimeout(ANSWER_DEADLINE_MS, () => {
      outgoing.destroy(new Error(`no answer to ${method} ${path} in ${ANSWER_DEADLINE_MS} ms`));
    });
    outgoing.on('error', reject);
    outgoing.on('response', (incoming) => {
      const chunks: Buffer[] = [];
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
      incoming.on('error', reject);
      incoming.on('end', () => {
        resolve({
          status: incoming.statusCode ?? 0,
          headers: incoming.headers,
          text: Buffer.concat(chunks).toString('utf8'),
        });
      });
    });
    outgoing.end(options.body);
    return promise;
  }

  /** POSTs a value as JSON. */
  async post(path: string, value: unknown): Promise<Answer> {
    return this.request('POST', path, { body: JSON.stringify(value) });
  }

  /** Pushes and expects 201. */
  async push(items: readonly PushItem[]): Promise<Verdict[]> {
    return expectJson<Verdict[]>(await this.post('/api/v1/push', { items }), 201);
  }

  /** Pops any ready partitions of a queue; undefined is a 204. */
  async pop(queue: string, query: PopQuery = {}): Promise<Batch | undefined> {
    return expectBatch(await this.popRaw(`queue/${encodeURIComponent(queue)}`, query));
  }

  /** Pops one partition; undefined is a 204. */
  async popPartition(
    queue: string,
    partition: string,
    query: PopQuery = {},
  ): Promise<Batch | undefined> {
    const path = `queue/${encodeURIComponent(queue)}/partition/${encodeURIComponent(partition)}`;
    return expectBatch(await this.popRaw(path, query));
  }

  /** Pops across the queues with the given labels; undefined is a 204. */
  async discover(query: PopQuery): Promise<Batch | undefined> {
    return expectBatch(await this.popRaw('', query));
  }

  /** Pops and gives the answer as it is. `scope` is the path after `/api/v1/pop/`. */
  async popRaw(scope: string, query: PopQuery, signal?: AbortSignal): Promise<Answer> {
    const path = scope === '' ? '/api/v1/pop' : `/api/v1/pop/${scope}`;
    return this.request('GET', path + queryText(query), signal === undefined ? {} : { signal });
  }

  /** Acknowledges in the batch form and expects 200. */
  async ack(
    acknowledgments: readonly AckItem[],
    consumerGroup?: string | null,
  ): Promise<AckVerdict[]> {
    const body = consumerGroup === undefined ? {} : { consumerGroup };
    const answer = await this.post('/api/v1/ack/batch', { acknowledgments, ...body });
    return expectJson<AckVerdict[]>(answer, 200);
  }

  /** Extends a lease and expects 200. Without seconds the body is empty. */
  async extend(leaseId: string, seconds?: number): Promise<Extension> {
    const body = seconds === undefined ? {} : { body: JSON.stringify({ seconds }) };
    const path = `/api/v1/lease/${encodeURIComponent(leaseId)}/extend`;
    return expectJson<Extension>(await this.request('POST', path, body), 200);
  }

  /** Configures a queue and expects 200. */
  async configure(
    queue: string,
    options: Readonly<Record<string, unknown>>,
    rest: Readonly<Record<string, unknown>> = {},
  ): Promise<Configured> {
    const answer = await this.post('/api/v1/configure', { queue, options, ...rest });
    return expectJson<Configured>(answer, 200);
  }

  /** Deletes a queue and expects 200. */
  async deleteQueue(queue: string): Promise<{ deleted: boolean; existed: boolean }> {
    const path = `/api/v1/resources/queues/${encodeURIComponent(queue)}`;
    return expectJson(await this.request('DELETE', path), 200);
  }

  /** Lists queues, newest first. */
  async queues(
    query: Readonly<Record<string, string | number>> = {},
  ): Promise<readonly QueueRow[]> {
    const answer = await this.request('GET', `/api/v1/resources/queues${queryText(query)}`);
    return expectJson<{ queues: QueueRow[] }>(answer, 200).queues;
  }

  /** The row of one queue in the list, or undefined. */
  async queueRow(queue: string): Promise<QueueRow | undefined> {
    return (await this.queues({ search: queue })).find((row) => row.name === queue);
  }

  /** Resolves once exactly `count` pops are parked, by the broker's own metric. */
  async parked(count: number): Promise<void> {
    await eventually(`${count} parked pops`, async () => {
      const { text } = await this.request('GET', '/metrics/prometheus');
      return Number(PARKED_POPS.exec(text)?.[1]) === count;
    });
  }

  /** Drops all connections. */
  close(): void {
    this.#agent.destroy();
  }
}

/** Reads a JSON answer; throws with the whole answer when the status is another one. */
export function expectJson<T>(answer: Answer, status: number): T {
  if (answer.status !== status) {
    throw new Error(`expected ${status}, got ${answer.status}: ${answer.text.slice(0, 2000)}`);
  }
  return JSON.parse(answer.text) as T;
}

function expectBatch(answer: Answer): Batch | undefined {
  return answer.status === 204 ? undefined : expectJson<Batch>(answer, 200);
}

function queryText(query: object): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) parameters.set(name, String(value));
  return parameters.size === 0 ? '' : `?${parameters.toString()}`;
}
