// Virtual time: a clock and a scheduler that move only when a test says so.

import type { Clock } from '@queen-ts/base';
import type { Scheduler } from '../scheduler.ts';

interface Task {
  readonly atUs: number;
  readonly order: number;
  readonly run: () => void;
}

/** Clock and scheduler in one; deterministic. */
export class ManualTime implements Clock, Scheduler {
  #nowUs = 1_000_000;
  #order = 0;
  #tasks: Task[] = [];
  /** Added to the wall clock only, to make it jump. */
  wallOffsetUs = 1_800_000_000_000_000;

  wallUs(): number {
    return this.#nowUs + this.wallOffsetUs;
  }

  monotonicUs(): number {
    return this.#nowUs;
  }

  after(delayUs: number, run: () => void): () => void {
    this.#order += 1;
    const task = { atUs: this.#nowUs + delayUs, order: this.#order, run };
    this.#tasks.push(task);
    return () => {
      this.#tasks = this.#tasks.filter((other) => other !== task);
    };
  }

  defer(run: () => void): void {
    this.after(0, run);
  }

  /** Runs what is due now, and what that makes due now, until nothing is. */
  async settle(): Promise<void> {
    for (;;) {
      await drainMicrotasks();
      const task = this.#nextDue(this.#nowUs);
      if (task === undefined) return;
      task.run();
    }
  }

  /** Lets `durationUs` pass, running every task at its time. */
  async pass(durationUs: number): Promise<void> {
    const untilUs = this.#nowUs + durationUs;
    await this.settle();
    for (let task = this.#nextDue(untilUs); task !== undefined; task = this.#nextDue(untilUs)) {
      this.#nowUs = Math.max(this.#nowUs, task.atUs);
      task.run();
      await this.settle();
    }
    this.#nowUs = untilUs;
  }

  #nextDue(untilUs: number): Task | undefined {
    let first: Task | undefined;
    for (const task of this.#tasks) {
      if (task.atUs > untilUs) continue;
      const isFirst =
        first === undefined ||
        task.atUs < first.atUs ||
        (task.atUs === first.atUs && task.order < first.order);
      if (isFirst) first = task;
    }
    if (first !== undefined) this.#tasks = this.#tasks.filter((task) => task !== first);
    return first;
  }
}

/** Enough turns of the microtask queue for every chain of promises in this package. */
async function drainMicrotasks(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
}
