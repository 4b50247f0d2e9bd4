// A route as its documentation describes it. The document is made of these; a test holds them to the
// routes, and the conformance suite holds answers to them.

import type { ErrorCode } from '@queen-ts/protocol';
import type { z } from 'zod';

/** Sections of the document, in its order. */
export const SECTIONS = [
  'Push',
  'Pop',
  'Acknowledge',
  'Transaction',
  'Queues',
  'Dead letters',
  'Consumer groups',
  'Messages',
  'Reads by offset',
  'Maintenance',
  'Cluster',
  'Node',
] as const;

/** Name of a section. */
export type Section = (typeof SECTIONS)[number];

/** A JSON Schema of a parameter, written by hand: what a query may say is text. */
export interface ParameterSchema {
  readonly type: 'string' | 'integer' | 'boolean';
  readonly minimum?: number;
  readonly maximum?: number;
  readonly enum?: readonly string[];
  readonly format?: string;
  /** What an absent parameter means. */
  readonly default?: string | number | boolean;
}

/** A query parameter; all of them are optional unless `isRequired`. */
export interface QueryParameter {
  readonly name: string;
  readonly description: string;
  readonly schema: ParameterSchema;
  readonly isRequired?: boolean;
}

/** A request body in JSON. */
export interface RequestBody {
  readonly schema: z.ZodType;
  /** False where an empty body means something. */
  readonly isRequired: boolean;
  /** At least one, by a few words each. */
  readonly examples: Readonly<Record<string, unknown>>;
}

/** Headers of answers that mean something beyond HTTP. */
export type AnswerHeader = 'Queen-Pop-Reason' | 'Retry-After' | 'Allow';

/** An answer in JSON, text, or without a body when it has neither. */
export interface AnswerShape {
  readonly description: string;
  readonly schema?: z.ZodType;
  /** Content type of a body that is no JSON. */
  readonly contentType?: string;
  readonly headers?: readonly AnswerHeader[];
  readonly example?: unknown;
}

/** One method of one path. */
export interface Operation {
  readonly method: 'get' | 'post' | 'put' | 'delete';
  /** `{name}` takes one percent-encoded segment. */
  readonly path: string;
  /** Path of the router's pattern, where it is not the same. */
  readonly routePath?: string;
  readonly id: string;
  readonly section: Section;
  /** One sentence. */
  readonly summary: string;
  readonly description?: string;
  readonly query?: readonly QueryParameter[];
  /** Whether `Idempotency-Key` is looked at. */
  readonly takesIdempotencyKey?: boolean;
  readonly body?: RequestBody;
  /** Answers of this route's own, by status. */
  readonly answers: Readonly<Record<number, AnswerShape>>;
  /** Codes of the error envelope beside them. */
  readonly errors: readonly ErrorCode[];
}

/** Every write may end so. */
export const WRITE_ERRORS: readonly ErrorCode[] = [
  'bad_body',
  'bad_request',
  'body_too_large',
  'name_too_long',
  'too_large',
  'overloaded',
  'internal',
  'retry',
  'no_leader',
  'timeout',
  'outcome_unknown',
  'shutting_down',
];

/** Writes that store something; those that settle or delete go on with a full disk. */
export const STORE_ERRORS: readonly ErrorCode[] = [...WRITE_ERRORS, 'storage_full'];

/** Every read may end so. */
export const READ_ERRORS: readonly ErrorCode[] = [
  'bad_request',
  'internal',
  'retry',
  'no_leader',
  'timeout',
  'shutting_down',
];

/** Reads that say what they want in a body. */
export const BODY_READ_ERRORS: readonly ErrorCode[] = [
  ...READ_ERRORS,
  'bad_body',
  'body_too_large',
  'overloaded',
];

/** Reads and pops that show payloads: one of another key cannot be. */
export const KEY_ERRORS: readonly ErrorCode[] = ['encryption_key_mismatch'];

/** A parameter of the query that cannot be read. */
export const BAD_QUERY: AnswerShape = {
  description: 'A query parameter cannot be read; the text names it.',
  contentType: 'text/plain; charset=utf-8',
  example: 'query parameter limit must be an integer from -2147483648 to 2147483647, not "x"',
};

/** `limit` and `offset` of a page. */
export function pageParameters(limits: {
  readonly limitDefault: number;
  readonly limitMax: number;
}): readonly QueryParameter[] {
  return [
    {
      name: 'limit',
      description: `Rows of the page, from 1 to ${limits.limitMax}; what is beyond counts as the bound.`,
      schema: { type: 'integer', default: limits.limitDefault },
    },
    {
      name: 'offset',
      description: 'Rows to skip; less than 0 counts as 0.',
      schema: { type: 'integer', default: 0 },
    },
  ];
}

/** A filter by text; empty is the same as absent. */
export function textFilter(name: string, description: string): QueryParameter {
  return { name, description, schema: { type: 'string' } };
}
