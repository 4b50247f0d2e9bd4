// The one error type of this package. Every message is a single line that names the file or key and
// ends with the remedy, because it is what an operator sees when a node refuses to start.

/** Stable names; callers switch on these, never on message text. */
export type StorageErrorCode =
  /** Files disagree with their checksums, their format or each other. The node must stop (I10). */
  | 'CORRUPTION'
  /** A write, sync or close failed; the store accepts nothing any more (I11). See `cause`. */
  | 'STORAGE_FAILED'
  /** The wanted entries lie before `firstIndex`, or the wanted bytes were purged. */
  | 'LOG_COMPACTED'
  /** What another member sent as a snapshot is damaged or incomplete; nothing here is affected. */
  | 'SNAPSHOT_INVALID'
  /** The store was closed. */
  | 'STORE_CLOSED'
  /** Another opener holds the directory. */
  | 'DIRECTORY_LOCKED'
  /** The directory holds files, and they are not a data directory. */
  | 'DIRECTORY_FOREIGN'
  /** The directory was written by a version of the format this program does not know. */
  | 'FORMAT_UNSUPPORTED'
  /** The directory, or a file in it, belongs to another node. */
  | 'NODE_MISMATCH';

/** What {@link StorageError} is built from. */
export interface StorageErrorOptions {
  readonly code: StorageErrorCode;
  /** One sentence, without the remedy. */
  readonly message: string;
  /** Facts for the log line: paths, keys, ranges. */
  readonly details?: Readonly<Record<string, string | number>>;
  readonly cause?: unknown;
}

const REMEDIES: Readonly<Record<StorageErrorCode, string>> = {
  CORRUPTION:
    'keep the directory for inspection, then restore a complete copy of it; in a cluster, remove this member and start it anew on an empty directory instead (a single node that does so starts with nothing)',
  STORAGE_FAILED: 'check the disk (space, health, permissions) and restart the process',
  LOG_COMPACTED: 'read from firstIndex on, or transfer a snapshot',
  SNAPSHOT_INVALID: 'abandon it and receive another one',
  STORE_CLOSED: 'open the data directory again',
  DIRECTORY_LOCKED: 'stop the process that uses it, or choose another directory',
  DIRECTORY_FOREIGN: 'choose an empty directory; nothing in this one was changed',
  FORMAT_UNSUPPORTED: 'start the version of the program that wrote it',
  NODE_MISMATCH: 'give this node its own directory and no files of another one',
};

/** An operating or corruption error of the storage package. */
export class StorageError extends Error {
  override readonly name = 'StorageError';
  readonly code: StorageErrorCode;
  readonly details: Readonly<Record<string, string | number>>;
  /** The message without the remedy, on one line. */
  readonly summary: string;

  constructor({ code, message, details, cause }: StorageErrorOptions) {
    super(oneLine(`${message}; remedy: ${REMEDIES[code]}`), cause === undefined ? {} : { cause });
    this.code = code;
    this.details = details ?? {};
    this.summary = oneLine(message);
  }
}

/** Builds the CORRUPTION error of one file, directory or record. `where` opens the message. */
export function corruption(where: string, what: string, cause?: unknown): StorageError {
  return new StorageError({
    code: 'CORRUPTION',
    message: `${where}: ${what}`,
    details: { where },
    cause,
  });
}

/** The message of anything that was thrown, and of what caused it, on one line. */
export function describeError(error: unknown): string {
  if (!(error instanceof Error)) return oneLine(String(error));
  if (error.cause === undefined) return oneLine(error.message);
  return `${oneLine(error.message)}: ${describeError(error.cause)}`;
}

/** Whether `error` is a Node.js system error with this code, such as ENOENT. */
export function hasSystemCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}

function oneLine(text: string): string {
  return text.replaceAll(/\s*[\r\n]+\s*/g, ' ');
}
