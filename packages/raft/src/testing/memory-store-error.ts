// The error of the in-memory stores. Callers look at `code` only, as with the real stores.

/** Thrown by the in-memory stores with the codes that ports.ts names, or CLOSED. */
export class MemoryStoreError extends Error {
  override readonly name = 'MemoryStoreError';
  readonly code: 'LOG_COMPACTED' | 'STORAGE_FAILED' | 'CLOSED';

  constructor(code: MemoryStoreError['code'], message: string) {
    super(message);
    this.code = code;
  }
}
