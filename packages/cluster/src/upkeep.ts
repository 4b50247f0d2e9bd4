// What the leader does unasked, a bounded step at a time: it removes the partitions of deleted queues,
// applies the retention rules, and removes partitions that nobody used for long. Each step is part of
// an ordinary cycle, so followers see nothing but effects.

import type { Engine } from '@queen-ts/engine';
import type { BrokerLimits } from './limits.ts';

/** A pass over all partitions that starts at intervals and runs in steps. */
interface Pass {
  /** Monotonic time at which the next step may run. */
  dueUs: number;
  /** When the pass that runs was started. */
  startedUs: number;
}

/** The leader's own work. Times are monotonic microseconds. */
export class Upkeep {
  readonly #limits: BrokerLimits;
  #hasHousekeeping = true;
  readonly #retention: Pass = { dueUs: 0, startedUs: 0 };
  readonly #cleanup: Pass = { dueUs: 0, startedUs: 0 };

  constructor(limits: BrokerLimits) {
    this.#limits = limits;
  }

  /** Notes that a queue was deleted: its partitions have to go. */
  noteDeletion(): void {
    this.#hasHousekeeping = true;
  }

  /** Whether a cycle should run although no request waits. */
  isDue(nowUs: number): boolean {
    return this.#hasHousekeeping || Math.min(this.#retention.dueUs, this.#cleanup.dueUs) <= nowUs;
  }

  /** Does the steps that are due. Inside a cycle. */
  run(engine: Engine, nowUs: number): void {
    const limits = this.#limits;
    const partitions = limits.housekeepingPartitionsMax;
    this.#hasHousekeeping = engine.planHousekeeping(partitions) === partitions;
    this.#step(this.#retention, nowUs, limits.retentionIntervalUs, (budget) =>
      engine.planRetention(budget),
    );
    const idleUs = limits.partitionIdleUs;
    this.#step(this.#cleanup, nowUs, limits.cleanupIntervalUs, (budget) =>
      engine.planCleanup({ budget, idleUs }),
    );
  }

  #step(pass: Pass, nowUs: number, intervalUs: number, step: (budget: number) => boolean): void {
    if (pass.dueUs > nowUs) return;
    const isComplete = step(this.#limits.upkeepVisitsMax);
    if (isComplete) {
      pass.dueUs = Math.max(pass.startedUs + intervalUs, nowUs + this.#limits.upkeepStepUs);
      pass.startedUs = pass.dueUs;
    } else {
      pass.dueUs = nowUs + this.#limits.upkeepStepUs;
    }
  }
}
