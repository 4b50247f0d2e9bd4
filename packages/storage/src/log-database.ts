// The LevelDB under the log: its options, how it is created and opened, and its origin record, which
// says whose log it is. Opening never creates, repairs or ignores anything.
//
//   origin record, key (0, 0), 24 bytes, big-endian:
//   offset  size  field
//   0       4     CRC-32 of bytes [4, 24)
//   4       1     log format version, 1
//   5       3     zero
//   8       8     node id
//   16      8     incarnation

import { crc32 } from 'node:zlib';

import { ClassicLevel } from 'classic-level';

import { readU64, viewOf, writeU64 } from './big-endian.ts';
import { corruption, describeError, StorageError } from './errors.ts';
import type { NodeIdentity } from './identity.ts';
import { logKey, ORIGIN_INDEX } from './keys.ts';

/** Directory name inside the data directory. */
export const LOG_DIRECTORY = 'log';

/** Version of the log format as a whole. */
const LOG_FORMAT_VERSION = 1;

/**
 * LevelDB's write buffer, in bytes: one write-ahead file and one level-0 table of this size. Two can
 * be in memory at a time.
 */
export const WRITE_BUFFER_BYTES = 33_554_432;

const ORIGIN_BYTES = 24;
const LEVEL_OPTIONS = {
  keyEncoding: 'view',
  valueEncoding: 'view',
  // Payload is often compressed or small, and the log is read rarely: Snappy only costs time.
  compression: false,
  // Tables as large as the write buffer: they are moved from level to level whole, never rewritten.
  maxFileSize: 33_554_432,
  // One read of a small record costs one block; a payload chunk is a block of its own.
  blockSize: 16_384,
  cacheSize: 8_388_608,
  maxOpenFiles: 256,
} as const;

/** One write of a batch. */
export type LogWrite =
  | { readonly type: 'put'; readonly key: Uint8Array; readonly value: Uint8Array }
  | { readonly type: 'del'; readonly key: Uint8Array };

/** A state of the database that stays readable while it goes on. */
export type LogSnapshot = ReturnType<ClassicLevel['snapshot']>;

/** The part of LevelDB that the store uses once the log is recovered; tests pass one that fails. */
export interface LogDatabase {
  batch(operations: LogWrite[], options: { sync: boolean }): Promise<void>;
  getSync(key: Uint8Array, options?: { snapshot: LogSnapshot }): Uint8Array | undefined;
  /** Keeps what is read with it as it is now, until it is closed. */
  snapshot(): LogSnapshot;
  /** Bytes of the tables that a range of keys takes, about. */
  approximateSize(start: Uint8Array, end: Uint8Array): Promise<number>;
  /** Rewrites the tables in a range of keys, which is when the space of deleted values comes back. */
  compactRange(start: Uint8Array, end: Uint8Array): Promise<void>;
  close(): Promise<void>;
}

/** The database as recovery needs it. */
export type LogLevel = ClassicLevel<Uint8Array, Uint8Array>;

/** Creates the database with its origin record, synced, and closes it. */
export async function createLogDatabase(path: string, owner: NodeIdentity): Promise<void> {
  const level: LogLevel = new ClassicLevel(path, LEVEL_OPTIONS);
  await level.open({ ...LEVEL_OPTIONS, createIfMissing: true, errorIfExists: true });
  try {
    await level.put(logKey(ORIGIN_INDEX, 0), encodeOrigin(owner), { sync: true });
  } finally {
    await level.close();
  }
}

/**
 * Opens an existing database and verifies its origin. The caller has run the preflight.
 * Throws CORRUPTION, DIRECTORY_LOCKED, FORMAT_UNSUPPORTED, NODE_MISMATCH or STORAGE_FAILED.
 */
export async function openLogDatabase(
  path: string,
  owner: NodeIdentity,
  writeBufferBytes: number,
): Promise<LogLevel> {
  const options = {
    ...LEVEL_OPTIONS,
    writeBufferSize: writeBufferBytes,
    createIfMissing: false,
    errorIfExists: false,
  };
  const level: LogLevel = new ClassicLevel(path, options);
  try {
    await level.open(options);
  } catch (error) {
    throw openError(path, error);
  }
  try {
    verifyOrigin(path, owner, await level.get(logKey(ORIGIN_INDEX, 0)));
  } catch (error) {
    await level.close();
    throw isLevelDamage(error) ? corruption(path, describeError(error), error) : error;
  }
  return level;
}

/** Whether LevelDB itself reports damage: a bad block, a missing or short file. */
export function isLevelDamage(error: unknown): boolean {
  return ['LEVEL_CORRUPTION', 'LEVEL_IO_ERROR', 'LEVEL_NOT_FOUND'].includes(levelCode(error));
}

/** LevelDB's error code of `error`, or of what caused it; empty if there is none. */
export function levelCode(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  for (const candidate of [cause, error]) {
    if (!(candidate instanceof Error) || !('code' in candidate)) continue;
    if (typeof candidate.code === 'string') return candidate.code;
  }
  return '';
}

function openError(path: string, error: unknown): StorageError {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  const code = levelCode(error);
  const details = { path };
  if (code === 'LEVEL_LOCKED') {
    const message = `${path}: opened by another process`;
    return new StorageError({ code: 'DIRECTORY_LOCKED', message, details, cause: error });
  }
  if (code === 'LEVEL_CORRUPTION' || code === 'LEVEL_NOT_FOUND') {
    return corruption(path, `LevelDB cannot open it: ${describeError(cause)}`, error);
  }
  const message = `${path}: LevelDB cannot open it: ${describeError(cause)}`;
  return new StorageError({ code: 'STORAGE_FAILED', message, details, cause: error });
}

function encodeOrigin(owner: NodeIdentity): Uint8Array {
  const bytes = new Uint8Array(ORIGIN_BYTES);
  const view = viewOf(bytes);
  view.setUint8(4, LOG_FORMAT_VERSION);
  writeU64(view, 8, owner.nodeId);
  writeU64(view, 16, owner.incarnation);
  view.setUint32(0, crc32(bytes.subarray(4)));
  return bytes;
}

function verifyOrigin(path: string, owner: NodeIdentity, bytes: Uint8Array | undefined): void {
  const details = { path };
  if (bytes === undefined) throw corruption(path, 'the origin record is missing');
  const view = viewOf(bytes);
  if (bytes.byteLength !== ORIGIN_BYTES || crc32(bytes.subarray(4)) !== view.getUint32(0)) {
    throw corruption(path, 'the origin record has a checksum mismatch');
  }
  const version = view.getUint8(4);
  if (version !== LOG_FORMAT_VERSION) {
    const message = `${path}: unknown log format version ${version}`;
    throw new StorageError({ code: 'FORMAT_UNSUPPORTED', message, details });
  }
  const nodeId = readU64(view, 8);
  const incarnation = readU64(view, 16);
  if (nodeId !== owner.nodeId || incarnation !== owner.incarnation) {
    const message = `${path}: is the log of node ${nodeId}, incarnation ${incarnation}, but this is node ${owner.nodeId}, incarnation ${owner.incarnation}`;
    throw new StorageError({ code: 'NODE_MISMATCH', message, details });
  }
}
