// Reads a snapshot for another member: a LevelDB snapshot of the log up to a checkpoint, and that
// checkpoint's file, which stays readable through its handle when it is superseded. Every byte of a
// record is verified before it is given out.

import type { LogPosition, OutgoingSnapshot } from '@queen-ts/raft';
import { SNAPSHOT_PIECE_BYTES_MAX } from '@queen-ts/raft';

import type { OpenCheckpoint } from './checkpoint-directory.ts';
import { StorageError } from './errors.ts';
import { HOLES_CHUNK, logKey, purgePageKey } from './keys.ts';
import type { LogView } from './log-view.ts';
import { PurgeMap } from './purge-map.ts';
import { PIECE_HEAD_BYTES, PieceChain } from './snapshot-piece.ts';
import { frameValue } from './value-stream.ts';

const BODY_BYTES = SNAPSHOT_PIECE_BYTES_MAX - PIECE_HEAD_BYTES;

/** {@link OutgoingSnapshot} on an open log and an open checkpoint, both of which it closes. */
export class LevelOutgoingSnapshot implements OutgoingSnapshot {
  readonly position: LogPosition;
  readonly membership: Uint8Array;
  readonly #view: LogView;
  readonly #checkpoint: OpenCheckpoint;
  readonly #pieces: Generator<Uint8Array>;
  #valueCount = 0;
  #stateAt = 0;
  /** What {@link next} is at. */
  #stage: 'values' | 'state' | 'done' = 'values';
  readonly #chain = new PieceChain();
  #isClosed = false;

  constructor(view: LogView, checkpoint: OpenCheckpoint) {
    this.#view = view;
    this.#checkpoint = checkpoint;
    this.position = checkpoint.loaded.position;
    this.membership = checkpoint.loaded.meta.membership;
    this.#pieces = this.#valuePieces();
  }

  async next(): Promise<Uint8Array | undefined> {
    if (this.#isClosed || this.#view.isClosed) throw this.#closedError();
    if (this.#stage === 'values') {
      const step = this.#view.verified(() => this.#pieces.next());
      if (step.done !== true) return step.value;
      this.#stage = 'state';
    }
    return this.#stage === 'state' ? this.#statePiece() : undefined;
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#view.close();
    await this.#checkpoint.handle.close();
  }

  async #statePiece(): Promise<Uint8Array> {
    const { handle, loaded, path } = this.#checkpoint;
    const length = Math.min(BODY_BYTES, loaded.sizeBytes - this.#stateAt);
    if (length === 0) {
      this.#stage = 'done';
      const stateBytes = this.#stateAt;
      return this.#chain.encode({ kind: 'end', valueCount: this.#valueCount, stateBytes });
    }
    const bytes = new Uint8Array(length);
    const { bytesRead } = await handle.read(bytes, 0, length, this.#stateAt);
    if (bytesRead !== length) {
      const message = `${path}: cut off at byte ${this.#stateAt + bytesRead}`;
      throw new StorageError({ code: 'CORRUPTION', message });
    }
    this.#stateAt += length;
    return this.#chain.encode({ kind: 'state', bytes });
  }

  /** Begin, then all values, collected into pieces of nearly the largest size. */
  *#valuePieces(): Generator<Uint8Array> {
    yield this.#chain.encode({ kind: 'begin', position: this.position });
    let pending: Uint8Array[] = [];
    let pendingBytes = 0;
    for (const value of this.#values()) {
      this.#valueCount++;
      for (let rest = value; rest.byteLength > 0;) {
        const part = rest.subarray(0, BODY_BYTES - pendingBytes);
        pending.push(part);
        pendingBytes += part.byteLength;
        rest = rest.subarray(part.byteLength);
        if (pendingBytes < BODY_BYTES) continue;
        yield this.#chain.encode({ kind: 'values', bytes: Buffer.concat(pending) });
        pending = [];
        pendingBytes = 0;
      }
    }
    if (pendingBytes > 0) {
      yield this.#chain.encode({ kind: 'values', bytes: Buffer.concat(pending) });
    }
  }

  /** Framed values in the order of their keys. */
  *#values(): Generator<Uint8Array> {
    const { reader } = this.#view;
    const { index: lastIndex } = this.position;
    for (let page = 0; page < PurgeMap.pageCount(lastIndex); page++) {
      const key = purgePageKey(page);
      const value = this.#view.get(key);
      if (value !== undefined) yield frameValue(key, value);
    }
    let index = reader.purges.nextKept(1, lastIndex + 1);
    while (index !== undefined) {
      yield* this.#recordValues(index);
      index = reader.purges.nextKept(index + 1, lastIndex + 1);
    }
  }

  *#recordValues(index: number): Generator<Uint8Array> {
    const { reader } = this.#view;
    // Reading it verifies it, and that it is there.
    const { header } = reader.record(index);
    const holes = reader.holes(header);
    for (let chunk = 0; chunk <= header.payloadChecksums.length; chunk++) {
      if (holes.has(chunk)) continue;
      const value = chunk === 0 ? this.#view.get(logKey(index, 0)) : reader.chunk(header, chunk);
      if (value !== undefined) yield frameValue(logKey(index, chunk), value);
    }
    const key = logKey(index, HOLES_CHUNK);
    const value = holes.size === 0 ? undefined : this.#view.get(key);
    if (value !== undefined) yield frameValue(key, value);
  }

  #closedError(): StorageError {
    const message = `the snapshot at ${this.position.index} is closed`;
    return new StorageError({ code: 'STORE_CLOSED', message });
  }
}
