// The public door of @queen-ts/storage.

export { DataDirectory, ENTRY_CACHE_BYTES, openDataDirectory } from './data-directory.ts';
export type { DataDirectoryOptions, OpenLogOptions } from './data-directory.ts';
export type { Schedule } from './durable-bound.ts';
export { StorageError } from './errors.ts';
export type { StorageErrorCode, StorageErrorOptions } from './errors.ts';
export type { NodeIdentity } from './identity.ts';
export { WRITE_BUFFER_BYTES } from './log-database.ts';
export type { OnEntry } from './recover.ts';
export { ENTRY_BYTES_MAX } from './record.ts';
