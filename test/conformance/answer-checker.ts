// Answers against docs/openapi.json: the status must be described, the content type and the headers too,
// and the body must fit its schema, without members that the schema does not name.

import { Ajv2020 } from 'ajv/dist/2020.js';
import type { ValidateFunction } from 'ajv/dist/2020.js';
import type { OpenApiDocument } from '@queen-ts/server';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Answer } from '../support/http-client.ts';

const FILE = join(import.meta.dirname, '..', '..', 'docs', 'openapi.json');
const DOCUMENT_ID = 'openapi';

/** Enough of an answer to see what is wrong with it. */
const TEXT_SHOWN_MAX = 300;

type Response = OpenApiDocument['components']['responses'][string];

/** One method of one path of the document. */
interface KnownOperation {
  readonly id: string;
  readonly method: string;
  readonly pattern: RegExp;
  readonly parameters: number;
  readonly responses: Readonly<Record<string, Response>>;
}

/** Collects what does not fit. */
export class AnswerChecker {
  /** One line for each kind of answer that does not fit, with the first that was seen. */
  readonly violations = new Map<string, string>();
  /** Answers looked at. */
  checkedCount = 0;

  readonly #document: OpenApiDocument;
  readonly #operations: readonly KnownOperation[];
  readonly #seen = new Set<string>();
  readonly #ajv = new Ajv2020({ strict: false, validateFormats: false });
  readonly #validators = new Map<object, ValidateFunction>();

  constructor() {
    this.#document = closed(JSON.parse(readFileSync(FILE, 'utf8'))) as OpenApiDocument;
    this.#ajv.addSchema(this.#document, DOCUMENT_ID);
    this.#operations = operationsOf(this.#document);
  }

  /** Ids of operations that no answer came from. */
  get unseen(): string[] {
    return this.#operations.map(({ id }) => id).filter((id) => !this.#seen.has(id));
  }

  /**
   * Looks at an answer; returns what does not fit, or undefined. `path` is the request target.
   */
  check(method: string, path: string, answer: Answer): string | undefined {
    const route = path.split('?', 1)[0] ?? '';
    const matches = this.#operations.filter(({ pattern }) => pattern.test(route));
    // A literal segment wins over a parameter.
    const [operation] = matches
      .filter((candidate) => candidate.method === method)
      .toSorted((a, b) => a.parameters - b.parameters);
    this.checkedCount += 1;
    if (operation !== undefined) this.#seen.add(operation.id);
    const place =
      operation?.id ?? `${method} ${matches.length > 0 ? 'of a known path' : 'of no path'}`;
    const expected =
      operation === undefined
        ? this.#common(answer.status, matches)
        : operation.responses[answer.status];
    const problem =
      expected === undefined ? 'the status is not described' : this.#problem(answer, expected);
    if (problem === undefined) return undefined;
    const key = `${place} ${answer.status}: ${problem}`;
    if (!this.violations.has(key)) {
      this.violations.set(key, `${method} ${path}\n  ${answer.text.slice(0, TEXT_SHOWN_MAX)}`);
    }
    return key;
  }

  /** Answers to what is no request of an operation. */
  #common(status: number, matches: readonly KnownOperation[]): Response | undefined {
    const { responses } = this.#document.components;
    if (status === 405 && matches.length > 0) return responses['MethodNotAllowed'];
    // A path whose segments cannot be decoded may be one of several.
    if (status === 400 && matches.length > 0) return responses['BrokenRequest'];
    if (status === 404 && matches.length === 0) return responses['NoSuchRoute'];
    return undefined;
  }

  #problem(
    { headers, text }: Answer,
    { content, headers: named = {} }: Response,
  ): string | undefined {
    for (const [name, { $ref: ref }] of Object.entries(named)) {
      const value = headers[name.toLowerCase()];
      const schema = this.#document.components.headers[ref.split('/').at(-1) as 'Allow'].schema;
      const type = (schema as { type: string }).type;
      const parsed = type === 'integer' ? Number(value) : value;
      if (!this.#ajv.validate(schema, parsed)) return `the header ${name} is ${String(value)}`;
    }
    const type = headers['content-type'];
    if (content === undefined) return type === undefined && text === '' ? undefined : 'a body came';
    const media = content[type ?? ''];
    if (media === undefined) return `the content type is ${type ?? 'not there'}`;
    if (type !== 'application/json') return undefined;
    return this.#bodyProblem(text, media.schema);
  }

  #bodyProblem(text: string, schema: object): string | undefined {
    let validate = this.#validators.get(schema);
    if (validate === undefined) {
      validate = this.#ajv.compile(absolute(schema) as object);
      this.#validators.set(schema, validate);
    }
    const body = parse(text);
    if (body === undefined) return 'the body is not JSON';
    if (validate(body)) return undefined;
    // The last error of a union is the union's own; the ones before say why its parts do not fit.
    return this.#ajv.errorsText(validate.errors, { dataVar: 'body' });
  }
}

/** A body; undefined when it is not JSON. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The caller says so.
    return undefined;
  }
}

function operationsOf({ paths }: OpenApiDocument): KnownOperation[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { operationId, responses }]) => ({
      id: operationId,
      method: method.toUpperCase(),
      pattern: new RegExp(
        `^${path.replaceAll('.', String.raw`\.`).replaceAll(/\{\w+\}/g, '[^/]+')}$`,
      ),
      parameters: path.split('{').length,
      responses,
    })),
  );
}

/** References of a schema that stands alone, made to point into the document. */
function absolute(value: unknown): unknown {
  return mapObjects(value, (object) =>
    typeof object['$ref'] === 'string' ? { ...object, $ref: DOCUMENT_ID + object['$ref'] } : object,
  );
}

/** The document leaves objects open for clients; here a member without a schema is an error. */
function closed(value: unknown): unknown {
  return mapObjects(value, (object) =>
    object['type'] === 'object' && 'properties' in object && !('additionalProperties' in object)
      ? { ...object, additionalProperties: false }
      : object,
  );
}

type JsonObject = Readonly<Record<string, unknown>>;

function mapObjects(value: unknown, map: (object: JsonObject) => JsonObject): unknown {
  if (Array.isArray(value)) return value.map((element) => mapObjects(element, map));
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).map(([name, member]) => [name, mapObjects(member, map)]);
  return map(Object.fromEntries(members) as JsonObject);
}
