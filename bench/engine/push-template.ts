// A push command whose names and ids are overwritten in place, so that preparing the next one costs
// next to nothing: neither time nor garbage of the generator may show in a figure.

import { hash128 } from '@queen-ts/base';
import { pushCommand } from '@queen-ts/engine/testing';
import { ID_WORDS, PUSH_GROUP, PUSH_ITEM } from '@queen-ts/protocol';
import type { PushCommand } from '@queen-ts/protocol';
import { HASH_KEY, QUEUE } from './leader.ts';
import type { Leader } from './leader.ts';

const NAME_PREFIX = 'customer-';
const ID_PREFIX = 'order-';
/** Names and ids have 20 bytes. */
const NAME_DIGITS = 11;
const ID_DIGITS = 14;
const ZERO = 0x30;

/** What every push of a template looks like. */
export interface PushShape {
  readonly partitions: number;
  readonly messagesEach: number;
  /** Whether messages have transaction ids of the client. */
  readonly hasIds: boolean;
  readonly data?: string;
}

/** Makes pushes of one shape. */
export class PushTemplate {
  readonly messages: number;
  readonly #command: PushCommand;
  readonly #partitions: number;
  readonly #hasIds: boolean;
  #ids = 0;

  constructor({ partitions, messagesEach, hasIds, data = 'x' }: PushShape) {
    this.messages = partitions * messagesEach;
    this.#partitions = partitions;
    this.#hasIds = hasIds;
    const items = Array.from({ length: this.messages }, (_, i) => {
      const item = { queue: QUEUE, partition: partitionName(Math.trunc(i / messagesEach)), data };
      return hasIds ? { ...item, id: ID_PREFIX + String(i).padStart(ID_DIGITS, '0') } : item;
    });
    this.#command = pushCommand(items, { idBase: [0, 0, 0, 0], hashKey: HASH_KEY });
  }

  /**
   * The push to partitions `partitionAt(0)`, `partitionAt(1)`, … with fresh ids. Valid until the next
   * call: its buffers are those of the template.
   */
  next(leader: Leader, partitionAt: (group: number) => number): PushCommand {
    const { text, groupColumns } = this.#command;
    for (let group = 0; group < this.#partitions; group += 1) {
      const at = groupColumns[group * PUSH_GROUP.WIDTH + PUSH_GROUP.NAME_START]!;
      writeDigits(text, at + NAME_PREFIX.length, NAME_DIGITS, partitionAt(group));
    }
    if (this.#hasIds) this.#renewIds();
    return { ...this.#command, idBase: leader.mint(this.messages) };
  }

  /** The same with buffers of its own. */
  copy(leader: Leader, partitionAt: (group: number) => number): PushCommand {
    const { text, txnHashes, ...rest } = this.next(leader, partitionAt);
    return { ...rest, text: text.slice(), txnHashes: txnHashes.slice() };
  }

  #renewIds(): void {
    const { text, itemColumns, txnHashes, itemCount } = this.#command;
    for (let item = 0; item < itemCount; item += 1) {
      const at = itemColumns[item * PUSH_ITEM.WIDTH + PUSH_ITEM.TXN_START]!;
      const end = at + ID_PREFIX.length + ID_DIGITS;
      this.#ids += 1;
      writeDigits(text, at + ID_PREFIX.length, ID_DIGITS, this.#ids);
      hash128(HASH_KEY, text, at, end, txnHashes, item * ID_WORDS);
    }
  }
}

/** A name of 20 bytes. */
function partitionName(number: number): string {
  return NAME_PREFIX + String(number).padStart(NAME_DIGITS, '0');
}

function writeDigits(text: Uint8Array, start: number, digits: number, value: number): void {
  let rest = value;
  for (let at = start + digits - 1; at >= start; at -= 1) {
    const tenth = Math.trunc(rest / 10);
    text[at] = ZERO + rest - tenth * 10;
    rest = tenth;
  }
}
