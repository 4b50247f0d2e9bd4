// What the HTTP edge counts, as plain numbers: the hot routes add to them and the metrics read them.

import type { ErrorCode } from '@queen-ts/protocol';

/** Counts since the start of the process. */
export class EdgeCounters {
  pushRequests = 0;
  /** Items of push requests that were answered, whatever their verdict. */
  pushMessages = 0;
  popRequests = 0;
  /** Messages handed out. */
  popMessages = 0;
  /** Pops that delivered nothing. */
  popEmpty = 0;
  /** Pops whose messages went back because the client was gone. */
  popUndelivered = 0;
  ackRequests = 0;
  /** Items of ack requests that were answered, whatever their verdict. */
  ackMessages = 0;
  readonly #errors = new Map<ErrorCode, number>();

  /** Refused requests by code. */
  get errors(): ReadonlyMap<ErrorCode, number> {
    return this.#errors;
  }

  /** Counts one refused request. */
  countError(code: ErrorCode): void {
    this.#errors.set(code, (this.#errors.get(code) ?? 0) + 1);
  }
}
