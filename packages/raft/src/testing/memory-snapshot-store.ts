// A SnapshotStore in memory, on a log and checkpoints in memory. Its pieces are bytes like those of the
// real one, chained by a hash, so that lost, damaged and reordered pieces are noticed here, too.

import { assert, ByteReader, ByteWriter, CodecError, hash32 } from '@queen-ts/base';
import type { Entry, EntryType, PayloadRange } from '../ports.ts';
import type {
  IncomingSnapshot,
  OutgoingSnapshot,
  SnapshotDescription,
  SnapshotStore,
} from '../snapshots.ts';
import { SNAPSHOT_PIECE_BYTES_MAX } from '../snapshots.ts';
import type { MemoryCheckpointStore, StoredCheckpoint } from './memory-checkpoint-store.ts';
import type { KeptEntry, MemoryLogStore } from './memory-log-store.ts';
import { MemoryStoreError } from './memory-store-error.ts';

const TYPES: readonly EntryType[] = ['command', 'noop', 'membership'];
const HASH_KEY = Uint32Array.of(1, 2, 3, 4);
const HASH_BYTES = 4;

/** SnapshotStore without a disk. */
export class MemorySnapshotStore implements SnapshotStore {
  readonly #log: MemoryLogStore;
  readonly #checkpoints: MemoryCheckpointStore;
  readonly #pieceBytes: number;
  #receiving: MemoryIncoming | undefined;

  /** @param pieceBytes size of the pieces; small ones make long transfers out of small states. */
  constructor(
    log: MemoryLogStore,
    checkpoints: MemoryCheckpointStore,
    pieceBytes = SNAPSHOT_PIECE_BYTES_MAX - HASH_BYTES,
  ) {
    this.#log = log;
    this.#checkpoints = checkpoints;
    this.#pieceBytes = pieceBytes;
  }

  open(): Promise<OutgoingSnapshot | undefined> {
    const stored = this.#checkpoints.newestStored;
    if (stored === undefined) return Promise.resolve(undefined);
    const { index } = stored.meta;
    const bytes = encode({ stored, archive: this.#log.keptUpTo(index) });
    let at = 0;
    let chain = 0;
    let isClosed = false;
    return Promise.resolve({
      position: { index, term: stored.term, checksum: 0 },
      membership: stored.meta.membership,
      next: () => {
        if (isClosed) return Promise.reject(new MemoryStoreError('STORE_CLOSED', 'closed'));
        if (at > bytes.length) return Promise.resolve(undefined);
        // The last piece is shorter than the others, and empty if need be: that is how it is known.
        const body = bytes.subarray(at, at + this.#pieceBytes);
        at += this.#pieceBytes;
        chain = hashOf(body, chain);
        const piece = new Uint8Array(HASH_BYTES + body.length);
        new DataView(piece.buffer).setUint32(0, chain);
        piece.set(body, HASH_BYTES);
        return Promise.resolve(piece);
      },
      close: () => {
        isClosed = true;
        return Promise.resolve();
      },
    });
  }

  receive(): Promise<IncomingSnapshot> {
    assert(this.#receiving === undefined, 'one snapshot is received at a time');
    this.#receiving = new MemoryIncoming({
      log: this.#log,
      checkpoints: this.#checkpoints,
      onEnded: () => {
        this.#receiving = undefined;
      },
    });
    return Promise.resolve(this.#receiving);
  }
}

interface IncomingParts {
  readonly log: MemoryLogStore;
  readonly checkpoints: MemoryCheckpointStore;
  readonly onEnded: () => void;
}

class MemoryIncoming implements IncomingSnapshot {
  readonly #parts: IncomingParts;
  readonly #bodies: Uint8Array[] = [];
  #chain = 0;
  #isEnded = false;

  constructor(parts: IncomingParts) {
    this.#parts = parts;
  }

  async accept(piece: Uint8Array): Promise<void> {
    await Promise.resolve();
    if (piece.length < HASH_BYTES) throw invalid('a piece without a hash');
    const body = piece.slice(HASH_BYTES);
    this.#chain = hashOf(body, this.#chain);
    const found = new DataView(piece.buffer, piece.byteOffset).getUint32(0);
    if (found !== this.#chain) throw invalid('a piece has a hash mismatch');
    this.#bodies.push(body);
  }

  async finish(): Promise<SnapshotDescription> {
    await Promise.resolve();
    const { log, checkpoints, onEnded } = this.#parts;
    const { stored, archive } = decode(concat(this.#bodies));
    const { index, membership } = stored.meta;
    const { term } = stored;
    const onDurable = (): void => {
      checkpoints.replaceAll(stored);
      this.#isEnded = true;
      onEnded();
    };
    log.stage({ index, term, archive, onDurable });
    return { position: { index, term, checksum: 0 }, membership };
  }

  abandon(): Promise<void> {
    if (this.#isEnded) return Promise.resolve();
    this.#isEnded = true;
    this.#parts.log.stage(undefined);
    this.#parts.onEnded();
    return Promise.resolve();
  }
}

interface Content {
  readonly stored: StoredCheckpoint;
  readonly archive: readonly KeptEntry[];
}

function encode({ stored, archive }: Content): Uint8Array {
  const writer = new ByteWriter();
  const { meta, term, pieces } = stored;
  writer.uint53(meta.index);
  writer.uint53(term);
  writer.string(meta.clusterId);
  writer.string(meta.digest);
  writeBytes(writer, meta.membership);
  writer.varint(pieces.length);
  for (const piece of pieces) writeBytes(writer, piece);
  writer.varint(archive.length);
  for (const { entry, kept } of archive) {
    writer.uint53(entry.index);
    writer.uint53(entry.term);
    writer.u8(TYPES.indexOf(entry.type));
    writeBytes(writer, entry.head);
    writeBytes(writer, entry.payload);
    writer.varint(kept === undefined ? 0 : 1 + kept.length);
    for (const { from, toExclusive } of kept ?? []) {
      writer.varint(from);
      writer.varint(toExclusive);
    }
  }
  return writer.written().slice();
}

function decode(bytes: Uint8Array): Content {
  const reader = new ByteReader(bytes);
  try {
    const index = reader.uint53();
    const term = reader.uint53();
    const clusterId = reader.string();
    const digest = reader.string();
    const meta = { index, clusterId, digest, membership: readBytes(reader) };
    const pieces = listOf(reader.varint(), () => readBytes(reader));
    const archive = listOf(reader.varint(), () => readKept(reader));
    reader.expectEnd();
    return { stored: { meta, term, pieces }, archive };
  } catch (error) {
    if (!(error instanceof CodecError)) throw error;
    throw invalid(error.message);
  }
}

function readKept(reader: ByteReader): KeptEntry {
  const index = reader.uint53();
  const term = reader.uint53();
  const type = TYPES[reader.u8()] ?? 'command';
  const entry: Entry = { index, term, type, head: readBytes(reader), payload: readBytes(reader) };
  const count = reader.varint();
  if (count === 0) return { entry, kept: undefined };
  const kept: PayloadRange[] = listOf(count - 1, () => {
    const from = reader.varint();
    return { from, toExclusive: reader.varint() };
  });
  return { entry, kept };
}

function writeBytes(writer: ByteWriter, bytes: Uint8Array): void {
  writer.varint(bytes.length);
  writer.raw(bytes);
}

function readBytes(reader: ByteReader): Uint8Array {
  return reader.raw(reader.varint()).slice();
}

function listOf<T>(count: number, read: () => T): T[] {
  const list: T[] = [];
  for (let left = count; left > 0; left--) list.push(read());
  return list;
}

function concat(bodies: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(bodies.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const body of bodies) {
    bytes.set(body, at);
    at += body.length;
  }
  return bytes;
}

function hashOf(body: Uint8Array, chain: number): number {
  const key = Uint32Array.of((HASH_KEY[0] ?? 0) ^ chain, HASH_KEY[1] ?? 0, 3, 4);
  return hash32(key, body, 0, body.length) >>> 0;
}

function invalid(what: string): MemoryStoreError {
  return new MemoryStoreError('SNAPSHOT_INVALID', what);
}
