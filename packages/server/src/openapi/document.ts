// The OpenAPI 3.1 document of the operations.

import { ERRORS, IDEMPOTENCY_KEY_BYTES_MAX } from '@queen-ts/protocol';
import type { ErrorCode } from '@queen-ts/protocol';
import type { z } from 'zod';
import { ErrorEnvelope, NoSuchRoute } from '../schemas/errors.ts';
import { VERSION } from '../version.ts';
import { componentSchemas, referTo } from './components.ts';
import type { JsonSchema } from './components.ts';
import { SECTIONS } from './operation.ts';
import type { AnswerHeader, AnswerShape, Operation, QueryParameter } from './operation.ts';
import { OPERATIONS } from './operations/index.ts';

/** A parameter of the path, the query or the head. */
export interface ParameterObject {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required: boolean;
  readonly description: string;
  readonly schema: JsonSchema;
}

/** One content type of a body. */
export interface MediaObject {
  readonly schema: JsonSchema;
  readonly example?: unknown;
  readonly examples?: Readonly<Record<string, { readonly value: unknown }>>;
}

/** Bodies by content type. */
export type ContentObject = Readonly<Record<string, MediaObject>>;

/** An answer. */
export interface ResponseObject {
  readonly description: string;
  readonly headers?: Readonly<Record<string, { readonly $ref: string }>>;
  readonly content?: ContentObject;
}

/** One method of one path. */
export interface OperationObject {
  readonly tags: readonly string[];
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly parameters?: readonly ParameterObject[];
  readonly requestBody?: { readonly required: boolean; readonly content: ContentObject };
  readonly responses: Readonly<Record<string, ResponseObject>>;
}

/** The parts of OpenAPI 3.1 that the document uses. */
export interface OpenApiDocument {
  readonly openapi: string;
  readonly info: Readonly<Record<string, unknown>>;
  readonly tags: readonly { readonly name: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, OperationObject>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, JsonSchema>>;
    readonly headers: Readonly<Record<AnswerHeader, HeaderObject>>;
    /** Answers to what is no request of any operation. */
    readonly responses: Readonly<Record<string, ResponseObject>>;
  };
}

interface HeaderObject {
  readonly description: string;
  readonly schema: JsonSchema;
}

const JSON_TYPE = 'application/json';

const DESCRIPTION = `
Bodies are JSON in UTF-8. What a body or a query has beyond what is described here is ignored, and answers
may get further members. Path segments are percent-encoded; an encoded slash stays inside its segment.

A refusal is \`{"error", "code"}\`, where the code is stable and the text is for people. With 429 and 503 comes
\`Retry-After\`. After \`timeout\`, \`retry\` and \`outcome_unknown\` a write may have happened: repeat it under the
same \`Idempotency-Key\` or transaction id.

A path that no route has is 404 \`no_such_route\`; a method that a path does not take is 405 with \`Allow\`.
Requests that are not valid HTTP are 400, 408 or 431 with the same envelope.
`.trim();

const HEADERS: Readonly<Record<AnswerHeader, HeaderObject>> = {
  'Queen-Pop-Reason': {
    description: 'Why nothing was delivered.',
    schema: { type: 'string', enum: ['empty', 'paused', 'delayed', 'window', 'leased'] },
  },
  'Retry-After': { description: 'Seconds to wait.', schema: { type: 'integer', minimum: 0 } },
  Allow: { description: 'Methods that the path takes.', schema: { type: 'string' } },
};

const PATH_PARAMETERS: Readonly<Record<string, string>> = {
  nodeId: 'Id of the node.',
  queue: 'Name of the queue.',
  partition: 'Name of the partition.',
  group: 'Name of the consumer group.',
  leaseId: 'Lease of a pop.',
  id: 'Id of the dead letter.',
  partitionId: 'Id of the partition, as UUID or as decimal number.',
  transactionId: 'Transaction id of the message.',
};

/** Builds the document. */
export function buildDocument(): OpenApiDocument {
  const paths: Record<string, Record<string, OperationObject>> = {};
  for (const operation of OPERATIONS) {
    (paths[operation.path] ??= {})[operation.method] = operationObject(operation);
  }
  return {
    openapi: '3.1.1',
    info: {
      title: 'Queen TS',
      version: VERSION,
      summary: 'A replicated message broker over plain HTTP.',
      description: DESCRIPTION,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    tags: SECTIONS.map((name) => ({ name })),
    paths,
    components: { schemas: componentSchemas(), headers: HEADERS, responses: commonResponses() },
  };
}

function commonResponses(): Record<string, ResponseObject> {
  return {
    NoSuchRoute: {
      description: 'No route has this path (404).',
      content: { [JSON_TYPE]: { schema: referTo(NoSuchRoute) } },
    },
    MethodNotAllowed: {
      description: 'The path does not take this method (405).',
      headers: { Allow: { $ref: '#/components/headers/Allow' } },
      content: { [JSON_TYPE]: { schema: referTo(ErrorEnvelope) } },
    },
    BrokenRequest: {
      description:
        'The request is not valid HTTP, or its path is not valid percent-encoded UTF-8 (400); it took too long (408), expects what is not known (417), or its head is too large (431).',
      content: { [JSON_TYPE]: { schema: referTo(ErrorEnvelope) } },
    },
  };
}

function operationObject(operation: Operation): OperationObject {
  const { section, id, summary, description, body } = operation;
  const parameters = parametersOf(operation);
  return {
    tags: [section],
    operationId: id,
    summary,
    ...(description === undefined ? {} : { description }),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined
      ? {}
      : {
          requestBody: {
            required: body.isRequired,
            content: {
              [JSON_TYPE]: { schema: referTo(body.schema), ...examplesOf(body.examples) },
            },
          },
        }),
    responses: responsesOf(operation),
  };
}

function examplesOf(examples: Readonly<Record<string, unknown>>): Pick<MediaObject, 'examples'> {
  const entries = Object.entries(examples).map(([name, value]) => [name, { value }] as const);
  return { examples: Object.fromEntries(entries) };
}

function parametersOf({ path, query, takesIdempotencyKey }: Operation): ParameterObject[] {
  const segments = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']): ParameterObject => ({
    name,
    in: 'path',
    required: true,
    description: PATH_PARAMETERS[name] ?? '',
    schema: { type: 'string' },
  }));
  const key: ParameterObject = {
    name: 'Idempotency-Key',
    in: 'header',
    required: false,
    description:
      `Names the request, in 1 to ${IDEMPOTENCY_KEY_BYTES_MAX} bytes: sent again with the same ` +
      'body within 10 minutes, it gets the first answer and changes nothing.',
    schema: { type: 'string', minLength: 1, maxLength: IDEMPOTENCY_KEY_BYTES_MAX },
  };
  return [
    ...segments,
    ...(query ?? []).map(queryParameter),
    ...(takesIdempotencyKey === true ? [key] : []),
  ];
}

function queryParameter({
  name,
  description,
  schema,
  isRequired,
}: QueryParameter): ParameterObject {
  return { name, in: 'query', required: isRequired === true, description, schema: { ...schema } };
}

/** The route's own answers and the envelopes of its codes, by status. */
function responsesOf({ answers, errors }: Operation): Record<string, ResponseObject> {
  const codes = Map.groupBy(errors, (code): number => ERRORS[code].status);
  const statuses = new Set([...Object.keys(answers).map(Number), ...codes.keys()]);
  const responses: Record<string, ResponseObject> = {};
  for (const status of [...statuses].toSorted((a, b) => a - b)) {
    responses[status] = responseObject(status, answers[status], codes.get(status) ?? []);
  }
  return responses;
}

function responseObject(
  status: number,
  shape: AnswerShape | undefined,
  codes: readonly ErrorCode[],
): ResponseObject {
  const { schema, contentType, example, headers: own = [] } = shape ?? { description: '' };
  const named = codes.map((code) => `\`${code}\``).join(', ');
  const description = [shape?.description, named === '' ? undefined : `Codes: ${named}.`];
  const schemas = [schema, codes.length > 0 ? ErrorEnvelope : undefined].filter(
    (candidate) => candidate !== undefined,
  );
  const headers = [
    ...own,
    ...(status === 429 || (status >= 503 && codes.length > 0) ? (['Retry-After'] as const) : []),
  ];
  const content = {
    ...(schemas.length === 0 ? {} : { [JSON_TYPE]: jsonMedia(schemas, { schema, example }) }),
    ...(contentType === undefined ? {} : { [contentType]: textMedia(schema, example) }),
  };
  return {
    description: description.filter((part) => part !== undefined).join(' '),
    ...(headers.length === 0
      ? {}
      : {
          headers: Object.fromEntries(
            headers.map((name) => [name, { $ref: `#/components/headers/${name}` }]),
          ),
        }),
    ...(Object.keys(content).length === 0 ? {} : { content }),
  };
}

function jsonMedia(
  schemas: readonly z.ZodType[],
  { schema, example }: { readonly schema: z.ZodType | undefined; readonly example: unknown },
): MediaObject {
  const refs = schemas.map(referTo);
  return {
    schema: refs.length === 1 ? refs[0]! : { anyOf: refs },
    ...(schema === undefined || example === undefined ? {} : { example }),
  };
}

/** The example of an answer that is JSON or text is its JSON. */
function textMedia(schema: z.ZodType | undefined, example: unknown): MediaObject {
  const isText = schema === undefined && example !== undefined;
  return { schema: { type: 'string' }, ...(isText ? { example } : {}) };
}
