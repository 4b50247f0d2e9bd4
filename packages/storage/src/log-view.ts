// The log as it was at one moment, for reading it at leisure while it goes on.

import { StorageError } from './errors.ts';
import type { FailureLatch } from './failure-latch.ts';
import type { LogDatabase, LogSnapshot } from './log-database.ts';
import { type ReadGuard, RecordReader } from './record-reader.ts';

/** What a view looks at. */
export interface LogViewParts {
  readonly path: string;
  readonly db: LogDatabase;
  readonly guard: ReadGuard;
  readonly latch: FailureLatch;
}

/** A consistent view of the log database. The log closes it before it closes itself. */
export class LogView {
  /** Reads and verifies records as they were. */
  readonly reader: RecordReader;
  readonly #parts: LogViewParts;
  readonly #snapshot: LogSnapshot;
  readonly #onClosed: () => void;
  #isClosed = false;

  constructor(parts: LogViewParts, onClosed: () => void) {
    this.#parts = parts;
    this.#snapshot = parts.db.snapshot();
    this.#onClosed = onClosed;
    this.reader = new RecordReader({ getSync: (key) => this.get(key) }, parts.path, parts.guard);
  }

  /** The log was closed or replaced, or the view was closed: nothing can be read any more. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** A value as it was. */
  get(key: Uint8Array): Uint8Array | undefined {
    return this.#parts.db.getSync(key, { snapshot: this.#snapshot });
  }

  /** Runs a read; damage found on the way ends all writing to the log, too (I10). */
  verified<T>(read: () => T): T {
    try {
      return read();
    } catch (error) {
      if (error instanceof StorageError && error.code === 'CORRUPTION') {
        this.#parts.latch.trip(`reading ${this.#parts.path}`, error);
      }
      throw error;
    }
  }

  /** Idempotent. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#onClosed();
    await this.#snapshot.close();
  }
}
