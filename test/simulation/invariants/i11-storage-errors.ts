// I11: a storage error is final for the process: it acknowledges nothing any more.

import type { Process } from '../nodes/process.ts';
import type { Invariant } from './invariant.ts';

/** Watches answers after errors. */
export class StorageErrors implements Invariant {
  readonly name = 'I11 no answer after a storage error';

  answered(process: Process): string | undefined {
    const { storageError } = process;
    return storageError === undefined || storageError.code !== 'STORAGE_FAILED'
      ? undefined
      : `node ${process.host.id} answers after ${storageError.message}`;
  }
}
