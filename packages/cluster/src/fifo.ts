// A first-in first-out queue whose operations are O(1) amortised and whose memory follows its size.

/** Smallest number of dead slots worth copying the live ones for. */
const COMPACT_SLOTS_MIN = 64;

/** An unbounded queue; its users bound it. */
export class Fifo<T> {
  #items: (T | undefined)[] = [];
  #head = 0;

  get size(): number {
    return this.#items.length - this.#head;
  }

  push(item: T): void {
    this.#items.push(item);
  }

  /** Returns the oldest item without taking it. */
  peek(): T | undefined {
    return this.#items[this.#head];
  }

  /** Takes the oldest item; undefined when empty. */
  shift(): T | undefined {
    if (this.#head === this.#items.length) return undefined;
    const item = this.#items[this.#head];
    this.#items[this.#head] = undefined;
    this.#head += 1;
    if (this.#head >= COMPACT_SLOTS_MIN && this.#head * 2 >= this.#items.length) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
    return item;
  }

  /** Keeps only the items for which `keep` holds, in order. */
  retain(keep: (item: T) => boolean): void {
    const kept: T[] = [];
    for (let i = this.#head; i < this.#items.length; i += 1) {
      const item = this.#items[i] as T;
      if (keep(item)) kept.push(item);
    }
    this.#items = kept;
    this.#head = 0;
  }

  /** Takes everything, oldest first. */
  drain(): T[] {
    const items = this.#items.slice(this.#head) as T[];
    this.#items = [];
    this.#head = 0;
    return items;
  }
}
