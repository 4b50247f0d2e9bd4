// What the virtual disk throws. The product looks at `code` only, as with the real store.

/** The error of a virtual disk. */
export class DiskError extends Error {
  override readonly name = 'DiskError';
  readonly code: 'STORAGE_FAILED' | 'CORRUPTION' | 'LOG_COMPACTED';

  constructor(code: DiskError['code'], message: string) {
    super(message);
    this.code = code;
  }
}
