// Reads one checkpoint and hands out its pieces, each verified before. Damage throws CORRUPTION that
// names the file; whether an older checkpoint or the log can stand in is decided elsewhere.

import { open, type FileHandle } from 'node:fs/promises';
import { crc32 } from 'node:zlib';

import {
  CHECKPOINT_PIECE_BYTES_MAX,
  type CheckpointMeta,
  type CheckpointVisitor,
  type LoadedCheckpoint,
} from '@queen-ts/raft';

import { viewOf } from './big-endian.ts';
import {
  CHECKPOINT_HEADER_BYTES,
  type CheckpointHeader,
  decodeDescription,
  decodeHeader,
  PIECE_HEADER_BYTES,
} from './checkpoint-file.ts';
import { corruption, StorageError } from './errors.ts';

/** Bytes read at a time: at least the largest piece. */
const READ_BYTES = 2 * CHECKPOINT_PIECE_BYTES_MAX;

/** Reads the checkpoint at `path`, which must stand at `index`. Throws CORRUPTION or STORAGE_FAILED. */
export async function readCheckpoint(
  { path, index }: { readonly path: string; readonly index: number },
  visitor: CheckpointVisitor,
): Promise<LoadedCheckpoint> {
  const handle = await failing(path, open(path, 'r'));
  try {
    return await readOpenCheckpoint(handle, { path, index }, visitor);
  } finally {
    await handle.close();
  }
}

/** The same for a file that is open already, which stays open. */
export async function readOpenCheckpoint(
  handle: FileHandle,
  { path, index }: { readonly path: string; readonly index: number },
  visitor: CheckpointVisitor,
): Promise<LoadedCheckpoint> {
  const reader = new CheckpointReader(path, handle);
  const { header, meta } = await reader.open(index);
  visitor.begin(meta);
  await reader.pieces(header, visitor);
  return { meta, position: header.position, sizeBytes: header.sizeBytes };
}

class CheckpointReader {
  readonly #path: string;
  readonly #handle: FileHandle;
  #piecesChecksum = 0;

  constructor(path: string, handle: FileHandle) {
    this.#path = path;
    this.#handle = handle;
  }

  /** Verifies header, length and description. */
  async open(index: number): Promise<{ header: CheckpointHeader; meta: CheckpointMeta }> {
    const { size } = await failing(this.#path, this.#handle.stat());
    const header = decodeHeader(await this.#read(0, Math.min(size, CHECKPOINT_HEADER_BYTES)));
    if (typeof header === 'string') throw this.#damage(header);
    if (typeof header === 'number') {
      const message = `${this.#path}: checkpoint format version ${header}, this program knows 1`;
      throw new StorageError({ code: 'FORMAT_UNSUPPORTED', message });
    }
    const { sizeBytes, descriptionBytes, position } = header;
    if (size !== sizeBytes) throw this.#damage(`${size} bytes where ${sizeBytes} were written`);
    if (position.index !== index) throw this.#damage(`holds checkpoint ${position.index}`);
    const at = sizeBytes - descriptionBytes - PIECE_HEADER_BYTES;
    if (at < CHECKPOINT_HEADER_BYTES) throw this.#damage('the description is missing');
    const framed = await this.#read(at, PIECE_HEADER_BYTES + descriptionBytes);
    const description = this.#piece(framed, 0, at);
    const meta = description && decodeDescription(description, index);
    if (meta === undefined) throw this.#damage('the description is damaged');
    return { header, meta };
  }

  /** Hands out every piece and verifies that they are all there, in order. */
  async pieces(header: CheckpointHeader, visitor: CheckpointVisitor): Promise<void> {
    let offset = CHECKPOINT_HEADER_BYTES;
    let count = 0;
    this.#piecesChecksum = 0;
    while (offset < header.sizeBytes) {
      const length = Math.min(READ_BYTES, header.sizeBytes - offset);
      const bytes = await this.#read(offset, length);
      let at = 0;
      for (;;) {
        const piece = this.#piece(bytes, at, offset + at);
        if (piece === undefined) break;
        this.#note(bytes.subarray(at, at + PIECE_HEADER_BYTES));
        at += PIECE_HEADER_BYTES + piece.byteLength;
        count++;
        if (count <= header.pieceCount) await visitor.piece(piece);
      }
      if (at === 0) throw this.#damage(`cut off at byte ${offset}`);
      offset += at;
    }
    const isWhole =
      count === header.pieceCount + 1 && this.#piecesChecksum === header.piecesChecksum;
    if (!isWhole) throw this.#damage('other pieces than were written');
  }

  #note(pieceHeader: Uint8Array): void {
    this.#piecesChecksum = crc32(pieceHeader, this.#piecesChecksum);
  }

  /** The verified piece at `at`, `undefined` if `bytes` ends before it does. */
  #piece(bytes: Uint8Array, at: number, offset: number): Uint8Array | undefined {
    if (bytes.byteLength - at < PIECE_HEADER_BYTES) return undefined;
    const view = viewOf(bytes);
    const length = view.getUint32(at);
    if (length < 1 || length > CHECKPOINT_PIECE_BYTES_MAX) {
      throw this.#damage(`a piece of ${length} bytes at byte ${offset}`);
    }
    const from = at + PIECE_HEADER_BYTES;
    if (bytes.byteLength - from < length) return undefined;
    const piece = bytes.subarray(from, from + length);
    if (crc32(piece) === view.getUint32(at + 4)) return piece;
    throw this.#damage(`the piece at byte ${offset} has a checksum mismatch`);
  }

  async #read(offset: number, length: number): Promise<Buffer> {
    const bytes = Buffer.allocUnsafe(length);
    const { bytesRead } = await failing(this.#path, this.#handle.read(bytes, 0, length, offset));
    if (bytesRead !== length) throw this.#damage(`cut off at byte ${offset + bytesRead}`);
    return bytes;
  }

  #damage(what: string): StorageError {
    return corruption(this.#path, what);
  }
}

/** Turns an error of the file system into STORAGE_FAILED. */
async function failing<T>(path: string, operation: Promise<T>): Promise<T> {
  try {
    return await operation;
  } catch (error) {
    const message = `reading ${path} failed`;
    throw new StorageError({ code: 'STORAGE_FAILED', message, cause: error });
  }
}
