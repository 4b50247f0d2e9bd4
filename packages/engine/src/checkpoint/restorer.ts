// Builds an engine from the pieces of a frozen state. The pieces are trusted to be the ones that were
// written (whoever stored them checks that), yet every reference and sum is checked: a state that was
// put together wrongly must never serve.

import { assert, ByteReader, CodecError, InvariantError } from '@queen-ts/base';
import { Engine } from '../engine.ts';
import type { EngineOptions } from '../engine.ts';
import { advanceTimers } from '../readiness.ts';
import type { State } from '../state.ts';
import { readCursor } from './cursor-records.ts';
import { readDeadLetter } from './dead-letter-records.ts';
import { DedupReader } from './dedup-records.ts';
import { RECORD } from './format.ts';
import type { RowCounts } from './format.ts';
import { PartitionReader } from './partition-records.ts';
import { QueueReader } from './queue-records.ts';
import { readEnd, readState } from './state-record.ts';

/** Takes pieces in order, then gives the engine. Throws InvariantError when they make no state. */
export class EngineRestorer {
  readonly #engine: Engine;
  #records: RecordReader | undefined;
  #isComplete = false;

  constructor(options: EngineOptions) {
    this.#engine = new Engine(options);
  }

  /** Takes the next piece; its bytes are copied. Work is proportional to its size. */
  accept(piece: Uint8Array): void {
    try {
      this.#acceptRecords(new ByteReader(piece));
    } catch (error) {
      if (!(error instanceof CodecError)) throw error;
      throw new InvariantError(`a stored state cannot be read: ${error.message}`);
    }
  }

  /** The engine, equal to the one that was frozen but for what it derives (rings, walks). */
  finish(): Engine {
    assert(this.#isComplete, 'a stored state without an end');
    return this.#engine;
  }

  #acceptRecords(reader: ByteReader): void {
    while (reader.remaining > 0) {
      const kind = reader.u8();
      if (this.#isComplete) throw new CodecError(`record ${kind} after the end`);
      if (this.#records === undefined) this.#begin(reader, kind);
      else if (kind === RECORD.END) this.#end(reader, this.#records);
      else this.#records.read(reader, kind);
    }
  }

  #begin(reader: ByteReader, kind: number): void {
    const { state } = this.#engine;
    if (kind !== RECORD.STATE) throw new CodecError(`record ${kind} at the start`);
    readState(reader, state);
    // Empty wheels move to the present at once; with timers in them they would get there bit by bit.
    advanceTimers(state, state.nowUs, 1);
    this.#records = new RecordReader(state);
  }

  #end(reader: ByteReader, records: RecordReader): void {
    readEnd(reader, records.finish());
    this.#isComplete = true;
  }
}

/** Reads everything between the first and the last record. */
class RecordReader {
  readonly #state: State;
  readonly #queues: QueueReader;
  readonly #partitions: PartitionReader;
  readonly #dedup: DedupReader;
  readonly #counts: RowCounts = {
    queues: 0,
    groups: 0,
    partitions: 0,
    cursors: 0,
    blocks: 0,
    deadLetters: 0,
    rememberedIds: 0,
  };

  constructor(state: State) {
    this.#state = state;
    this.#queues = new QueueReader(state);
    this.#partitions = new PartitionReader(state);
    this.#dedup = new DedupReader(state.dedup);
  }

  read(reader: ByteReader, kind: number): void {
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
        return this.#partitions.partition(reader);
      case RECORD.CURSOR:
        counts.cursors += 1;
        return readCursor(reader, this.#state, this.#partitions.row);
      case RECORD.BLOCKS:
        counts.blocks += this.#partitions.blocks(reader);
        return;
      case RECORD.DEAD_LETTER:
        counts.deadLetters += 1;
        return readDeadLetter(reader, this.#state);
      case RECORD.DEDUP_SLICES:
        return this.#dedup.slices(reader);
      case RECORD.DEDUP_SEGMENT:
        counts.rememberedIds += this.#dedup.segment(reader);
        return;
      default:
        throw new CodecError(`unknown record ${kind}`);
    }
  }

  /** Completes the state and returns how many rows it got. */
  finish(): RowCounts {
    this.#partitions.finish();
    this.#queues.finish();
    this.#dedup.finish();
    return this.#counts;
  }
}
