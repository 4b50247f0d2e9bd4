// What the virtual disk throws. The product looks at `code` only, as with the real store.

/** What may be wrong; only the first two end the process. */
type DiskErrorCode =
  'STORAGE_FAILED' | 'CORRUPTION' | 'SNAPSHOT_INVALID' | 'STORE_CLOSED' | 'LOG_COMPACTED';

/** The error of a virtual disk. */
export class DiskError extends Error {
  override readonly name = 'DiskError';
  readonly code: DiskErrorCode;

  constructor(code: DiskError['code'], message: string) {
    super(message);
    this.code = code;
  }
}
