// The first `size` of many items by some order, in memory bounded by `size`: a heap whose root is the
// last of those kept. It is also how reads sort: item by item, in slices.

import type { EngineView, Read } from './view.ts';

/** What taking one item out of the heap costs, in units of work. */
const TAKE_UNITS = 32;

/** Negative when `a` comes before `b`. Must be total and never 0 for two items. */
export type Order<T> = (a: T, b: T) => number;

/** Keeps the first items of all that were offered. */
export class TopList<T> {
  readonly #size: number;
  readonly #order: Order<T>;
  readonly #heap: T[] = [];

  /** @param size most items to keep, >= 0; Infinity sorts all of them. */
  constructor(size: number, order: Order<T>) {
    this.#size = size;
    this.#order = order;
  }

  /** The last item kept once there are as many as may be; later ones need not be offered. */
  get last(): T | undefined {
    return this.#heap.length < this.#size ? undefined : this.#heap[0];
  }

  /** Keeps the item if it belongs to the first ones. */
  offer(item: T): void {
    const heap = this.#heap;
    if (heap.length < this.#size) {
      heap.push(item);
      this.#up(heap.length - 1);
      return;
    }
    const root = heap[0];
    if (root === undefined || this.#order(item, root) >= 0) return;
    heap[0] = item;
    this.#down(0);
  }

  /** Takes the kept items out, in order. */
  *drain(view: EngineView): Read<T[]> {
    const heap = this.#heap;
    const sorted: T[] = [];
    while (heap.length > 0) {
      sorted.push(heap[0]!);
      const last = heap.pop()!;
      if (heap.length > 0) {
        heap[0] = last;
        this.#down(0);
      }
      if (view.spend(TAKE_UNITS)) yield;
    }
    return sorted.reverse();
  }

  #up(start: number): void {
    const heap = this.#heap;
    const item = heap[start]!;
    let at = start;
    while (at > 0) {
      const parent = (at - 1) >>> 1;
      if (this.#order(heap[parent]!, item) >= 0) break;
      heap[at] = heap[parent]!;
      at = parent;
    }
    heap[at] = item;
  }

  #down(start: number): void {
    const heap = this.#heap;
    const item = heap[start]!;
    let at = start;
    for (let child = 1; child < heap.length; child = at * 2 + 1) {
      const right = child + 1;
      if (right < heap.length && this.#order(heap[right]!, heap[child]!) > 0) child = right;
      if (this.#order(heap[child]!, item) <= 0) break;
      heap[at] = heap[child]!;
      at = child;
    }
    heap[at] = item;
  }
}
