// Finds the offsets of the messages that ack items name. Items mostly come in the order of delivery:
// then each message is compared with the next item only. The first surprise builds hash tables over
// the items. The k-th item of an id takes its k-th occurrence.

import type { AckCommand, BlockReader } from '@queen-ts/protocol';
import { BLOCK_FLAG, ID_WORDS } from '@queen-ts/protocol';
import { IdChains } from './id-chains.ts';

const UNRESOLVED = -1;

/** The ids of one ack target against the messages of its partition. One target at a time. */
export class IdMatcher {
  #command: AckCommand | undefined = undefined;
  /** Positions in the command of the target's items. */
  #items: readonly number[] = [];
  #offsets = new Float64Array(256);
  #unresolved = 0;
  /** Next item to expect while there are no chains. */
  #expected = 0;
  #hasChains = false;
  /** Items by the hash of their text, and by the UUID that their text is. */
  readonly #byHash: IdChains;
  readonly #byUuid: IdChains;
  readonly #id = new Uint32Array(ID_WORDS);

  /** @param seed hides where ids land from clients, who choose them. */
  constructor(seed: number) {
    this.#byHash = new IdChains(seed);
    this.#byUuid = new IdChains(seed);
  }

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
    this.#hasChains = false;
    if (this.#offsets.length < items.length) this.#offsets = new Float64Array(items.length * 2);
    this.#offsets.fill(UNRESOLVED, 0, items.length);
  }

  /** Offset of the item at a position of `items`, or -1. */
  offset(position: number): number {
    return this.#offsets[position]!;
  }

  /**
   * Compares the messages with ordinals [first, toExclusive) of a block, until all is resolved.
   * Returns how many it compared.
   */
  scan(block: BlockReader, first: number, toExclusive: number): number {
    const isAllMinted = (block.flags & BLOCK_FLAG.ALL_MINTED) !== 0;
    let ordinal = first;
    for (; ordinal < toExclusive && this.#unresolved > 0; ordinal += 1) {
      const isMinted = isAllMinted || !block.hasTransactionId(ordinal);
      const position = this.#find(block, ordinal, isMinted);
      if (position >= 0) this.#resolve(position, block.baseOffset + ordinal);
    }
    return ordinal - first;
  }

  /** Lets items that repeat an id more often than it occurs take its last occurrence. */
  resolveRepeats(): void {
    const count = this.#items.length;
    if (this.#unresolved === 0 || this.#unresolved === count) return;
    if (!this.#hasChains) this.#buildChains();
    const last = new Float64Array(count).fill(UNRESOLVED);
    for (let position = 0; position < count; position += 1) {
      const id = this.#byHash.idOf(position);
      last[id] = Math.max(last[id]!, this.#offsets[position]!);
    }
    for (let position = 0; position < count; position += 1) {
      const offset = last[this.#byHash.idOf(position)]!;
      if (this.#offsets[position] === UNRESOLVED && offset >= 0) this.#resolve(position, offset);
    }
  }

  #resolve(position: number, offset: number): void {
    this.#offsets[position] = offset;
    this.#unresolved -= 1;
  }

  #find(block: BlockReader, ordinal: number, isMinted: boolean): number {
    if (isMinted) block.writeMessageId(ordinal, this.#id, 0);
    if (!this.#hasChains) {
      const position = this.#expected;
      if (position < this.#items.length && this.#names(position, block, ordinal, isMinted)) {
        this.#expected += 1;
        return position;
      }
      this.#buildChains();
    }
    if (!isMinted) block.writeKey(ordinal, this.#id, 0);
    const chains = isMinted ? this.#byUuid : this.#byHash;
    const id = chains.find(this.#id);
    if (id < 0) return UNRESOLVED;
    // An item may be in a chain of either kind; whoever resolves it leaves it in the other one.
    let position = chains.first(id);
    while (position >= 0 && this.#offsets[position] !== UNRESOLVED) position = chains.drop(id);
    return position;
  }

  /** Whether an item names a message; its message id is in `#id` when it is minted. */
  #names(position: number, block: BlockReader, ordinal: number, isMinted: boolean): boolean {
    const command = this.#command!;
    const at = this.#items[position]! * ID_WORDS;
    if (!isMinted) return block.keyEquals(ordinal, command.txnHashes, at);
    const [a, b, c, d] = this.#id;
    const { txnUuids: ids } = command;
    return ids[at] === a && ids[at + 1] === b && ids[at + 2] === c && ids[at + 3] === d;
  }

  #buildChains(): void {
    const { txnHashes, txnUuids } = this.#command!;
    this.#byHash.build(txnHashes, this.#items);
    this.#byUuid.build(txnUuids, this.#items);
    this.#hasChains = true;
  }
}
