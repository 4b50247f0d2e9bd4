// Admission by bytes: requests take room for their bodies as the bytes arrive and give it back after
// their answer, so that what a node holds for them is bounded, and who announces much and sends little
// takes little. Who finds no room waits in line for a while, then is told to come back.
//
// Small and large requests wait in lines of their own. Large ones leave a share to the small ones;
// while large ones wait, small ones have no more than that share: neither can shut out the other.

import { BrokerError } from '@queen-ts/protocol';

/** Requests that may wait in line; more are refused at once. */
const WAITERS_MAX = 10_000;

/** A request that has taken more counts as large. */
const SMALL_BYTES_MAX = 256 * 1024;

/** One part in this many is what large requests leave to small ones. */
const SMALL_SHARE = 8;

interface Waiter {
  readonly grant: Grant;
  /** What it will have taken in all. */
  readonly bytes: number;
  readonly line: Set<Waiter>;
  readonly admit: () => void;
  readonly timer: NodeJS.Timeout;
}

/** Numbers for the metrics, in requests. */
export interface BudgetCounts {
  /** Took room for a body. */
  admitted: number;
  /** Of these, how many had to wait. */
  waited: number;
  refused: number;
}

/** A number of bytes that requests share. First come, first served among those of a kind. */
export class ByteBudget {
  readonly counts: BudgetCounts = { admitted: 0, waited: 0, refused: 0 };
  readonly #bytesMax: number;
  readonly #smallShare: number;
  readonly #smallBytesMax: number;
  readonly #holdMs: number;
  readonly #smallLine = new Set<Waiter>();
  readonly #largeLine = new Set<Waiter>();
  /** Those in either line who hold a part of their body. */
  readonly #holders = new Set<Waiter>();
  #smallBytes = 0;
  #largeBytes = 0;
  /** The one request that may go beyond the budget. */
  #overdrawn: Grant | undefined;

  /** @param options `bytesMax` 0 means no limit; `holdMs` is how long a request waits for room. */
  constructor(options: { readonly bytesMax: number; readonly holdMs: number }) {
    this.#bytesMax = options.bytesMax === 0 ? Infinity : options.bytesMax;
    this.#smallShare = options.bytesMax / SMALL_SHARE;
    this.#smallBytesMax = Math.min(SMALL_BYTES_MAX, this.#smallShare);
    this.#holdMs = options.holdMs;
  }

  /** Bytes taken and not given back. */
  get usedBytes(): number {
    return this.#smallBytes + this.#largeBytes;
  }

  /** Requests in line. */
  get waiterCount(): number {
    return this.#smallLine.size + this.#largeLine.size;
  }

  /** A grant for a request that has taken nothing yet. */
  open(): Grant {
    return new Grant(this);
  }

  /** Called by {@link Grant}: takes room now, or waits for it; rejects with `overloaded`. */
  take(grant: Grant, bytes: number): Promise<void> | undefined {
    const line = this.#isLarge(bytes) ? this.#largeLine : this.#smallLine;
    if ((line.size === 0 && this.#fits(grant, bytes)) || this.#overdraws(grant)) {
      this.#move(grant, bytes);
      return undefined;
    }
    if (this.#holdMs === 0 || this.waiterCount >= WAITERS_MAX) {
      this.counts.refused += 1;
      return Promise.reject(overloaded());
    }
    return this.#wait(grant, bytes, line);
  }

  /** Called by {@link Grant}. Admits whoever fits now, in order. */
  giveBack(grant: Grant): void {
    if (grant.waiter !== undefined) this.#leave(grant.waiter);
    if (this.#overdrawn === grant) this.#overdrawn = undefined;
    this.#move(grant, 0);
    this.#admitWaiters();
  }

  #admitWaiters(): void {
    this.#admitLine(this.#smallLine);
    this.#admitLine(this.#largeLine);
    for (const waiter of this.#holders) {
      if (!this.#overdraws(waiter.grant)) break;
      this.#admit(waiter);
    }
    // Nothing large waits any longer: the room beyond their share is open to small ones again.
    if (this.#largeLine.size === 0) this.#admitLine(this.#smallLine);
  }

  #admitLine(line: Set<Waiter>): void {
    for (const waiter of line) {
      if (!this.#fits(waiter.grant, waiter.bytes)) return;
      this.#admit(waiter);
    }
  }

  #admit(waiter: Waiter): void {
    this.#leave(waiter);
    this.#move(waiter.grant, waiter.bytes);
    waiter.admit();
  }

  #leave(waiter: Waiter): void {
    clearTimeout(waiter.timer);
    waiter.line.delete(waiter);
    this.#holders.delete(waiter);
    waiter.grant.waiter = undefined;
  }

  #isLarge(bytes: number): boolean {
    return bytes > this.#smallBytesMax;
  }

  /** Whether there is room for a grant to have `bytes` in all. Alone, it may have any number. */
  #fits(grant: Grant, bytes: number): boolean {
    const others = this.usedBytes - grant.bytes;
    if (others === 0) return true;
    if (others + bytes > this.#bytesMax) return false;
    const isLarge = this.#isLarge(grant.bytes);
    if (this.#isLarge(bytes)) {
      const large = this.#largeBytes - (isLarge ? grant.bytes : 0);
      return large + bytes <= this.#bytesMax - this.#smallShare;
    }
    return this.#largeLine.size === 0 || others - this.#largeBytes + bytes <= this.#smallShare;
  }

  /**
   * One request at a time that holds a part of its body may go beyond the budget until it has its
   * answer: else those that hold parts could wait for each other.
   */
  #overdraws(grant: Grant): boolean {
    if (this.#overdrawn === grant) return true;
    if (this.#overdrawn !== undefined || grant.bytes === 0) return false;
    this.#overdrawn = grant;
    return true;
  }

  #move(grant: Grant, bytes: number): void {
    if (this.#isLarge(grant.bytes)) this.#largeBytes -= grant.bytes;
    else this.#smallBytes -= grant.bytes;
    if (grant.bytes === 0 && bytes > 0) this.counts.admitted += 1;
    grant.bytes = bytes;
    if (this.#isLarge(bytes)) this.#largeBytes += bytes;
    else this.#smallBytes += bytes;
  }

  #wait(grant: Grant, bytes: number, line: Set<Waiter>): Promise<void> {
    if (!grant.hasWaited) this.counts.waited += 1;
    grant.hasWaited = true;
    return new Promise((resolve, reject) => {
      const refuse = (): void => {
        this.#leave(waiter);
        this.counts.refused += 1;
        reject(overloaded());
        // It may have been the only one too large for the room there is.
        this.#admitWaiters();
      };
      const timer = setTimeout(refuse, this.#holdMs);
      const waiter: Waiter = { grant, bytes, line, admit: resolve, timer };
      grant.waiter = waiter;
      line.add(waiter);
      if (grant.bytes > 0) this.#holders.add(waiter);
    });
  }
}

/** What one request has taken. */
export class Grant {
  readonly #budget: ByteBudget;
  /** Written by {@link ByteBudget} only, as are the others. */
  bytes = 0;
  hasWaited = false;
  waiter: Waiter | undefined = undefined;

  /** Only {@link ByteBudget} makes grants. */
  constructor(budget: ByteBudget) {
    this.#budget = budget;
  }

  /**
   * Takes up to `bytes` in all: at once, then undefined is returned, or when the promise resolves; it
   * rejects with `overloaded`, and never settles when the grant is released before.
   */
  widen(bytes: number): Promise<void> | undefined {
    return bytes <= this.bytes ? undefined : this.#budget.take(this, bytes);
  }

  /** Gives everything back. Idempotent. */
  release(): void {
    if (this.bytes > 0 || this.waiter !== undefined) this.#budget.giveBack(this);
  }
}

function overloaded(): BrokerError {
  const message = 'this node has no room for the request now; nothing was stored, try again later';
  return new BrokerError('overloaded', message);
}
