// Builds an engine from the pieces of a frozen state. The pieces are trusted to be the ones that were
// written (whoever stored them checks that), yet every reference and sum is checked: a state that was
// put together wrongly must never serve.

import { assert, ByteReader, CodecError, InvariantError } from '@queen-ts/base';
import { Engine } from '../engine.ts';
import type { EngineOptions } from '../engine.ts';
import { advanceTimers } from '../readiness.ts';
import type { State } from '../state.ts';
import { CursorReader } from './cursor-records.ts';
import { readDeadLetter } from './dead-letter-records.ts';
import { DedupReader } from './dedup-records.ts';
import { NO_ROWS, RECORD, ROW_COUNT_NAMES } from './format.ts';
import type { RowCounts } from './format.ts';
import { PartitionReader } from './partition-records.ts';
import { QueueReader } from './queue-records.ts';
import { readRequests } from './request-records.ts';
import { readState } from './state-record.ts';

/** Takes pieces in order, then gives the engine. Throws InvariantError when they make no state. */
export class EngineRestorer {
  readonly #engine: Engine;
  #records: RecordReader | undefined;
  #isComplete = false;
  #derivation: Generator<void> | undefined;

  constructor(options: EngineOptions) {
    this.#engine = new Engine(options);
  }

  /** Takes the next piece; its bytes are copied. Work is proportional to its size. */
  accept(piece: Uint8Array): void {
    try {
      this.#acceptRecords(new ByteReader(piece), piece);
    } catch (error) {
      if (!(error instanceof CodecError)) throw error;
      throw new InvariantError(`a stored state cannot be read: ${error.message}`);
    }
  }

  /**
   * Builds the hash tables once all pieces are in, in steps of bounded work. Optional: {@link finish}
   * does what is left.
   */
  derive(): Generator<void> {
    this.#derivation ??= this.#derive();
    return this.#derivation;
  }

  /** The engine, equal to the one that was frozen but for its rings and walks. */
  finish(): Engine {
    for (const _ of this.derive());
    return this.#engine;
  }

  *#derive(): Generator<void> {
    assert(this.#isComplete, 'a stored state without an end');
    const { partitions, cursors } = this.#engine.state;
    yield* partitions.names.indexRestored(partitions.count);
    yield* cursors.index.indexRestored(cursors.count);
  }

  #acceptRecords(reader: ByteReader, piece: Uint8Array): void {
    while (reader.remaining > 0) {
      const kind = reader.u8();
      if (this.#isComplete) throw new CodecError(`record ${kind} after the end`);
      if (this.#records === undefined) this.#begin(reader, kind);
      else if (kind === RECORD.END) this.#end(this.#records);
      else this.#records.read(reader, kind, piece);
    }
  }

  #begin(reader: ByteReader, kind: number): void {
    const { state } = this.#engine;
    if (kind !== RECORD.STATE) throw new CodecError(`record ${kind} at the start`);
    const promised = readState(reader, state);
    // Empty wheels move to the present at once; with timers in them they would get there bit by bit.
    advanceTimers(state, state.nowUs, 1);
    this.#records = new RecordReader(state, promised);
  }

  #end(records: RecordReader): void {
    records.finish();
    this.#isComplete = true;
  }
}

/** Reads everything between the first and the last record. */
class RecordReader {
  readonly #state: State;
  readonly #queues: QueueReader;
  readonly #partitions: PartitionReader;
  readonly #cursors: CursorReader;
  readonly #dedup: DedupReader;
  readonly #promised: RowCounts;
  readonly #counts: RowCounts = { ...NO_ROWS };

  constructor(state: State, promised: RowCounts) {
    this.#state = state;
    this.#promised = promised;
    this.#queues = new QueueReader(state);
    this.#partitions = new PartitionReader(state);
    this.#cursors = new CursorReader(state);
    this.#dedup = new DedupReader(state.dedup);
  }

  read(reader: ByteReader, kind: number, piece: Uint8Array): void {
    const counts = this.#counts;
    switch (kind) {
      case RECORD.QUEUE:
        counts.queues += 1;
        return this.#queues.queue(reader);
      case RECORD.GROUP:
        counts.groups += 1;
        return this.#queues.group(reader);
      case RECORD.PARTITION:
        counts.partitions += 1;
        return this.#partitions.partition(reader, piece);
      case RECORD.CURSOR:
        counts.cursors += 1;
        return this.#cursors.cursor(reader, this.#partitions.row);
      case RECORD.DEAD_LETTER:
        counts.deadLetters += 1;
        return readDeadLetter(reader, this.#state);
      case RECORD.DEDUP_SLICES:
        return this.#dedup.slices(reader);
      case RECORD.DEDUP_SEGMENT:
        counts.rememberedIds += this.#dedup.segment(reader);
        return;
      case RECORD.REQUESTS:
        counts.recentRequests += readRequests(reader, this.#state);
        return;
      default:
        throw new CodecError(`unknown record ${kind}`);
    }
  }

  /** Checks and completes the state. */
  finish(): void {
    this.#counts.blocks = this.#partitions.blockCount;
    this.#queues.finish();
    this.#dedup.finish();
    for (const name of ROW_COUNT_NAMES) {
      const found = this.#counts[name];
      const promised = this.#promised[name];
      if (found !== promised) throw new CodecError(`${found} ${name} where ${promised} were`);
    }
  }
}
