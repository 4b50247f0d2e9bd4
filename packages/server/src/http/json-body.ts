// Bodies of the control routes: JSON that a schema describes. What the schemas do not name is ignored.

import { BrokerError, QueryError } from '@queen-ts/protocol';
import { parseTimestampUs } from '@queen-ts/base';
import type { QueryReader } from '@queen-ts/protocol';
import type { z } from 'zod';

const decoder = new TextDecoder('utf-8', { fatal: true });

/** Reads a body. Throws `bad_body` when it is no JSON and `bad_request` when it is not as described. */
export function readJsonBody<T>(schema: z.ZodType<T>, body: Uint8Array): T {
  const result = schema.safeParse(parseJson(body));
  if (result.success) return result.data;
  const issue = result.error.issues[0];
  const place = issue === undefined || issue.path.length === 0 ? 'the body' : issue.path.join('.');
  throw new BrokerError('bad_request', `${place}: ${issue?.message ?? 'is not as described'}`);
}

/** Reads a body that may be empty; undefined then. */
export function readOptionalBody<T>(schema: z.ZodType<T>, body: Uint8Array): T | undefined {
  return body.length === 0 ? undefined : readJsonBody(schema, body);
}

/** An instant of the query in microseconds; undefined when absent or empty. Throws QueryError. */
export function queryInstant(query: QueryReader, name: string): number | undefined {
  const text = query.text(name) ?? '';
  if (text === '') return undefined;
  const us = parseTimestampUs(text);
  if (us !== undefined) return us;
  throw new QueryError(`query parameter ${name} must be an ISO 8601 time`);
}

/** `limit` and `offset` of the query; `limit` is held to [1, `limitMax`]. Throws QueryError. */
export function queryPage(
  query: QueryReader,
  limits: { readonly limitDefault: number; readonly limitMax: number },
): { readonly limit: number; readonly offset: number } {
  const limit = query.int32('limit') ?? limits.limitDefault;
  return {
    limit: Math.min(Math.max(1, limit), limits.limitMax),
    offset: Math.max(0, query.int32('offset') ?? 0),
  };
}

function parseJson(body: Uint8Array): unknown {
  try {
    return JSON.parse(decoder.decode(body));
  } catch (cause) {
    throw new BrokerError('bad_body', 'the body is not valid JSON', { cause });
  }
}
