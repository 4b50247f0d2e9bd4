// Virtual time: a heap of events, run one after the other. Between two events the microtask queue is
// drained, so that every promise of the product moves on before anything else happens.

import { assert } from '@queen-ts/base';

/** What an event stands for; all but `turn` and `fault` count in the events a second. */
export type EventKind = 'message' | 'timer' | 'disk' | 'client' | 'turn' | 'fault';

/** Chains of promises that are longer go on after the next event, in the same order in every run. */
const MICROTASK_TURNS = 8;

const SETTLED = Promise.resolve();

/** One thing that will happen. */
export interface SimEvent {
  readonly atUs: number;
  readonly order: number;
  readonly kind: EventKind;
  /** Which node it touches; 0 for none. */
  readonly nodeId: number;
  run: (() => void) | undefined;
}

/** How many events of each kind have run. */
export type EventCounts = Record<EventKind, number>;

/** The clock of the world. Times are in microseconds and integers. */
export class VirtualTime {
  readonly counts: EventCounts = { message: 0, timer: 0, disk: 0, client: 0, turn: 0, fault: 0 };
  readonly #heap: SimEvent[] = [];
  #nowUs = 0;
  #eventCount = 0;
  #order = 0;
  #fingerprint = 0x811c9dc5;

  get nowUs(): number {
    return this.#nowUs;
  }

  /** Stands for every event so far with its time: equal in equal runs. */
  get fingerprint(): number {
    return this.#fingerprint >>> 0;
  }

  /** How many events have run. */
  get eventCount(): number {
    return this.#eventCount;
  }

  /** Lets something happen after a delay of `delayUs` >= 0. */
  after(delayUs: number, kind: EventKind, nodeId: number, run: () => void): SimEvent {
    assert(delayUs >= 0, () => `a delay of ${delayUs} us`);
    this.#order += 1;
    const atUs = this.#nowUs + Math.ceil(delayUs);
    const event = { atUs, order: this.#order, kind, nodeId, run };
    this.#push(event);
    return event;
  }

  /** Makes sure that an event does not happen; does nothing when it did. */
  cancel(event: SimEvent): void {
    event.run = undefined;
  }

  /**
   * Runs events until `untilUs` is reached or `isOver` says so.
   * @param afterEvent called after each event with the node that it touched, once all promises moved.
   */
  async run(options: {
    readonly untilUs: number;
    readonly isOver: () => boolean;
    readonly afterEvent: (nodeId: number) => void;
  }): Promise<void> {
    await drainMicrotasks();
    while (!options.isOver()) {
      const event = this.#heap[0];
      if (event === undefined || event.atUs > options.untilUs) {
        this.#nowUs = Math.max(this.#nowUs, options.untilUs);
        return;
      }
      this.#pop();
      const { run } = event;
      if (run === undefined) continue;
      this.#nowUs = event.atUs;
      this.counts[event.kind] += 1;
      this.#eventCount += 1;
      this.#mix(event);
      run();
      await drainMicrotasks();
      options.afterEvent(event.nodeId);
    }
  }

  #mix(event: SimEvent): void {
    const word = (event.atUs | 0) ^ (event.nodeId << 24) ^ event.kind.length;
    this.#fingerprint =
      Math.imul(this.#fingerprint ^ word, 0x01000193) ^ (this.#fingerprint >>> 15);
  }

  #push(event: SimEvent): void {
    const heap = this.#heap;
    let at = heap.length;
    heap.push(event);
    while (at > 0) {
      const parentAt = (at - 1) >> 1;
      const parent = heap[parentAt]!;
      if (!isBefore(event, parent)) break;
      heap[at] = parent;
      at = parentAt;
    }
    heap[at] = event;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop()!;
    if (heap.length === 0) return;
    let at = 0;
    for (;;) {
      let childAt = 2 * at + 1;
      if (childAt >= heap.length) break;
      if (childAt + 1 < heap.length && isBefore(heap[childAt + 1]!, heap[childAt]!)) childAt += 1;
      const child = heap[childAt]!;
      if (!isBefore(child, last)) break;
      heap[at] = child;
      at = childAt;
    }
    heap[at] = last;
  }
}

/** Awaited values make turns; this is a promise chain of its own, so it costs little. */
async function drainMicrotasks(): Promise<void> {
  for (let turn = 0; turn < MICROTASK_TURNS; turn += 1) await SETTLED;
}

function isBefore(a: SimEvent, b: SimEvent): boolean {
  return a.atUs < b.atUs || (a.atUs === b.atUs && a.order < b.order);
}
