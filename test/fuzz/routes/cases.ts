// Cases: what is sent, byte by byte, made from a seed and a number alone.

import type { OpenApiDocument } from '@queen-ts/server';
import { Random } from '../random.ts';
import { bodyText, damaged } from './body-text.ts';
import type { Schema, Schemas } from './body-text.ts';
import { breakRequest } from './broken.ts';
import { targetText } from './target-text.ts';
import { headerLines } from './header-lines.ts';

/** What may come back. */
export type Expectation =
  /** As many answers as requests, each as its operation describes it. */
  | 'answers'
  /** Whole answers, or none, and then the end of the connection. */
  | 'anything';

/** One request of a case. */
export interface CaseRequest {
  readonly method: string;
  readonly target: string;
}

/** One case. */
export interface FuzzCase {
  readonly position: number;
  readonly requests: readonly CaseRequest[];
  /** What goes out, one character a byte. */
  readonly wire: string;
  /** Pieces in which it goes out, by their ends. */
  readonly cuts: readonly number[];
  /** What the client does once everything is out. */
  readonly afterwards: 'read' | 'end' | 'reset';
  readonly expects: Expectation;
}

/** A request whose bytes are not yet put together. */
export interface Draft extends CaseRequest {
  readonly headers: readonly string[];
  readonly body: string | undefined;
}

const METHODS = ['GET', 'POST', 'DELETE', 'PUT', 'PATCH', 'HEAD', 'OPTIONS', 'TRACE', 'QUERY'];
const PIPELINED_MAX = 6;

/** Answers that must not wait longer than this, whatever the request says, in milliseconds. */
const WAIT_MS_MAX = 200;

/** What makes, moves and settles messages: without it, most of the rest finds nothing. */
const HOT = /\/(push|transaction|ack|ack\/batch|pop|pop\/queue\/\{queue\}|configure)$/;
const HOT_PERCENT = 45;

interface Operation {
  readonly method: string;
  readonly path: string;
  readonly query: readonly { readonly name: string; readonly schema: Schema }[];
  readonly body: Schema | undefined;
}

/** Makes the cases of one seed. */
export class CaseMaker {
  readonly #seed: number;
  readonly #schemas: Schemas;
  readonly #operations: readonly Operation[];
  readonly #hot: readonly Operation[];

  constructor(seed: number, document: OpenApiDocument) {
    this.#seed = seed;
    this.#schemas = document.components.schemas;
    this.#operations = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { parameters = [], requestBody }]) => ({
        method: method.toUpperCase(),
        path,
        query: parameters.filter((parameter) => parameter.in === 'query'),
        body: requestBody?.content['application/json']?.schema,
      })),
    );
    this.#hot = this.#operations.filter(({ path }) => HOT.test(path));
  }

  /** The case at a position; the same every time. */
  at(position: number): FuzzCase {
    const random = new Random(this.#seed, position);
    return random.weighted<() => FuzzCase>([
      [78, () => this.#single(position, random)],
      [8, () => this.#pipelined(position, random)],
      [12, () => this.#broken(position, random)],
      [2, () => this.#abandoned(position, random)],
    ])();
  }

  #single(position: number, random: Random): FuzzCase {
    const draft = this.#draft(random);
    const wire = wireText(draft, random);
    return {
      position,
      requests: [draft],
      wire,
      cuts: random.chance(3) ? cutsOf(wire, random) : [],
      afterwards: 'read',
      expects: 'answers',
    };
  }

  #pipelined(position: number, random: Random): FuzzCase {
    const count = random.between(2, PIPELINED_MAX);
    const requests = Array.from({ length: count }, () => this.#draft(random));
    const wire = requests.map((draft) => wireText(draft, random)).join('');
    return { position, requests, wire, cuts: [], afterwards: 'read', expects: 'answers' };
  }

  #broken(position: number, random: Random): FuzzCase {
    const draft = this.#draft(random);
    const broken = breakRequest(draft, wireText(draft, random), random);
    // Breaking it may have changed what it asks for.
    const method = /^\s*([A-Z]+) /.exec(broken.wire)?.[1] ?? draft.method;
    return { position, requests: [{ method, target: draft.target }], ...broken };
  }

  /** A request whose client does not wait for the answer. */
  #abandoned(position: number, random: Random): FuzzCase {
    const draft = this.#draft(random);
    const wire = wireText(draft, random);
    return {
      position,
      requests: [draft],
      wire,
      cuts: [],
      afterwards: 'reset',
      expects: 'anything',
    };
  }

  #draft(random: Random): Draft {
    const operation = random.pick(random.chance(HOT_PERCENT) ? this.#hot : this.#operations);
    const method = random.chance(4) ? random.pick(METHODS) : operation.method;
    const target = targetText(operation.path, operation.query, random);
    const text = this.#body(operation, random);
    return {
      method,
      target: unforced(boundWait(target)),
      headers: headerLines(random),
      body: method === 'TRACE' ? undefined : text && unforced(boundBodyWait(text)),
    };
  }

  #body({ body }: Operation, random: Random): string | undefined {
    if (body === undefined && !random.chance(3)) return undefined;
    if (random.chance(2))
      return random.pick(['', 'null', '[]', '"x"', '{', '\u00ff', random.bytes(50)]);
    // What another route takes is nothing for this one.
    const schema = body === undefined || random.chance(2) ? this.#anyBody(random) : body;
    const text = bodyText(schema, this.#schemas, random);
    return random.chance(2) ? damaged(text, random) : text;
  }

  #anyBody(random: Random): Schema {
    const bodies = this.#operations.flatMap(({ body }) => (body === undefined ? [] : [body]));
    return random.pick(bodies);
  }
}

/** The bytes of a well-formed request: with a length or in chunks. */
function wireText({ method, target, headers, body }: Draft, random: Random): string {
  const lines = [`${method} ${target} HTTP/1.1`, 'Host: 127.0.0.1', ...headers];
  if (body === undefined) return `${lines.join('\r\n')}\r\n\r\n`;
  if (!random.chance(15)) {
    return `${[...lines, `Content-Length: ${body.length}`].join('\r\n')}\r\n\r\n${body}`;
  }
  const chunked = [...lines, 'Transfer-Encoding: chunked'].join('\r\n');
  return `${chunked}\r\n\r\n${chunks(body, random)}`;
}

function chunks(body: string, random: Random): string {
  let text = '';
  const sizeMax = Math.max(1, Math.ceil(body.length / random.between(1, 20)));
  for (let at = 0; at < body.length;) {
    const chunk = body.slice(at, at + random.between(1, sizeMax));
    const extension = random.chance(5) ? ';a=b' : '';
    text += `${chunk.length.toString(16)}${extension}\r\n${chunk}\r\n`;
    at += chunk.length;
  }
  return `${text}0\r\n${random.chance(5) ? 'X-Trailer: y\r\n' : ''}\r\n`;
}

/** Ends of pieces, at most a handful. */
function cutsOf(wire: string, random: Random): number[] {
  const cuts = Array.from({ length: random.between(1, 5) }, () => random.below(wire.length + 1));
  return cuts.toSorted((a, b) => a - b);
}

/** A pop or a change of members must end soon: before a long timeout, or none, comes a short one. */
function boundWait(target: string): string {
  const isChange = target.includes('/system/raft/');
  if (isChange && !/timeoutMs=(?:\d{0,3}|\D[^&]*)(?:&|$)/.test(target)) {
    const [path, query] = target.split('?', 2);
    return `${path}?timeoutMs=${WAIT_MS_MAX}${query === undefined ? '' : `&${query}`}`;
  }
  if (!/[?&]wait=true/.test(target)) return target;
  // Of a repeated parameter the first counts.
  return target.replace('?', `?timeout=${WAIT_MS_MAX}&`);
}

function boundBodyWait(text: string): string {
  return text.replaceAll(/(W(?:ait|\\u0061it)Ms"\s*:\s*)\d{3,}/g, `$1${WAIT_MS_MAX}`);
}

/** Nobody may make an unreachable learner a voter by force: the node would lose its quorum. */
function unforced(text: string): string {
  return text.replaceAll(/((?:f|\\u0066)orce(?:"\s*:\s*|=))true/g, '$1false');
}
