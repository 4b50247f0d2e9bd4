// Runs cases against a broker, many at a time, and collects what is wrong.

import { AnswerChecker } from '../../conformance/answer-checker.ts';
import { HttpClient } from '../../support/http-client.ts';
import type { OpenApiDocument } from '@queen-ts/server';
import { CaseMaker } from './cases.ts';
import type { FuzzCase } from './cases.ts';
import { FuzzConnection } from './connection.ts';
import type { Reply } from './connection.ts';
import { problemsOf } from './verdict.ts';

/** How long a case may take, above every wait that a case asks for. */
const CASE_DEADLINE_MS = 15_000;

/** Findings beyond these are counted, not kept. */
const FINDINGS_MAX = 50;

/** Part of the requests after which memory is compared with that at the end. */
const WARM_UP_PART = 0.25;

/** How long the broker rests before its memory is looked at. */
const REST_MS = 1500;

/** How to run. */
export interface FuzzOptions {
  readonly url: string;
  readonly seed: number;
  /** Cases to run. */
  readonly caseCount: number;
  /** Cases at a time. */
  readonly atOnce: number;
}

/** Something wrong. */
export interface Finding {
  readonly fuzzCase: FuzzCase;
  readonly problem: string;
}

/** What a run came to. */
export interface FuzzResult {
  readonly requestCount: number;
  readonly answerCount: number;
  /** Answers by status. */
  readonly statuses: ReadonlyMap<number, number>;
  /** Kinds of ends that connections came to. */
  readonly ends: ReadonlyMap<string, number>;
  readonly findings: readonly Finding[];
  readonly findingCount: number;
  /** Ids of operations that were never answered. */
  readonly unseen: readonly string[];
  /** Resident memory of the broker after the warm-up and at the end, in bytes. */
  readonly rssWarmBytes: number;
  readonly rssEndBytes: number;
  readonly durationMs: number;
}

/** Runs the cases of one seed. Rejects when the broker is gone. */
export async function fuzzRoutes(options: FuzzOptions): Promise<FuzzResult> {
  const client = new HttpClient(options.url);
  try {
    const run = new FuzzRun(options, await documentOf(client));
    const startMs = performance.now();
    const warm = Math.ceil(options.caseCount * WARM_UP_PART);
    await run.play(0, warm);
    const rssWarmBytes = await rssBytes(client);
    await run.play(warm, options.caseCount);
    const rssEndBytes = await rssBytes(client);
    return { ...run.result(), rssWarmBytes, rssEndBytes, durationMs: performance.now() - startMs };
  } finally {
    client.close();
  }
}

/** Plays one case alone. */
export async function playAlone(
  url: string,
  seed: number,
  position: number,
): Promise<{ readonly fuzzCase: FuzzCase; readonly reply: Reply; readonly problems: string[] }> {
  const client = new HttpClient(url);
  try {
    const fuzzCase = new CaseMaker(seed, await documentOf(client)).at(position);
    const connection = await FuzzConnection.open(new URL(url));
    const reply = await connection.play(fuzzCase, CASE_DEADLINE_MS);
    connection.destroy();
    return { fuzzCase, reply, problems: problemsOf(fuzzCase, reply, new AnswerChecker()) };
  } finally {
    client.close();
  }
}

type Totals = Omit<FuzzResult, 'rssWarmBytes' | 'rssEndBytes' | 'durationMs'>;

class FuzzRun {
  readonly #options: FuzzOptions;
  readonly #maker: CaseMaker;
  readonly #checker = new AnswerChecker();
  readonly #statuses = new Map<number, number>();
  readonly #ends = new Map<string, number>();
  readonly #findings: Finding[] = [];
  #findingCount = 0;
  #requestCount = 0;
  #answerCount = 0;

  constructor(options: FuzzOptions, document: OpenApiDocument) {
    this.#options = options;
    this.#maker = new CaseMaker(options.seed, document);
  }

  /** Plays the cases [from, toExclusive). */
  async play(from: number, toExclusive: number): Promise<void> {
    const queue = { next: from };
    const work = async (): Promise<void> => {
      let connection: FuzzConnection | undefined;
      while (queue.next < toExclusive) {
        const position = queue.next;
        queue.next += 1;
        connection = await this.#playOne(this.#maker.at(position), connection);
      }
      connection?.destroy();
    };
    await Promise.all(Array.from({ length: this.#options.atOnce }, work));
  }

  result(): Totals {
    return {
      requestCount: this.#requestCount,
      answerCount: this.#answerCount,
      statuses: this.#statuses,
      ends: this.#ends,
      findings: this.#findings,
      findingCount: this.#findingCount,
      unseen: this.#checker.unseen,
    };
  }

  /** Good requests share a connection, others get their own. Returns what can be used again. */
  async #playOne(
    fuzzCase: FuzzCase,
    kept: FuzzConnection | undefined,
  ): Promise<FuzzConnection | undefined> {
    const isShared = fuzzCase.expects === 'answers';
    const url = new URL(this.#options.url);
    const connection = isShared && kept?.isUsable === true ? kept : await FuzzConnection.open(url);
    if (isShared && connection !== kept) kept?.destroy();
    const reply = await connection.play(fuzzCase, CASE_DEADLINE_MS);
    this.#count(fuzzCase, reply);
    if (!isShared) {
      connection.destroy();
      return kept;
    }
    if (reply.end === 'complete' && reply.answers.at(-1)?.headers['connection'] !== 'close') {
      return connection;
    }
    connection.destroy();
    return undefined;
  }

  #count(fuzzCase: FuzzCase, reply: Reply): void {
    this.#requestCount += fuzzCase.requests.length;
    this.#answerCount += reply.answers.length;
    for (const { status } of reply.answers) increment(this.#statuses, status);
    increment(this.#ends, `${fuzzCase.expects}, ${fuzzCase.afterwards}: ${reply.end}`);
    for (const problem of problemsOf(fuzzCase, reply, this.#checker)) {
      this.#findingCount += 1;
      if (this.#findings.length < FINDINGS_MAX) this.#findings.push({ fuzzCase, problem });
    }
  }
}

function increment<K>(counts: Map<K, number>, key: K): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

/** The cases of a seed follow the document of the broker under test. */
async function documentOf(client: HttpClient): Promise<OpenApiDocument> {
  const { text } = await client.request('GET', '/api/v1/openapi.json');
  return JSON.parse(text) as OpenApiDocument;
}

async function rssBytes(client: HttpClient): Promise<number> {
  await new Promise((resolve) => {
    setTimeout(resolve, REST_MS);
  });
  const { text } = await client.request('GET', '/metrics');
  return (JSON.parse(text) as { memory: { rss: number } }).memory.rss;
}
