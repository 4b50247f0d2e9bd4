// Reports about peers, made once per turn and outside of the call that caused them, so that whoever
// is told may call back.

import type { NodeId } from '@queen-ts/raft';
import type { Scheduler } from '../scheduler.ts';

/** Collects ids and reports each once. */
export class DeferredReports {
  readonly #scheduler: Scheduler;
  readonly #report: (id: NodeId) => void;
  readonly #ids = new Set<NodeId>();
  #isClosed = false;

  constructor(scheduler: Scheduler, report: (id: NodeId) => void) {
    this.#scheduler = scheduler;
    this.#report = report;
  }

  /** Reports `id` soon. */
  add(id: NodeId): void {
    if (this.#isClosed) return;
    if (this.#ids.size === 0) this.#scheduler.defer(() => this.#flush());
    this.#ids.add(id);
  }

  /** Reports nothing any more. */
  close(): void {
    this.#isClosed = true;
    this.#ids.clear();
  }

  #flush(): void {
    const ids = [...this.#ids];
    this.#ids.clear();
    for (const id of ids) this.#report(id);
  }
}
