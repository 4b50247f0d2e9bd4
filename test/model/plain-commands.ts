// Commands as plain objects that read well in a failure report, and their packed form for the engine.

import { encodeUtf8, hash128, parseUuid, writeIdWords } from '@queen-ts/base';
import type { HashKey, Id128 } from '@queen-ts/base';
import { ACK_LEASE, ID_WORDS, MINTED_TXN, PUSH_GROUP, PUSH_ITEM } from '@queen-ts/protocol';
import type {
  AckCommand,
  AckStatus,
  Command,
  ConfigureCommand,
  DeleteQueueCommand,
  ExtendCommand,
  PopCommand,
  PushCommand,
  ReleaseCommand,
} from '@queen-ts/protocol';

/** One pushed message. */
export interface PlainPushItem {
  readonly queue: string;
  readonly partition: string;
  /** Null when the client sent none. */
  readonly txn: string | null;
  /** JSON text. */
  readonly payload: string;
}

/** One push request. */
export interface PlainPush {
  readonly kind: 'push';
  readonly items: readonly PlainPushItem[];
  readonly idBase: Id128;
  readonly producerSub: string | null;
}

/** One ack item. */
export interface PlainAckItem {
  /** Partition number; 0 for an unreadable one. */
  readonly partition: number;
  /** Null for none. */
  readonly lease: Id128 | 'malformed' | null;
  readonly txn: string;
  readonly status: AckStatus;
  readonly error: string | null;
}

/** One ack request. */
export interface PlainAck {
  readonly kind: 'ack';
  readonly group: string;
  readonly items: readonly PlainAckItem[];
}

/** Acks of several groups and a push that apply all or nothing. */
export interface PlainTransaction {
  readonly kind: 'transaction';
  readonly transactionId: Id128;
  readonly acks: readonly PlainAck[];
  readonly push: PlainPush | undefined;
}

/** Everything the model understands. */
export type PlainCommand =
  | PlainPush
  | PlainAck
  | PlainTransaction
  | PopCommand
  | ExtendCommand
  | ReleaseCommand
  | ConfigureCommand
  | DeleteQueueCommand;

/** Packs a plain command for the engine. */
export function packCommand(command: PlainCommand, hashKey: HashKey): Command {
  switch (command.kind) {
    case 'push':
      return packPush(command, hashKey);
    case 'ack':
      return packAck(command, hashKey);
    case 'transaction':
      return {
        kind: 'transaction',
        transactionId: command.transactionId,
        acks: command.acks.map((ack) => packAck(ack, hashKey)),
        push: command.push === undefined ? undefined : packPush(command.push, hashKey),
      };
    default:
      return command;
  }
}

/** Collects texts one after the other, as the edge does. */
class TextArena {
  readonly #parts: Uint8Array[] = [];
  size = 0;

  add(text: string): { readonly start: number; readonly length: number } {
    const bytes = encodeUtf8(text);
    const start = this.size;
    this.#parts.push(bytes);
    this.size += bytes.length;
    return { start, length: bytes.length };
  }

  bytes(): Uint8Array {
    const all = new Uint8Array(this.size);
    let at = 0;
    for (const part of this.#parts) {
      all.set(part, at);
      at += part.length;
    }
    return all;
  }
}

function packPush(push: PlainPush, hashKey: HashKey): PushCommand {
  const { items } = push;
  const body = new TextArena();
  const text = new TextArena();
  const queues = [...new Set(items.map(({ queue }) => queue))];
  const itemColumns = new Uint32Array(items.length * PUSH_ITEM.WIDTH);
  const txnHashes = new Uint32Array(items.length * ID_WORDS);
  const groups = new Map<string, number[]>();
  const firsts = new Map<string, number>();
  items.forEach((item, position) => {
    const groupKey = JSON.stringify([item.queue, item.partition]);
    const members = groups.get(groupKey) ?? [];
    groups.set(groupKey, [...members, position]);
    const itemKey = JSON.stringify([item.queue, item.partition, item.txn]);
    if (item.txn !== null && !firsts.has(itemKey)) firsts.set(itemKey, position);
    const payload = body.add(item.payload);
    const row = position * PUSH_ITEM.WIDTH;
    itemColumns[row + PUSH_ITEM.PAYLOAD_START] = payload.start;
    itemColumns[row + PUSH_ITEM.PAYLOAD_LENGTH] = payload.length;
    itemColumns[row + PUSH_ITEM.TXN_LENGTH] = MINTED_TXN;
    itemColumns[row + PUSH_ITEM.FIRST_POSITION] = firsts.get(itemKey) ?? position;
    if (item.txn === null) return;
    const txn = text.add(item.txn);
    itemColumns[row + PUSH_ITEM.TXN_START] = txn.start;
    itemColumns[row + PUSH_ITEM.TXN_LENGTH] = txn.length;
    hashInto(txnHashes, position, item.txn, hashKey);
  });
  const groupColumns = new Uint32Array(groups.size * PUSH_GROUP.WIDTH);
  const order: number[] = [];
  [...groups].forEach(([key, members], i) => {
    const [queue, partition] = JSON.parse(key) as [string, string];
    const name = text.add(partition);
    const row = [queues.indexOf(queue), name.start, name.length, order.length, members.length];
    groupColumns.set(row, i * PUSH_GROUP.WIDTH);
    order.push(...members);
  });
  return {
    kind: 'push',
    itemCount: items.length,
    queues,
    body: body.bytes(),
    text: text.bytes(),
    itemColumns,
    txnHashes,
    groupColumns,
    order: Uint32Array.from(order),
    idBase: push.idBase,
    producerSub: push.producerSub,
  };
}

function packAck(ack: PlainAck, hashKey: HashKey): AckCommand {
  const { items } = ack;
  const leaseIds = new Uint32Array(items.length * ID_WORDS);
  const txnHashes = new Uint32Array(items.length * ID_WORDS);
  const txnUuids = new Uint32Array(items.length * ID_WORDS);
  items.forEach((item, position) => {
    hashInto(txnHashes, position, item.txn, hashKey);
    const uuid = parseUuid(item.txn);
    if (uuid !== undefined) writeIdWords(uuid, txnUuids, position * ID_WORDS);
    if (item.lease === null || item.lease === 'malformed') return;
    writeIdWords(item.lease, leaseIds, position * ID_WORDS);
  });
  const hasErrors = items.some(({ error }) => error !== null);
  return {
    kind: 'ack',
    group: ack.group,
    itemCount: items.length,
    partitions: Uint32Array.from(items, ({ partition }) => partition),
    leaseKinds: Uint8Array.from(items, ({ lease }) => leaseKindOf(lease)),
    leaseIds,
    txnHashes,
    txnUuids,
    statuses: Uint8Array.from(items, ({ status }) => status),
    errors: hasErrors ? items.map(({ error }) => error) : undefined,
  };
}

function leaseKindOf(lease: PlainAckItem['lease']): number {
  if (lease === null) return ACK_LEASE.NONE;
  return lease === 'malformed' ? ACK_LEASE.MALFORMED : ACK_LEASE.NAMED;
}

function hashInto(out: Uint32Array, position: number, text: string, hashKey: HashKey): void {
  const bytes = encodeUtf8(text);
  hash128(hashKey, bytes, 0, bytes.length, out, position * ID_WORDS);
}
