// Writes one checkpoint beside its place and puts it there when it is complete and durable, so that
// a crash leaves either all of it or nothing. Never touches the log.

import { open, rename, rm, type FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import { crc32 } from 'node:zlib';

import { assert } from '@queen-ts/base';
import type { CheckpointMeta, CheckpointWriter, LogPosition } from '@queen-ts/raft';

import {
  CHECKPOINT_HEADER_BYTES,
  encodeDescription,
  encodeHeader,
  PIECE_HEADER_BYTES,
  pieceHeader,
} from './checkpoint-file.ts';
import type { FailureLatch } from './failure-latch.ts';
import { syncDirectory } from './files.ts';

/** Bytes collected before they are written. */
const WRITE_BYTES = 1_048_576;

/**
 * Bytes written before they are synced. One sync of everything at the end would keep the log's syncs
 * waiting behind it.
 */
const SYNC_BYTES = 8_388_608;

/** A checkpoint that is being written. */
export interface WriterOptions {
  /** Where it is written, and where it belongs. */
  readonly temporaryPath: string;
  readonly pathOf: (index: number) => string;
  readonly latch: FailureLatch;
  /** The log record at an index, which is durable. */
  readonly positionOf: (index: number) => LogPosition;
  /** Called when it is in its place, and when it ended in any way. */
  readonly onFinished: (finished: { index: number; sizeBytes: number }) => Promise<void>;
  readonly onEnded: () => void;
}

/** {@link CheckpointWriter} on a file. */
export class CheckpointFileWriter implements CheckpointWriter {
  readonly #options: WriterOptions;
  readonly #handle: FileHandle;
  #pending: Uint8Array[] = [];
  #pendingBytes = 0;
  #unsyncedBytes = 0;
  #pieceCount = 0;
  #piecesChecksum = 0;
  #sizeBytes = CHECKPOINT_HEADER_BYTES;
  #isEnded = false;

  private constructor(options: WriterOptions, handle: FileHandle) {
    this.#options = options;
    this.#handle = handle;
  }

  /** Creates the temporary file; what a crash left there is overwritten. */
  static async create(options: WriterOptions): Promise<CheckpointFileWriter> {
    const handle = await open(options.temporaryPath, 'w');
    const writer = new CheckpointFileWriter(options, handle);
    writer.#collect(new Uint8Array(CHECKPOINT_HEADER_BYTES));
    return writer;
  }

  async write(piece: Uint8Array): Promise<void> {
    assert(!this.#isEnded, 'a piece for a checkpoint that has ended');
    this.#append(piece);
    this.#pieceCount++;
    if (this.#pendingBytes >= WRITE_BYTES) await this.#guarded(() => this.#flush());
  }

  async finish(meta: CheckpointMeta): Promise<void> {
    assert(!this.#isEnded, 'a checkpoint is finished once');
    await this.#guarded(() => this.#finish(meta));
  }

  async abandon(): Promise<void> {
    if (this.#isEnded) return;
    await this.#guarded(async () => {
      this.#end();
      await this.#handle.close();
      await rm(this.#options.temporaryPath, { force: true });
    });
  }

  async #finish(meta: CheckpointMeta): Promise<void> {
    const { temporaryPath, pathOf, positionOf, onFinished } = this.#options;
    const position = positionOf(meta.index);
    const pieceCount = this.#pieceCount;
    const description = encodeDescription(meta);
    this.#append(description);
    await this.#flush();
    const header = encodeHeader({
      position,
      pieceCount,
      piecesChecksum: this.#piecesChecksum,
      sizeBytes: this.#sizeBytes,
      descriptionBytes: description.byteLength,
    });
    await this.#handle.write(header, 0, header.byteLength, 0);
    await this.#handle.sync();
    this.#end();
    await this.#handle.close();
    await rename(temporaryPath, pathOf(meta.index));
    await syncDirectory(dirname(temporaryPath));
    await onFinished({ index: meta.index, sizeBytes: this.#sizeBytes });
  }

  #append(piece: Uint8Array): void {
    const header = pieceHeader(piece);
    this.#piecesChecksum = crc32(header, this.#piecesChecksum);
    this.#sizeBytes += PIECE_HEADER_BYTES + piece.byteLength;
    this.#collect(header);
    this.#collect(piece);
  }

  #collect(bytes: Uint8Array): void {
    this.#pending.push(bytes);
    this.#pendingBytes += bytes.byteLength;
  }

  async #flush(): Promise<void> {
    const bytes = Buffer.concat(this.#pending);
    this.#pending = [];
    this.#pendingBytes = 0;
    await this.#handle.appendFile(bytes);
    this.#unsyncedBytes += bytes.byteLength;
    if (this.#unsyncedBytes < SYNC_BYTES) return;
    this.#unsyncedBytes = 0;
    await this.#handle.datasync();
  }

  #end(): void {
    this.#isEnded = true;
    this.#options.onEnded();
  }

  /** A failed write ends everything in the directory (I11). */
  async #guarded(run: () => Promise<void>): Promise<void> {
    const { latch, temporaryPath } = this.#options;
    try {
      latch.check();
      await run();
    } catch (error) {
      if (!this.#isEnded) this.#end();
      // Closed already, or not to be saved: the first failure is the one that counts.
      await this.#handle.close().catch(() => undefined);
      throw latch.trip(`writing ${temporaryPath}`, error);
    }
  }
}
