// What became claimable since the broker last asked: flat columns, no object per signal. Recorded on
// the leader only; followers have nobody waiting.

const INITIAL_CAPACITY = 256;

/** A bag of signals in the order they came. */
export class Signals {
  #columns = new Uint32Array(INITIAL_CAPACITY);
  #length = 0;

  /** Records an append to a partition. */
  appended(queue: number, partition: number): void {
    this.#push(queue, 0, partition);
  }

  /** Records that a group may claim from a partition; partition 0 stands for the whole queue. */
  armed(group: number, partition: number): void {
    this.#push(0, group, partition);
  }

  /** Visits and forgets all signals. The visitor must not add any. */
  drain(visit: (queue: number, group: number, partition: number) => void): void {
    const columns = this.#columns;
    const length = this.#length;
    this.#length = 0;
    if (columns.length > INITIAL_CAPACITY * 64) this.#columns = new Uint32Array(INITIAL_CAPACITY);
    for (let i = 0; i < length; i += 3) visit(columns[i]!, columns[i + 1]!, columns[i + 2]!);
  }

  /** Forgets all signals. */
  clear(): void {
    this.#length = 0;
  }

  #push(queue: number, group: number, partition: number): void {
    if (this.#length + 3 > this.#columns.length) {
      const grown = new Uint32Array(this.#columns.length * 2);
      grown.set(this.#columns);
      this.#columns = grown;
    }
    this.#columns[this.#length] = queue;
    this.#columns[this.#length + 1] = group;
    this.#columns[this.#length + 2] = partition;
    this.#length += 3;
  }
}
