// The clock and the timers of the machine, for tests with real sockets. Knows which timers are set,
// so that a test can tell that none was left behind.

import type { Clock } from '@queen-ts/base';
import type { Scheduler } from '../../scheduler.ts';

/** Clock and scheduler in one. */
export class RealTime implements Clock, Scheduler {
  /** Tasks that are still to run. */
  readonly pending = new Set<object>();

  wallUs(): number {
    return Date.now() * 1000;
  }

  monotonicUs(): number {
    return Math.floor(performance.now() * 1000);
  }

  after(delayUs: number, task: () => void): () => void {
    const entry = {};
    this.pending.add(entry);
    const timer = setTimeout(
      () => {
        this.pending.delete(entry);
        task();
      },
      Math.ceil(delayUs / 1000),
    );
    return () => {
      clearTimeout(timer);
      this.pending.delete(entry);
    };
  }

  defer(task: () => void): void {
    setImmediate(task);
  }
}
