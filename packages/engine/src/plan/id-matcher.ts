// Finds the offsets of the messages that ack items name. Items mostly come in the order of delivery:
// then each message is compared with the next item only. The first surprise builds a hash table over
// the items. The k-th item of an id takes its k-th occurrence.

import type { AckCommand, BlockReader } from '@queen-ts/protocol';
import { BLOCK_FLAG, ID_WORDS } from '@queen-ts/protocol';

const UNRESOLVED = -1;
const TABLE_SLOTS_MIN = 16;

/** The ids of one ack target against the messages of its partition. One target at a time. */
export class IdMatcher {
  #command: AckCommand | undefined = undefined;
  /** Positions in the command of the target's items. */
  #items: readonly number[] = [];
  #offsets = new Float64Array(256);
  #unresolved = 0;
  /** Next item to expect while there is no table. */
  #expected = 0;
  /** Position in `#items` + 1, twice an item; 0 is a free slot. */
  #table = new Uint32Array(TABLE_SLOTS_MIN);
  #mask = 0;
  #hasTable = false;
  readonly #id = new Uint32Array(ID_WORDS);

  /** Items without an offset. */
  get unresolved(): number {
    return this.#unresolved;
  }

  /** Starts with new items, all unresolved. */
  start(command: AckCommand, items: readonly number[]): void {
    this.#command = command;
    this.#items = items;
    this.#unresolved = items.length;
    this.#expected = 0;
    this.#hasTable = false;
    if (this.#offsets.length < items.length) this.#offsets = new Float64Array(items.length * 2);
    this.#offsets.fill(UNRESOLVED, 0, items.length);
  }

  /** Offset of the item at a position of `items`, or -1. */
  offset(position: number): number {
    return this.#offsets[position]!;
  }

  /** Gives an item an offset that was found elsewhere. */
  resolve(position: number, offset: number): void {
    if (this.#offsets[position] === UNRESOLVED) this.#unresolved -= 1;
    this.#offsets[position] = offset;
  }

  /** Compares the messages with ordinals [first, toExclusive) of a block, until all is resolved. */
  scan(block: BlockReader, first: number, toExclusive: number): void {
    const isAllMinted = (block.flags & BLOCK_FLAG.ALL_MINTED) !== 0;
    for (let ordinal = first; ordinal < toExclusive && this.#unresolved > 0; ordinal += 1) {
      const isMinted = isAllMinted || !block.hasTransactionId(ordinal);
      const position = this.#find(block, ordinal, isMinted);
      if (position >= 0) this.resolve(position, block.baseOffset + ordinal);
    }
  }

  /** Lets items that repeat an id more often than it occurs take its last occurrence. */
  resolveRepeats(): void {
    if (this.#unresolved === 0 || this.#unresolved === this.#items.length) return;
    if (!this.#hasTable) this.#buildTable();
    for (let position = 0; position < this.#items.length; position += 1) {
      if (this.#offsets[position] !== UNRESOLVED) continue;
      const offset = this.#offsetOfTwin(position);
      if (offset !== UNRESOLVED) this.resolve(position, offset);
    }
  }

  #find(block: BlockReader, ordinal: number, isMinted: boolean): number {
    if (isMinted) block.writeMessageId(ordinal, this.#id, 0);
    if (!this.#hasTable) {
      const position = this.#expected;
      if (position < this.#items.length && this.#names(position, block, ordinal, isMinted)) {
        this.#expected += 1;
        return position;
      }
      this.#buildTable();
    }
    if (!isMinted) block.writeKey(ordinal, this.#id, 0);
    let slot = (isMinted ? hashUuid(this.#id, 0) : this.#id[0]!) & this.#mask;
    for (;;) {
      const entry = this.#table[slot]!;
      if (entry === 0) return -1;
      const isFree = this.#offsets[entry - 1] === UNRESOLVED;
      if (isFree && this.#names(entry - 1, block, ordinal, isMinted)) return entry - 1;
      slot = (slot + 1) & this.#mask;
    }
  }

  /** Whether an item names a message; its message id is in `#id` when it is minted. */
  #names(position: number, block: BlockReader, ordinal: number, isMinted: boolean): boolean {
    const command = this.#command!;
    const at = this.#items[position]! * ID_WORDS;
    if (!isMinted) return block.keyEquals(ordinal, command.txnHashes, at);
    return wordsEqual(this.#id, 0, command.txnUuids, at);
  }

  #buildTable(): void {
    const { txnHashes, txnUuids } = this.#command!;
    let slots = TABLE_SLOTS_MIN;
    while (slots < this.#items.length * 4) slots *= 2;
    if (this.#table.length < slots) this.#table = new Uint32Array(slots);
    else this.#table.fill(0, 0, slots);
    this.#mask = slots - 1;
    this.#hasTable = true;
    for (let position = 0; position < this.#items.length; position += 1) {
      const at = this.#items[position]! * ID_WORDS;
      this.#insert(txnHashes[at]!, position);
      if (!isZero(txnUuids, at)) this.#insert(hashUuid(txnUuids, at), position);
    }
  }

  #insert(hash: number, position: number): void {
    let slot = hash & this.#mask;
    while (this.#table[slot] !== 0) slot = (slot + 1) & this.#mask;
    this.#table[slot] = position + 1;
  }

  /** Highest offset of a resolved item with the same id, or -1. */
  #offsetOfTwin(position: number): number {
    const { txnHashes } = this.#command!;
    const at = this.#items[position]! * ID_WORDS;
    let offset = UNRESOLVED;
    let slot = txnHashes[at]! & this.#mask;
    for (; this.#table[slot] !== 0; slot = (slot + 1) & this.#mask) {
      const twin = this.#table[slot]! - 1;
      if (!wordsEqual(txnHashes, this.#items[twin]! * ID_WORDS, txnHashes, at)) continue;
      if (this.#offsets[twin]! > offset) offset = this.#offsets[twin]!;
    }
    return offset;
  }
}

/** Minted ids of one push differ in their low word only. */
function hashUuid(words: Uint32Array, at: number): number {
  return words[at + 3]! ^ words[at + 2]!;
}

function isZero(words: Uint32Array, at: number): boolean {
  return (words[at]! | words[at + 1]! | words[at + 2]! | words[at + 3]!) === 0;
}

function wordsEqual(a: Uint32Array, aAt: number, b: Uint32Array, bAt: number): boolean {
  return (
    a[aAt] === b[bAt] &&
    a[aAt + 1] === b[bAt + 1] &&
    a[aAt + 2] === b[bAt + 2] &&
    a[aAt + 3] === b[bAt + 3]
  );
}
