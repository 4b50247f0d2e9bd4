// Commands from plain objects, as the edge would prepare them from requests.

import { encodeUtf8, hash128, parseUuid } from '@queen-ts/base';
import type { HashKey } from '@queen-ts/base';
import {
  ACK_LEASE,
  ACK_STATUS,
  DEFAULT_PARTITION,
  ID_WORDS,
  MINTED_TXN,
  PUSH_GROUP,
  PUSH_ITEM,
  QUEUE_MODE_GROUP,
} from '@queen-ts/protocol';
import type { AckCommand, Id128, PopCommand, PushCommand, Subscription } from '@queen-ts/protocol';

/** One item of a push. */
export interface PushItem {
  readonly queue: string;
  /** Default partition when absent. */
  readonly partition?: string;
  /** Transaction id; minted when absent. */
  readonly id?: string;
  /** Any JSON value; null when absent. */
  readonly data?: unknown;
}

/** One pop; absent fields have the defaults of the HTTP route. */
export interface PopFields {
  readonly queue?: string;
  readonly partition?: string;
  readonly namespace?: string;
  readonly task?: string;
  readonly group?: string;
  readonly batch?: number;
  readonly partitions?: number;
  readonly autoAck?: boolean;
  readonly leaseSeconds?: number;
  readonly subscription?: Subscription;
  readonly conflation?: boolean;
  readonly leaseId?: Id128;
}

/** One item of an ack. */
export interface AckItem {
  /** Wire number. */
  readonly partition: number;
  readonly id: string;
  readonly status?: 'completed' | 'failed' | 'retry' | 'dlq' | 'unknown';
  readonly error?: string;
  /** Absent: no fence. `malformed`: a text that is no lease id. */
  readonly lease?: Id128 | 'malformed';
}

const STATUSES = {
  completed: ACK_STATUS.COMPLETED,
  failed: ACK_STATUS.FAILED,
  retry: ACK_STATUS.RETRY,
  dlq: ACK_STATUS.DLQ,
  unknown: ACK_STATUS.UNKNOWN,
} as const;

/** Prepares a push. */
export function pushCommand(
  items: readonly PushItem[],
  ids: {
    readonly idBase: Id128;
    readonly hashKey: HashKey;
    readonly producerSub?: string | null;
  },
): PushCommand {
  const body = new Bytes();
  const text = new Bytes();
  const columns = new Uint32Array(items.length * PUSH_ITEM.WIDTH);
  const hashes = new Uint32Array(items.length * ID_WORDS);
  const queues: string[] = [];
  const groups = new Map<string, number[]>();
  const firsts = new Map<string, number>();
  items.forEach((item, position) => {
    const partition = item.partition ?? DEFAULT_PARTITION;
    if (!queues.includes(item.queue)) queues.push(item.queue);
    const groupKey = JSON.stringify([item.queue, partition]);
    const group = groups.get(groupKey);
    if (group === undefined) groups.set(groupKey, [position]);
    else group.push(position);
    const at = position * PUSH_ITEM.WIDTH;
    columns[at + PUSH_ITEM.FIRST_POSITION] = position;
    columns[at + PUSH_ITEM.TXN_LENGTH] = MINTED_TXN;
    if (item.id !== undefined) {
      const id = encodeUtf8(item.id);
      columns[at + PUSH_ITEM.TXN_START] = text.add(id);
      columns[at + PUSH_ITEM.TXN_LENGTH] = id.length;
      hash128(ids.hashKey, id, 0, id.length, hashes, position * ID_WORDS);
      const key = JSON.stringify([groupKey, item.id]);
      columns[at + PUSH_ITEM.FIRST_POSITION] = firsts.get(key) ?? position;
      if (!firsts.has(key)) firsts.set(key, position);
    }
    const payload = encodeUtf8(JSON.stringify(item.data ?? null));
    columns[at + PUSH_ITEM.PAYLOAD_START] = body.add(payload);
    columns[at + PUSH_ITEM.PAYLOAD_LENGTH] = payload.length;
  });
  const groupColumns: number[] = [];
  const order: number[] = [];
  for (const [key, positions] of groups) {
    const [queue, partition] = JSON.parse(key) as [string, string];
    const name = encodeUtf8(partition);
    const row: number[] = [];
    row[PUSH_GROUP.QUEUE] = queues.indexOf(queue);
    row[PUSH_GROUP.NAME_START] = text.add(name);
    row[PUSH_GROUP.NAME_LENGTH] = name.length;
    row[PUSH_GROUP.ORDER_START] = order.length;
    row[PUSH_GROUP.ORDER_COUNT] = positions.length;
    groupColumns.push(...row);
    for (const position of positions) order.push(position);
  }
  return {
    kind: 'push',
    itemCount: items.length,
    queues,
    body: body.all(),
    text: text.all(),
    itemColumns: columns,
    txnHashes: hashes,
    groupColumns: Uint32Array.from(groupColumns),
    order: Uint32Array.from(order),
    idBase: ids.idBase,
    producerSub: ids.producerSub ?? null,
  };
}

/** Prepares a pop. */
export function popCommand(fields: PopFields, leaseId: Id128): PopCommand {
  const { queue, partition, namespace = '', task = '' } = fields;
  const scope =
    queue === undefined
      ? ({ kind: 'labels', namespace, task } as const)
      : partition === undefined
        ? ({ kind: 'queue', queue } as const)
        : ({ kind: 'partition', queue, partition } as const);
  return {
    kind: 'pop',
    scope,
    group: fields.group ?? QUEUE_MODE_GROUP,
    leaseId: fields.leaseId ?? leaseId,
    batch: fields.batch ?? 200,
    partitions: fields.partitions ?? 1,
    autoAck: fields.autoAck ?? false,
    leaseSeconds: fields.leaseSeconds ?? 0,
    subscription: fields.subscription ?? { mode: 'all' },
    conflation: fields.conflation,
  };
}

/** Prepares an ack. */
export function ackCommand(
  items: readonly AckItem[],
  options: { readonly group?: string; readonly hashKey: HashKey },
): AckCommand {
  const count = items.length;
  const command = {
    kind: 'ack',
    group: options.group ?? QUEUE_MODE_GROUP,
    itemCount: count,
    partitions: Uint32Array.from(items, (item) => item.partition),
    leaseKinds: new Uint8Array(count),
    leaseIds: new Uint32Array(count * ID_WORDS),
    txnHashes: new Uint32Array(count * ID_WORDS),
    txnUuids: new Uint32Array(count * ID_WORDS),
    statuses: Uint8Array.from(items, (item) => STATUSES[item.status ?? 'completed']),
    errors: items.map((item) => item.error ?? null),
  } as const;
  items.forEach((item, position) => {
    const at = position * ID_WORDS;
    const id = encodeUtf8(item.id);
    hash128(options.hashKey, id, 0, id.length, command.txnHashes, at);
    command.txnUuids.set(parseUuid(item.id) ?? [0, 0, 0, 0], at);
    if (item.lease === undefined) return;
    command.leaseKinds[position] =
      item.lease === 'malformed' ? ACK_LEASE.MALFORMED : ACK_LEASE.NAMED;
    if (item.lease !== 'malformed') command.leaseIds.set(item.lease, at);
  });
  return command;
}

/** Bytes that grow by whole pieces. */
class Bytes {
  readonly #pieces: Uint8Array[] = [];
  #length = 0;

  add(piece: Uint8Array): number {
    const start = this.#length;
    this.#pieces.push(piece);
    this.#length += piece.length;
    return start;
  }

  all(): Uint8Array {
    const bytes = new Uint8Array(this.#length);
    let at = 0;
    for (const piece of this.#pieces) {
      bytes.set(piece, at);
      at += piece.length;
    }
    return bytes;
  }
}
