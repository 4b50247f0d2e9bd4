// `POST /api/v1/push` (data-plane reference §1): body to command. The body is scanned once; payloads
// stay where they are, and what a name or a transaction id says is decoded into `text`.

import { utf8Size } from '@queen-ts/base';
import type { HashKey } from '@queen-ts/base';
import { ID_WORDS, PUSH_GROUP, PUSH_ITEM } from '../commands.ts';
import type { Id128, PushCommand } from '../commands.ts';
import { OPEN_ARRAY, OPEN_OBJECT } from '../json/characters.ts';
import { FAILED } from '../json/scanner.ts';
import { NameSet } from '../json/strings.ts';
import { PRODUCER_SUB_BYTES_MAX } from '../limits.ts';
import type { Refused } from '../outcomes.ts';
import { NAME_ROW } from './name-table.ts';
import { PushItems } from './push-items.ts';
import { refuse, refuseMalformed } from './refusal.ts';

const FIELD_NAMES = new NameSet(['items']);
const FORM = 'send {"items":[{"queue":"…","payload":…}]}';

/** What parsing depends on besides the body. */
export interface PushContext {
  /** Key of the cluster's transaction-id hash. */
  readonly hashKey: HashKey;
  /** Mints an id with `count` fresh ids from it on in the low word. */
  readonly mintIds: (count: number) => Id128;
  /** The `sub` of the validated token, else null. */
  readonly producerSub: string | null;
  readonly tenant: string;
  /** Working memory to use again from one request to the next; made anew when absent. */
  readonly scratch?: PushItems;
}

/** A push without items: the answer is 201 `[]`, and nobody needs to be asked. */
export interface NothingToPush {
  readonly kind: 'nothing';
}

/**
 * Reads a push. The command's `body` is the given buffer, lent until the outcome is released.
 * Unknown members are ignored; of repeated ones the last counts.
 */
export function parsePush(
  body: Uint8Array,
  context: PushContext,
): PushCommand | Refused | NothingToPush {
  const items = context.scratch ?? new PushItems();
  const refusal = readBody(items, body, context);
  const result =
    refusal ?? (items.count === 0 ? { kind: 'nothing' } : pushCommandOf(items, context));
  // Working memory must not keep a request's body alive.
  items.scanner.reset();
  items.clear();
  return result;
}

function readBody(items: PushItems, body: Uint8Array, context: PushContext): Refused | undefined {
  const refusal = refuseSub(context.producerSub);
  if (refusal !== undefined) return refusal;
  const { scanner } = items;
  scanner.reset(body);
  items.clear();
  const start = scanner.skipSpace(0);
  if (body[start] !== OPEN_OBJECT) {
    const end = scanner.skipValue(start);
    if (end < 0 || !scanner.expectEnd(end)) return refuseMalformed(scanner);
    return refuse('bad_body', `the body must be an object: ${FORM}`);
  }
  const tenantSize = utf8Size(context.tenant);
  let itemsStart = -1;
  let at = scanner.firstMember(start);
  while (at >= 0) {
    const isItems = FIELD_NAMES.match(scanner) === 0;
    if (isItems) itemsStart = at;
    const isArray = isItems && body[at] === OPEN_ARRAY;
    const end = isArray
      ? items.read(at, { hashKey: context.hashKey, tenantSize })
      : scanner.skipValue(at);
    if (end < 0) return refuseMalformed(scanner);
    at = scanner.nextMember(end);
  }
  if (at === FAILED || !scanner.expectEnd(scanner.position)) return refuseMalformed(scanner);
  if (itemsStart < 0) return refuse('bad_body', `"items" is missing: ${FORM}`);
  if (body[itemsStart] !== OPEN_ARRAY)
    return refuse('bad_body', `"items" must be an array: ${FORM}`);
  return items.problem;
}

/** The refusal of a token's `sub` that is too long to be stored with messages. */
export function refuseSub(producerSub: string | null): Refused | undefined {
  if (producerSub === null || utf8Size(producerSub) <= PRODUCER_SUB_BYTES_MAX) return undefined;
  return refuse('bad_request', `the token's "sub" exceeds ${PRODUCER_SUB_BYTES_MAX} bytes`);
}

/** The command of the items that were read, at least one. Its columns are its own. */
export function pushCommandOf(
  items: PushItems,
  { mintIds, producerSub }: Pick<PushContext, 'mintIds' | 'producerSub'>,
): PushCommand {
  const { count, queues, scanner, traceIds } = items;
  const { groupColumns, order } = orderByGroup(items);
  return {
    kind: 'push',
    itemCount: count,
    queues,
    body: scanner.bytes,
    text: items.text.slice(0, items.textSize),
    itemColumns: items.columns.slice(0, count * PUSH_ITEM.WIDTH),
    txnHashes: items.hashes.slice(0, count * ID_WORDS),
    groupColumns,
    order,
    idBase: mintIds(count),
    producerSub,
    ...(traceIds !== undefined && { traceIds: traceIds.slice(0, count * ID_WORDS) }),
  };
}

/** Counting sort of the item positions by group; stable, so request order holds inside a group. */
function orderByGroup(items: PushItems): Pick<PushCommand, 'groupColumns' | 'order'> {
  const { count, groupOf, groups } = items;
  const groupColumns = new Uint32Array(groups.count * PUSH_GROUP.WIDTH);
  for (let position = 0; position < count; position++) {
    groupColumns[groupOf[position]! * PUSH_GROUP.WIDTH + PUSH_GROUP.ORDER_COUNT]! += 1;
  }
  const next = new Uint32Array(groups.count);
  let start = 0;
  for (let group = 0; group < groups.count; group++) {
    const from = group * NAME_ROW.WIDTH;
    const to = group * PUSH_GROUP.WIDTH;
    groupColumns[to + PUSH_GROUP.QUEUE] = groups.rows[from + NAME_ROW.SCOPE]!;
    groupColumns[to + PUSH_GROUP.NAME_START] = groups.rows[from + NAME_ROW.START]!;
    groupColumns[to + PUSH_GROUP.NAME_LENGTH] = groups.rows[from + NAME_ROW.LENGTH]!;
    groupColumns[to + PUSH_GROUP.ORDER_START] = start;
    next[group] = start;
    start += groupColumns[to + PUSH_GROUP.ORDER_COUNT]!;
  }
  const order = new Uint32Array(count);
  for (let position = 0; position < count; position++) {
    const group = groupOf[position]!;
    order[next[group]!++] = position;
  }
  return { groupColumns, order };
}
