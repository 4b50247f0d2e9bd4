// Requests to any member of a cluster, with what the answer proves.

import { randomBelow } from '@queen-ts/base';
import type { Rng } from '@queen-ts/base';
import { HttpClient } from '../../support/http-client.ts';
import type { Answer } from '../../support/http-client.ts';
import type { Interval, Outcome } from '../history/records.ts';

/** Longest wait for an answer, above every `timeout` that workloads send. */
const ANSWER_DEADLINE_MS = 10_000;

const US_PER_MS = 1000;

/** Codes of 503 that promise that nothing was changed. */
const HARMLESS_CODES: ReadonlySet<string> = new Set(['no_leader', 'shutting_down', 'maintenance']);

/** What came of one request. */
export interface Asked extends Interval {
  /** Status 2xx is ok. */
  readonly outcome: Outcome<Answer>;
}

/** One client's view of the cluster. */
export class MemberClient {
  readonly #clients: readonly HttpClient[];
  readonly #rng: Rng;

  /** @param urls of the members, in their order; they stay the same across restarts. */
  constructor(urls: readonly string[], rng: Rng) {
    this.#clients = urls.map((url) => new HttpClient(url));
    this.#rng = rng;
  }

  /** Number of members. */
  get size(): number {
    return this.#clients.length;
  }

  /** Microseconds of the clock that all records share. */
  static nowUs(): number {
    return Math.round(performance.now() * US_PER_MS);
  }

  /** Sends a request to `member`, or to one chosen at random. Never rejects. */
  async ask(
    method: string,
    path: string,
    options: { readonly body?: unknown; readonly member?: number } = {},
  ): Promise<Asked> {
    const member = options.member ?? randomBelow(this.#rng, this.#clients.length);
    const client = this.#clients[member];
    if (client === undefined) throw new RangeError(`no member ${member}`);
    const startUs = MemberClient.nowUs();
    const outcome = await send(client, method, path, options.body);
    return { startUs, endUs: MemberClient.nowUs(), outcome };
  }

  /** Drops all connections. */
  close(): void {
    for (const client of this.#clients) client.close();
  }
}

async function send(
  client: HttpClient,
  method: string,
  path: string,
  body: unknown,
): Promise<Outcome<Answer>> {
  try {
    const answer = await client.request(method, path, {
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(ANSWER_DEADLINE_MS),
    });
    return classify(answer);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    // Nobody listened, so nobody can have read it.
    if (code === 'ECONNREFUSED') return { kind: 'refused', reason: code };
    return { kind: 'unknown', reason: code ?? message };
  }
}

/** What an answer proves; a server error proves nothing unless its code says so. */
function classify(answer: Answer): Outcome<Answer> {
  const { status, text } = answer;
  if (status >= 200 && status < 300) return { kind: 'ok', value: answer };
  const reason = `${status} ${text.slice(0, 200)}`;
  const isHarmless = status < 500 || status === 507 || HARMLESS_CODES.has(codeOf(text));
  return { kind: isHarmless ? 'refused' : 'unknown', reason };
}

function codeOf(text: string): string {
  try {
    return (JSON.parse(text) as { code?: string }).code ?? '';
  } catch {
    return '';
  }
}

/** The outcome with its value turned into another one. */
export function mapOutcome<T, U>(outcome: Outcome<T>, map: (value: T) => U): Outcome<U> {
  return outcome.kind === 'ok' ? { kind: 'ok', value: map(outcome.value) } : outcome;
}
