// Admission by bytes: requests take their size before their body is read and give it back after
// their answer, so that what a node holds for them is bounded. Who finds no room waits in line for a
// while, then is told to come back.

import { BrokerError } from '@queen-ts/protocol';

/** Requests that may wait in line; more are refused at once. */
const WAITERS_MAX = 10_000;

interface Waiter {
  readonly bytes: number;
  readonly admit: () => void;
  readonly timer: NodeJS.Timeout;
}

/** Numbers for the metrics. */
export interface BudgetCounts {
  admitted: number;
  /** Of these, how many had to wait. */
  waited: number;
  refused: number;
}

/** A number of bytes that requests share. First come, first served. */
export class ByteBudget {
  readonly counts: BudgetCounts = { admitted: 0, waited: 0, refused: 0 };
  readonly #bytesMax: number;
  readonly #holdMs: number;
  readonly #waiters = new Set<Waiter>();
  #usedBytes = 0;

  /** @param options `bytesMax` 0 means no limit; `holdMs` is how long a request waits for room. */
  constructor(options: { readonly bytesMax: number; readonly holdMs: number }) {
    this.#bytesMax = options.bytesMax === 0 ? Infinity : options.bytesMax;
    this.#holdMs = options.holdMs;
  }

  /** Bytes taken and not given back. */
  get usedBytes(): number {
    return this.#usedBytes;
  }

  /** Requests in line. */
  get waiterCount(): number {
    return this.#waiters.size;
  }

  /**
   * Takes `bytes`, or a promise for them when there is no room now; it rejects with `overloaded`.
   * A request larger than the whole budget counts as exactly the budget: it is admitted alone.
   */
  take(bytes: number): Grant | Promise<Grant> {
    const charged = Math.min(bytes, this.#bytesMax);
    if (this.#waiters.size === 0 && this.#fits(charged)) return this.#grant(charged);
    if (this.#holdMs === 0 || this.#waiters.size >= WAITERS_MAX) {
      this.counts.refused += 1;
      return Promise.reject(overloaded());
    }
    return this.#wait(charged);
  }

  /** Called by {@link Grant}. Takes more for a request that already runs; false when full. */
  extend(bytes: number): boolean {
    if (!this.#fits(bytes)) {
      this.counts.refused += 1;
      return false;
    }
    this.#usedBytes += bytes;
    return true;
  }

  /** Called by {@link Grant}. Admits whoever fits now, in order. */
  giveBack(bytes: number): void {
    this.#usedBytes -= bytes;
    this.#admitWaiters();
  }

  #admitWaiters(): void {
    for (const waiter of this.#waiters) {
      if (!this.#fits(waiter.bytes)) return;
      this.#waiters.delete(waiter);
      waiter.admit();
    }
  }

  /** The most that one request can be charged. */
  get chargeMax(): number {
    return this.#bytesMax;
  }

  #fits(bytes: number): boolean {
    return this.#usedBytes + bytes <= this.#bytesMax;
  }

  #grant(bytes: number): Grant {
    this.#usedBytes += bytes;
    this.counts.admitted += 1;
    return new Grant(this, bytes);
  }

  #wait(bytes: number): Promise<Grant> {
    return new Promise((resolve, reject) => {
      const refuse = (): void => {
        this.#waiters.delete(waiter);
        this.counts.refused += 1;
        reject(overloaded());
        // It may have been the only one too large for the room there is.
        this.#admitWaiters();
      };
      const admit = (): void => {
        clearTimeout(waiter.timer);
        this.counts.waited += 1;
        resolve(this.#grant(bytes));
      };
      const waiter: Waiter = { bytes, admit, timer: setTimeout(refuse, this.#holdMs) };
      this.#waiters.add(waiter);
    });
  }
}

/** What one request has taken. */
export class Grant {
  readonly #budget: ByteBudget;
  #bytes: number;

  /** Only {@link ByteBudget} makes grants. */
  constructor(budget: ByteBudget, bytes: number) {
    this.#budget = budget;
    this.#bytes = bytes;
  }

  /** Takes up to `bytes` in all; returns the refusal when there is no room for that. */
  widen(bytes: number): BrokerError | undefined {
    const more = Math.min(bytes, this.#budget.chargeMax) - this.#bytes;
    if (more <= 0) return undefined;
    if (!this.#budget.extend(more)) return overloaded();
    this.#bytes += more;
    return undefined;
  }

  /** Gives everything back. Idempotent. */
  release(): void {
    const bytes = this.#bytes;
    this.#bytes = 0;
    if (bytes > 0) this.#budget.giveBack(bytes);
  }
}

function overloaded(): BrokerError {
  const message = 'this node has no room for the request now; nothing was stored, try again later';
  return new BrokerError('overloaded', message);
}
