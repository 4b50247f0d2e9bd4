// `POST /api/v1/transaction` (data-plane reference §5): body to command. Operations are looked at twice:
// once to see what each of them is, once to read it the way the push and ack routes do.

import { utf8Size } from '@queen-ts/base';
import type { HashKey } from '@queen-ts/base';
import { NO_PARTITION } from '../commands.ts';
import type { AckCommand, Id128, TransactionCommand } from '../commands.ts';
import { OPEN_ARRAY, OPEN_OBJECT, QUOTE } from '../json/characters.ts';
import { MemberSpans } from '../json/member-spans.ts';
import { NameSet, stringAt } from '../json/strings.ts';
import { ACK_ITEMS_MAX, QUEUE_MODE_GROUP } from '../limits.ts';
import { nameBudgetError } from '../names.ts';
import type { Refused, RolledBack } from '../outcomes.ts';
import { AckItems, tooManyAcks } from './ack-items.ts';
import { PushItems } from './push-items.ts';
import { pushCommandOf, refuseSub } from './push.ts';
import type { PushContext } from './push.ts';
import { refuse, refuseMalformed } from './refusal.ts';
import { inferLeases } from './transaction-leases.ts';

const FIELD = { OPERATIONS: 0, REQUIRED_LEASES: 1, KV: 2, TIMERS: 3, POSITIONS: 4 } as const;
const FIELD_NAMES = ['operations', 'requiredLeases', 'kv', 'timers', 'positions'];
const FIELD_SET = new NameSet(FIELD_NAMES);

/** Riders that this build does not know: one that asks for something is refused, never ignored. */
const UNKNOWN_RIDERS = [FIELD.KV, FIELD.TIMERS, FIELD.POSITIONS];

const OPERATION = { TYPE: 0, ITEMS: 1, GROUP: 2 } as const;
const OPERATION_SET = new NameSet(['type', 'items', 'consumerGroup']);

const FORM = 'send {"operations":[{"type":"push",…},{"type":"ack",…}]}';

/** What parsing depends on besides the body. */
export interface TransactionContext {
  /** Key of the cluster's transaction-id hash. */
  readonly hashKey: HashKey;
  /** Mints an id with `count` fresh ids from it on in the low word. */
  readonly mintIds: PushContext['mintIds'];
  /** The `sub` of the validated token, else null. */
  readonly producerSub: string | null;
  readonly tenant: string;
}

/** Where the results of a transaction come from: one number for each part, in request order. */
export interface TransactionEcho {
  /** The request body, lent until the answer is rendered. */
  readonly body: Uint8Array;
  /** Position in the command's `acks` of the part's ack, or {@link PUSH_PART} for a push. */
  readonly sources: Int32Array;
  /** Position of the part in the columns of that ack or of the push. */
  readonly positions: Uint32Array;
  /** By ack: start and size of each transaction id's JSON text; size 0 when it is no string. */
  readonly spans: readonly Uint32Array[];
}

/** Source of a part that is a push. */
export const PUSH_PART = -1;

/** A parsed transaction. */
export interface TransactionRequest {
  readonly kind: 'request';
  readonly command: TransactionCommand;
  readonly echo: TransactionEcho;
}

/** A transaction that is wrong in itself: it is answered as rolled back, with this status. */
export interface BadTransaction extends RolledBack {
  readonly status: 200 | 400;
}

/** Thrown inside the parser only; carries what {@link parseTransaction} returns. */
class Rejection extends Error {
  readonly result: Refused | Pick<BadTransaction, 'status' | 'reason' | 'message'>;

  constructor(result: Rejection['result']) {
    super(result.message);
    this.result = result;
  }
}

/** Reads a transaction. The command's payloads point into `body`, lent until the outcome is released. */
export function parseTransaction(
  body: Uint8Array,
  context: TransactionContext,
): TransactionRequest | Refused | BadTransaction {
  const transactionId = context.mintIds(1);
  try {
    return new TransactionParser(body, context).parse(transactionId);
  } catch (error) {
    if (!(error instanceof Rejection)) throw error;
    const { result } = error;
    if ('kind' in result) return result;
    return { kind: 'rolledBack', transactionId, ...result };
  }
}

/** The ack operations of one group. */
interface AckGroup {
  /** Position in the command's `acks`. */
  readonly source: number;
  /** Start of each operation. */
  readonly starts: number[];
}

/** One request. */
class TransactionParser {
  readonly #body: Uint8Array;
  readonly #context: TransactionContext;
  readonly #push = new PushItems();
  readonly #ackGroups = new Map<string, AckGroup>();
  #ackCount = 0;
  readonly #sources: number[] = [];
  readonly #positions: number[] = [];

  constructor(body: Uint8Array, context: TransactionContext) {
    this.#body = body;
    this.#context = context;
  }

  parse(transactionId: Id128): TransactionRequest {
    const subRefusal = refuseSub(this.#context.producerSub);
    if (subRefusal !== undefined) throw new Rejection(subRefusal);
    const top = this.#readTop();
    if (top.starts[FIELD.OPERATIONS]! >= 0) this.#readOperations(top.starts[FIELD.OPERATIONS]!);
    if (this.#sources.length === 0) throw rolledBack('nothing to do: operations is empty');
    const { acks, spans } = this.#acks();
    inferLeases(acks, this.#requiredLeases(top));
    const push = this.#push.count === 0 ? undefined : pushCommandOf(this.#push, this.#context);
    return {
      kind: 'request',
      command: { kind: 'transaction', transactionId, acks, push },
      echo: {
        body: this.#body,
        sources: Int32Array.from(this.#sources),
        positions: Uint32Array.from(this.#positions),
        spans,
      },
    };
  }

  /** Checks the whole body and finds its members. */
  #readTop(): MemberSpans {
    const { scanner } = this.#push;
    scanner.reset(this.#body);
    const top = new MemberSpans(FIELD_SET);
    const start = scanner.skipSpace(0);
    const isObject = this.#body[start] === OPEN_OBJECT;
    const end = isObject ? top.read(scanner, start) : scanner.skipValue(start);
    if (end < 0 || !scanner.expectEnd(end)) throw bad(refuseMalformed(scanner).message);
    if (!isObject) throw bad(`the body must be an object: ${FORM}`);
    FIELD_NAMES.forEach((name, field) => {
      const at = top.starts[field]!;
      if (at >= 0 && this.#body[at] !== OPEN_ARRAY) throw bad(`"${name}" must be an array`);
    });
    for (const field of UNKNOWN_RIDERS) {
      const at = top.starts[field]!;
      if (at < 0 || scanner.firstElement(at) < 0) continue;
      const message = `"${FIELD_NAMES[field]}" is not available in this build: send only "operations"`;
      throw new Rejection({ status: 400, reason: 'not_supported', message });
    }
    return top;
  }

  #readOperations(start: number): void {
    const { scanner } = this.#push;
    const spans = new MemberSpans(OPERATION_SET);
    let at = scanner.firstElement(start);
    for (let operation = 0; at >= 0; operation += 1) {
      const place = `operations[${operation}]`;
      if (this.#body[at] !== OPEN_OBJECT) throw bad(`${place} must be an object`);
      const end = spans.read(scanner, at);
      const type = this.#text(spans, OPERATION.TYPE);
      if (type === 'push') this.#readPush(spans, at, place);
      else if (type === 'ack') this.#noteAck(spans, at);
      else if (type === undefined) throw bad(`${place}.type is missing: "push" or "ack"`);
      else throw bad(`${place}.type ${JSON.stringify(type)} is unknown: "push" or "ack"`);
      at = scanner.nextElement(end);
    }
  }

  #readPush(spans: MemberSpans, start: number, place: string): void {
    const push = this.#push;
    const { hashKey, tenant } = this.#context;
    const items = { hashKey, tenantSize: utf8Size(tenant), keepsTraceIds: true };
    const before = push.count;
    if (spans.isNone(this.#body, OPERATION.ITEMS)) push.appendItem(start, items);
    else if (this.#body[spans.starts[OPERATION.ITEMS]!] === OPEN_ARRAY) {
      push.append(spans.starts[OPERATION.ITEMS]!, items);
    } else throw bad(`${place}.items must be an array`);
    if (push.problem !== undefined) throw ofItem(push.problem, place);
    for (let position = before; position < push.count; position += 1) {
      this.#sources.push(PUSH_PART);
      this.#positions.push(position);
    }
  }

  #noteAck(spans: MemberSpans, start: number): void {
    this.#ackCount += 1;
    if (this.#ackCount > ACK_ITEMS_MAX) throw new Rejection(refuse('too_large', tooManyAcks()));
    const named = this.#text(spans, OPERATION.GROUP) ?? '';
    const group = named === '' ? QUEUE_MODE_GROUP : named;
    let acks = this.#ackGroups.get(group);
    if (acks === undefined) {
      this.#checkGroup(group);
      acks = { source: this.#ackGroups.size, starts: [] };
      this.#ackGroups.set(group, acks);
    }
    this.#sources.push(acks.source);
    this.#positions.push(acks.starts.length);
    acks.starts.push(start);
  }

  #checkGroup(group: string): void {
    if (!group.isWellFormed()) throw bad('consumerGroup has an unpaired surrogate');
    const tenant = utf8Size(this.#context.tenant);
    const error = nameBudgetError({ tenant, queue: 0, partition: 0, group: utf8Size(group) });
    if (error !== undefined) throw new Rejection(refuse('name_too_long', error));
  }

  #acks(): { readonly acks: AckCommand[]; readonly spans: Uint32Array[] } {
    const items = new AckItems();
    items.scanner.reset(this.#body);
    const acks: AckCommand[] = [];
    const spans: Uint32Array[] = [];
    for (const [group, { starts }] of this.#ackGroups) {
      items.clear();
      for (const start of starts) items.appendItem(start, this.#context.hashKey);
      const columns = items.columns();
      if (columns.partitions.includes(NO_PARTITION)) {
        throw rolledBack('an ack needs the partitionId of the message as it was popped');
      }
      acks.push({ kind: 'ack', group, ...columns });
      spans.push(items.echoSpans.slice(0, items.count * 2));
    }
    return { acks, spans };
  }

  #requiredLeases(top: MemberSpans): string[] {
    const leases: string[] = [];
    const start = top.starts[FIELD.REQUIRED_LEASES]!;
    if (start < 0) return leases;
    const { scanner } = this.#push;
    for (let at = scanner.firstElement(start); at >= 0;) {
      const end = scanner.skipValue(at);
      if (this.#body[at] !== QUOTE) throw bad('requiredLeases must hold lease ids');
      leases.push(stringAt(this.#body, at, end));
      at = scanner.nextElement(end);
    }
    return leases;
  }

  /** A member that is a string; undefined when it is absent or anything else. */
  #text(spans: MemberSpans, field: number): string | undefined {
    if (!spans.isString(this.#body, field)) return undefined;
    return stringAt(this.#body, spans.starts[field]!, spans.ends[field]!);
  }
}

/** The request as such is wrong: 400. */
function bad(message: string): Rejection {
  return new Rejection({ status: 400, reason: 'bad_request', message });
}

/** The request is well-formed, but what it asks for makes no sense: 200. */
function rolledBack(message: string): Rejection {
  return new Rejection({ status: 200, reason: 'bad_request', message });
}

/** A pushed item that cannot be read: what fails a push request fails this one, with its code. */
function ofItem(problem: Refused, place: string): Rejection {
  const message = `${place}: ${problem.message}`;
  return problem.code === 'bad_body' ? rolledBack(message) : new Rejection({ ...problem, message });
}
