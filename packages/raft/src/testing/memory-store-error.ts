// The error of the in-memory stores. Callers look at `code` only, as with the real stores.

/** Thrown by the in-memory stores with the codes that the ports name, or CLOSED. */
export class MemoryStoreError extends Error {
  override readonly name = 'MemoryStoreError';
  readonly code:
    'LOG_COMPACTED' | 'SNAPSHOT_INVALID' | 'STORAGE_FAILED' | 'STORE_CLOSED' | 'CLOSED';

  constructor(code: MemoryStoreError['code'], message: string) {
    super(message);
    this.code = code;
  }
}
