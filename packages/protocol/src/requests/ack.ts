// `POST /api/v1/ack` and `/ack/batch` (data-plane reference §3): one parser, either path takes either
// body. Only malformed JSON, a non-object and an over-long group fail the request; everything else
// that is wrong fails its item.

import { utf8Size } from '@queen-ts/base';
import type { HashKey } from '@queen-ts/base';
import type { AckCommand } from '../commands.ts';
import { OPEN_ARRAY, OPEN_OBJECT } from '../json/characters.ts';
import { MemberSpans } from '../json/member-spans.ts';
import { FAILED } from '../json/scanner.ts';
import { NameSet, stringAt } from '../json/strings.ts';
import { QUEUE_MODE_GROUP } from '../limits.ts';
import { nameBudgetError } from '../names.ts';
import type { Refused } from '../outcomes.ts';
import { ACK_FIELD_NAMES, AckItems } from './ack-items.ts';
import { refuse, refuseMalformed } from './refusal.ts';

const CONSUMER_GROUP = ACK_FIELD_NAMES.length;
const ACKNOWLEDGMENTS = CONSUMER_GROUP + 1;
const TOP_NAMES = new NameSet([...ACK_FIELD_NAMES, 'consumerGroup', 'acknowledgments']);
const FORM = 'send {"acknowledgments":[{"transactionId":"…","partitionId":"…"}]}';

/** What parsing depends on besides the body. */
export interface AckContext {
  /** Key of the cluster's transaction-id hash. */
  readonly hashKey: HashKey;
  readonly tenant: string;
  /** Working memory to use again from one request to the next; made anew when absent. */
  readonly scratch?: AckItems;
}

/** The transaction ids as they were sent, for the answer. */
export interface AckEcho {
  /** The request body, lent until the answer is rendered. */
  readonly body: Uint8Array;
  /** Start and size of each id's JSON text, quotes included; size 0 when it was no string. */
  readonly spans: Uint32Array;
}

/** A parsed ack. */
export interface AckRequest {
  readonly kind: 'request';
  readonly command: AckCommand;
  readonly echo: AckEcho;
}

/** An empty `acknowledgments`: the answer is 200 `[]`, and nobody needs to be asked. */
export interface NothingToAck {
  readonly kind: 'nothing';
}

/**
 * Reads an ack. An `acknowledgments` that is an array makes it a batch, also an empty one; absent or
 * null makes the body itself the one item.
 */
export function parseAck(
  body: Uint8Array,
  context: AckContext,
): AckRequest | Refused | NothingToAck {
  const items = context.scratch ?? new AckItems();
  items.scanner.reset(body);
  items.clear();
  const result = read(items, body, context);
  // Working memory must not keep a request's body alive.
  items.scanner.reset();
  items.clear();
  return result;
}

function read(
  items: AckItems,
  body: Uint8Array,
  { hashKey, tenant }: AckContext,
): AckRequest | Refused | NothingToAck {
  const top = new MemberSpans(TOP_NAMES);
  const malformed = readTop(items, body, top, hashKey);
  if (malformed !== undefined) return malformed;
  const isBatch = !top.isNone(body, ACKNOWLEDGMENTS);
  if (isBatch && body[top.starts[ACKNOWLEDGMENTS]!] !== OPEN_ARRAY) {
    return refuse('bad_body', `"acknowledgments" must be an array: ${FORM}`);
  }
  if (isBatch && items.problem !== undefined) return items.problem;
  const group = readGroup(body, top);
  if (group === undefined) {
    return refuse('bad_body', 'consumerGroup has an unpaired surrogate: send valid Unicode');
  }
  const tenantSize = utf8Size(tenant);
  const sizes = { tenant: tenantSize, queue: 0, partition: 0, group: utf8Size(group) };
  const error = nameBudgetError(sizes);
  if (error !== undefined) return refuse('name_too_long', error);
  if (!isBatch) {
    items.clear();
    items.add(top, hashKey);
  }
  if (items.count === 0) return { kind: 'nothing' };
  return {
    kind: 'request',
    command: { kind: 'ack', group, ...items.columns() },
    echo: { body, spans: items.echoSpans.slice(0, items.count * 2) },
  };
}

/** Walks the body's object; an array of acknowledgments is read on the way. */
function readTop(
  items: AckItems,
  body: Uint8Array,
  top: MemberSpans,
  hashKey: HashKey,
): Refused | undefined {
  const { scanner } = items;
  const start = scanner.skipSpace(0);
  if (body[start] !== OPEN_OBJECT) {
    const end = scanner.skipValue(start);
    if (end < 0 || !scanner.expectEnd(end)) return refuseMalformed(scanner);
    return refuse('bad_body', `the body must be an object: ${FORM}`);
  }
  let at = scanner.firstMember(start);
  while (at >= 0) {
    const member = TOP_NAMES.match(scanner);
    const isBatch = member === ACKNOWLEDGMENTS && body[at] === OPEN_ARRAY;
    const end = isBatch ? items.readBatch(at, hashKey) : scanner.skipValue(at);
    if (end < 0) return refuseMalformed(scanner);
    if (member >= 0) top.record(scanner, member, at, end);
    at = scanner.nextMember(end);
  }
  if (at === FAILED || !scanner.expectEnd(scanner.position)) return refuseMalformed(scanner);
  return undefined;
}

/** The group's name; undefined when it has no UTF-8. Anything but a string means queue mode. */
function readGroup(body: Uint8Array, top: MemberSpans): string | undefined {
  if (!top.isString(body, CONSUMER_GROUP)) return QUEUE_MODE_GROUP;
  const group = stringAt(body, top.starts[CONSUMER_GROUP]!, top.ends[CONSUMER_GROUP]!);
  return group.isWellFormed() ? group : undefined;
}
