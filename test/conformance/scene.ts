// What one case has to itself: a queue and a group that nobody else uses, and short forms of the
// requests that most cases make. The broker may be shared and full of other people's data.

import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import { expectJson } from '../support/http-client.ts';
import type { Answer, HttpClient } from '../support/http-client.ts';
import type { AckItem, AckVerdict, Batch, Message, PushItem, Verdict } from '../support/wire.ts';

/** A JSON object. */
export type Json = Record<string, unknown>;

/** Query parameters, of any spelling. */
export type Query = Readonly<Record<string, string | number | boolean>>;

const WAIT_MS = 8_000;

/** The stage of one case. */
export class Scene {
  readonly client: HttpClient;
  readonly #tag: string;

  /** All its names start with `prefix`. */
  constructor(client: HttpClient, prefix: string) {
    this.client = client;
    this.#tag = `${prefix}${randomDigits()}`;
  }

  /** The case's own queue; nothing creates it beforehand. */
  get queue(): string {
    return this.name('q');
  }

  /** The case's own group. */
  get group(): string {
    return this.name('g');
  }

  /** Another name of its own. */
  name(word: string): string {
    return `${this.#tag}-${word}`;
  }

  /** Sends a request below /api/v1; `value` goes out as JSON. */
  async send(method: string, path: string, value?: unknown): Promise<Answer> {
    const body = value === undefined ? {} : { body: JSON.stringify(value) };
    return this.client.request(method, `/api/v1${path}`, body);
  }

  /** Sends a body as it is. */
  async text(path: string, body: string | Uint8Array): Promise<Answer> {
    return this.client.request('POST', `/api/v1${path}`, { body });
  }

  /** Reads, and expects 200. */
  async get<T = Json>(path: string): Promise<T> {
    return expectJson<T>(await this.send('GET', path), 200);
  }

  /** POSTs, and expects a status. */
  async post<T = Json>(path: string, value: unknown, status = 200): Promise<T> {
    return expectJson<T>(await this.send('POST', path, value), status);
  }

  /** Pushes one message per payload to the case's queue, with the ids t0, t1, …. */
  async push(payloads: readonly unknown[], item: Partial<PushItem> = {}): Promise<Verdict[]> {
    const items = payloads.map((payload, i) => ({
      queue: this.queue,
      payload,
      transactionId: `t${i}`,
      ...item,
    }));
    return this.client.push(items);
  }

  /** Pushes the numbers from 0 to `count` - 1. */
  async fill(count: number, item: Partial<PushItem> = {}): Promise<Verdict[]> {
    return this.push([...Array(count).keys()], item);
  }

  /** Configures the case's queue. */
  async configure(options: Json, rest: Json = {}): Promise<Json> {
    return this.post('/configure', { queue: this.queue, options, ...rest });
  }

  /** Pops as it is; `scope` is the path after `/pop`. */
  async popAnswer(scope: string, query: Query = {}): Promise<Answer> {
    return this.send('GET', `/pop${scope}${queryText(query)}`);
  }

  /** Pops from the case's queue; undefined is a 204. */
  async pop(query: Query = {}): Promise<Batch | undefined> {
    const answer = await this.popAnswer(`/queue/${this.queue}`, query);
    return answer.status === 204 ? undefined : expectJson<Batch>(answer, 200);
  }

  /** Pops from the case's queue and expects something. */
  async claim(query: Query = {}): Promise<Batch> {
    const batch = await this.pop(query);
    if (batch === undefined) throw new Error('the pop delivered nothing');
    return batch;
  }

  /** Waits until something comes: after a lease, a delay or a failure. */
  async claimLater(query: Query = {}): Promise<Batch> {
    return this.claim({ wait: true, timeout: WAIT_MS, ...query });
  }

  /** Acknowledges messages of a batch, by position; the rest of an item is laid over it. */
  async ack(
    batch: Batch,
    items: readonly (number | ({ readonly at: number } & Partial<AckItem>))[],
    group?: string,
  ): Promise<AckVerdict[]> {
    const named = items.map((item) => ackItem(batch, item));
    return this.client.ack(named, group);
  }

  /** Acknowledges everything of a batch. */
  async ackAll(batch: Batch, group?: string): Promise<AckVerdict[]> {
    return this.ack(
      batch,
      batch.messages.map((_, at) => at),
      group,
    );
  }

  /** Files the first `count` messages of the queue's head as dead letters. */
  async bury(count = 1, error = 'no good'): Promise<Batch> {
    const batch = await this.claim();
    const at = batch.messages.slice(0, count).map((_, i) => ({ at: i, status: 'dlq', error }));
    await this.ack(batch, at);
    return batch;
  }

  /** The dead letters of the case's queue. */
  async letters(query = ''): Promise<Json[]> {
    const page = await this.get<{ messages: Json[] }>(`/dlq?queue=${this.queue}${query}`);
    return page.messages;
  }
}

/** Enough hex digits that nobody else has them. */
export function randomDigits(): string {
  return randomUUID().slice(-12);
}

/** Payloads of a batch. */
export function payloads(batch: Batch | undefined): unknown[] {
  return (batch?.messages ?? []).map(({ data }) => data);
}

/** The first message of a batch. */
export function first(batch: Batch): Message {
  const [message] = batch.messages;
  if (message === undefined) throw new Error('the batch is empty');
  return message;
}

/** Checks names and order of an object's keys, as they came over the wire. */
export function expectKeys(value: unknown, keys: string): void {
  expect(Object.keys(value as object).join(' ')).toBe(keys);
}

/** Checks an error envelope; returns it. */
export function expectError(answer: Answer, status: number, code?: string): Json {
  const body = expectJson<Json>(answer, status);
  expect(body['error']).toMatch(/\w{3}/);
  if (code !== undefined) expect(body['code']).toBe(code);
  return body;
}

/** An ack item of a message of a batch. */
export function ackItem(
  batch: Batch,
  item: number | ({ readonly at: number } & Partial<AckItem>),
): AckItem {
  const { at, ...rest } = typeof item === 'number' ? { at: item } : item;
  const message = batch.messages[at];
  if (message === undefined) throw new Error(`the batch has no message ${at}`);
  const { transactionId, partitionId, leaseId } = message;
  return { transactionId, partitionId, leaseId, ...rest };
}

/** A query as text, with its question mark. */
function queryText(query: Query): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) parameters.set(name, String(value));
  return parameters.size === 0 ? '' : `?${parameters.toString()}`;
}

/** UUIDs as the broker mints them. */
export const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** UUIDs of any kind. */
export const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Timestamps of leases. */
export const MILLISECONDS = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/** All other timestamps on the wire. */
export const MICROSECONDS = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/;
