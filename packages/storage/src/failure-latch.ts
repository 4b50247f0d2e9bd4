// The memory of the first storage error. One latch is shared by everything a data directory writes,
// so that after one failed write or sync nothing at all is acknowledged any more (I11).

import { describeError, StorageError } from './errors.ts';

/** Set once, never cleared: recovery from a storage error is a restart. */
export class FailureLatch {
  readonly #onFailure: (error: StorageError) => void;
  #failure: StorageError | undefined;

  /** @param onFailure called once, with the first failure, before anyone is told of it. */
  constructor(onFailure: (error: StorageError) => void) {
    this.#onFailure = onFailure;
  }

  /** The error every later write rejects with; `undefined` while all is well. */
  get failure(): StorageError | undefined {
    return this.#failure;
  }

  /** Records a failure of `what` and returns the STORAGE_FAILED error to reject with. */
  trip(what: string, cause: unknown): StorageError {
    if (this.#failure !== undefined) return this.#failure;
    const message = `${what} failed: ${describeError(cause)}`;
    this.#failure = new StorageError({ code: 'STORAGE_FAILED', message, cause });
    this.#onFailure(this.#failure);
    return this.#failure;
  }

  /** Throws the recorded failure, if there is one. */
  check(): void {
    if (this.#failure !== undefined) throw this.#failure;
  }
}
