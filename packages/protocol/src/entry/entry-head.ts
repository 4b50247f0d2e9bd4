// The head of a log entry: what a replica must hold to apply it. Little-endian.
//
//   offset size  field
//   0      1     format version (2)
//   1      3     reserved, zero
//   4      4     effect count, >= 1
//   8      8     nowUs (float64): the entry's time, greater than that of every entry before
//   16     4     number of the first partition the entry creates, if it creates any
//   20     4     size of the outcome section in bytes
//   24     ..    outcomes by request id: for each u8 flags (1 client's key), u32[4] id, varint size,
//                bytes (`outcomes/outcome-codec.ts`)
//   ..     ..    effects (`codec.ts`), in the order they were applied

import { assert, ByteReader, ByteWriter, CodecError } from '@queen-ts/base';
import { readEffect, writeEffect } from './codec.ts';
import type { RequestId } from '../commands.ts';
import type { Effect } from './effects.ts';
import { readId, writeId } from './fields.ts';

/** Version this build writes, and the only one it reads. */
export const ENTRY_FORMAT_VERSION = 2;

/** Size of the fixed part of a head in bytes. */
export const ENTRY_HEAD_SIZE = 24;

const OUTCOME_FLAG = { CLIENT_KEY: 1 } as const;

/** An outcome that replicas remember. */
export interface RecordedOutcome {
  readonly request: RequestId;
  /** A view of the head. */
  readonly bytes: Uint8Array;
}

/** Collects the effects of one planning cycle. */
export class EntryWriter {
  readonly #writer = new ByteWriter({ capacity: 4096 });
  readonly #outcomes = new ByteWriter({ capacity: 1024 });
  #nowUs = 0;
  #effectCount = 0;

  /** Effects written since {@link open}. */
  get effectCount(): number {
    return this.#effectCount;
  }

  /** Starts a new entry; what was written before is dropped. */
  open(entry: { readonly nowUs: number; readonly firstPartition: number }): void {
    this.#nowUs = entry.nowUs;
    this.#effectCount = 0;
    this.#writer.clear();
    this.#outcomes.clear();
    this.#writer.u8(ENTRY_FORMAT_VERSION);
    this.#writer.u8(0);
    this.#writer.u16(0);
    this.#writer.u32(0);
    this.#writer.uint53(entry.nowUs);
    this.#writer.u32(entry.firstPartition);
    this.#writer.u32(0);
  }

  /** Adds one effect. */
  effect(effect: Effect): void {
    this.#effectCount += 1;
    writeEffect(this.#writer, effect, this.#nowUs);
  }

  /** Adds the outcome of a request that had effects. */
  outcome(request: RequestId, bytes: Uint8Array): void {
    this.#outcomes.u8(request.isClientKey ? OUTCOME_FLAG.CLIENT_KEY : 0);
    writeId(this.#outcomes, request.words);
    this.#outcomes.varint(bytes.length);
    this.#outcomes.raw(bytes);
  }

  /** Returns a copy of the finished head; at least one effect must have been written. */
  finish(): Uint8Array {
    assert(this.#effectCount > 0, 'an entry without effects');
    const outcomes = this.#outcomes.written();
    this.#writer.view.setUint32(4, this.#effectCount, true);
    this.#writer.view.setUint32(20, outcomes.length, true);
    const written = this.#writer.written();
    const head = new Uint8Array(written.length + outcomes.length);
    head.set(written.subarray(0, ENTRY_HEAD_SIZE));
    head.set(outcomes, ENTRY_HEAD_SIZE);
    head.set(written.subarray(ENTRY_HEAD_SIZE), ENTRY_HEAD_SIZE + outcomes.length);
    return head;
  }
}

/** Reads the effects of one entry, one after the other. */
export class EntryHeadReader {
  readonly nowUs: number;
  readonly firstPartition: number;
  readonly effectCount: number;
  readonly #outcomes: Uint8Array;
  readonly #reader: ByteReader;
  #left: number;

  /** Throws CodecError unless `head` starts as a head of a known version. */
  constructor(head: Uint8Array) {
    const reader = new ByteReader(head);
    const version = reader.u8();
    if (version !== ENTRY_FORMAT_VERSION) {
      throw new CodecError(
        `entry format ${version}, this program reads ${ENTRY_FORMAT_VERSION} only`,
      );
    }
    if (reader.u8() !== 0 || reader.u16() !== 0) throw new CodecError('reserved bytes of a head');
    this.effectCount = reader.u32();
    this.nowUs = reader.uint53();
    this.firstPartition = reader.u32();
    this.#outcomes = reader.raw(reader.u32());
    if (this.effectCount === 0) throw new CodecError('an entry without effects');
    this.#reader = reader;
    this.#left = this.effectCount;
  }

  /** The next effect, or undefined after the last. Throws CodecError when bytes are left over. */
  next(): Effect | undefined {
    if (this.#left === 0) {
      this.#reader.expectEnd();
      return undefined;
    }
    this.#left -= 1;
    return readEffect(this.#reader, this.nowUs);
  }

  /** The outcomes, in the order in which they were decided. Throws CodecError on damage. */
  *outcomes(): Generator<RecordedOutcome> {
    const reader = new ByteReader(this.#outcomes);
    while (reader.remaining > 0) {
      const flags = reader.u8();
      if (flags > OUTCOME_FLAG.CLIENT_KEY) throw new CodecError(`outcome flags ${flags}`);
      const request = { words: readId(reader), isClientKey: flags === OUTCOME_FLAG.CLIENT_KEY };
      yield { request, bytes: reader.raw(reader.varint()) };
    }
  }
}
