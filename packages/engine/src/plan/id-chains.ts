// A hash table over the ids of ack items. Items of one id form a chain, so that an id that comes a
// hundred thousand times costs no more than as many ids that come once.

import { ID_WORDS } from '@queen-ts/protocol';
import { hashWords } from '../tables/hash.ts';

const SLOTS_MIN = 16;
const NONE = -1;

/** Items by id, by their positions. An id is named by the position of its last item. */
export class IdChains {
  readonly #seed: number;
  #words: Uint32Array = new Uint32Array(0);
  #items: readonly number[] = [];
  /** Id + 1 of a slot; 0 is a free one. */
  #slots = new Uint32Array(SLOTS_MIN);
  #mask = 0;
  /** By position: its id, and the next item of the same id. By id: the first item that is left. */
  #ids = new Int32Array(0);
  #next = new Int32Array(0);
  #first = new Int32Array(0);

  /** @param seed of the hash. */
  constructor(seed: number) {
    this.#seed = seed;
  }

  /** Takes the ids at `words[item * ID_WORDS]` of all items; whatever was there is forgotten. */
  build(words: Uint32Array, items: readonly number[]): void {
    const count = items.length;
    let slots = SLOTS_MIN;
    while (slots < count * 2) slots *= 2;
    if (this.#slots.length < slots) this.#slots = new Uint32Array(slots);
    else this.#slots.fill(0, 0, slots);
    if (this.#ids.length < count) {
      this.#ids = new Int32Array(count * 2);
      this.#next = new Int32Array(count * 2);
      this.#first = new Int32Array(count * 2);
    }
    this.#mask = slots - 1;
    this.#words = words;
    this.#items = items;
    // Backwards, so that every chain starts with its first item.
    for (let position = count - 1; position >= 0; position -= 1) this.#insert(position);
  }

  /** The id with these words, or -1. */
  find(words: Uint32Array): number {
    return this.#slots[this.#slotOf(words, 0)]! - 1;
  }

  /** The id of the item at a position. */
  idOf(position: number): number {
    return this.#ids[position]!;
  }

  /** Position of the first item of an id that was not dropped, or -1. */
  first(id: number): number {
    return this.#first[id]!;
  }

  /** Drops the first item of an id, and returns the one after it or -1. */
  drop(id: number): number {
    const next = this.#next[this.#first[id]!]!;
    this.#first[id] = next;
    return next;
  }

  #insert(position: number): void {
    const slot = this.#slotOf(this.#words, this.#items[position]! * ID_WORDS);
    const entry = this.#slots[slot]!;
    const id = entry === 0 ? position : entry - 1;
    this.#next[position] = entry === 0 ? NONE : this.#first[id]!;
    this.#ids[position] = id;
    this.#first[id] = position;
    this.#slots[slot] = id + 1;
  }

  /** The slot of the id at `words[at]`, or the free one where it belongs. */
  #slotOf(words: Uint32Array, at: number): number {
    let slot = hashWords(this.#seed, words, at) & this.#mask;
    for (;;) {
      const entry = this.#slots[slot]!;
      if (entry === 0 || this.#isEqual(entry - 1, words, at)) return slot;
      slot = (slot + 1) & this.#mask;
    }
  }

  #isEqual(id: number, words: Uint32Array, at: number): boolean {
    const own = this.#words;
    const from = this.#items[id]! * ID_WORDS;
    return (
      own[from] === words[at] &&
      own[from + 1] === words[at + 1] &&
      own[from + 2] === words[at + 2] &&
      own[from + 3] === words[at + 3]
    );
  }
}
