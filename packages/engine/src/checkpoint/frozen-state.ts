// The state of one moment, to be written while the engine goes on. Taking it copies references to
// column chunks and the few objects; encoding happens afterwards, piece by piece.

import { ByteWriter } from '@queen-ts/base';
import { CursorLinks, writeCursor } from './cursor-records.ts';
import { writeDeadLetter } from './dead-letter-records.ts';
import { liveSlices, writeDedupSegment, writeDedupSlices } from './dedup-records.ts';
import { PIECE_BYTES, RECORD, takePiece } from './format.ts';
import type { RowCounts } from './format.ts';
import { writePartition } from './partition-records.ts';
import { freezeQueues, writeGroup, writeQueue } from './queue-records.ts';
import { freezeRequests, writeRequests } from './request-records.ts';
import { writeState } from './state-record.ts';
import type { State } from '../state.ts';

/** Step of which nothing is to be written. */
const NOTHING = new Uint8Array(0);

/** A consistent picture of a state. One at a time: the engine is told by {@link release}. */
export class FrozenState {
  /** Index of the newest entry with effects that is part of it. */
  readonly closedIndex: number;
  /** Digest at that entry. */
  readonly digest: string;
  readonly #nowUs: number;
  readonly #state: State;
  readonly #start: Uint8Array;
  readonly #queues: ReturnType<typeof freezeQueues>;
  readonly #partitions: ReturnType<State['partitions']['freeze']>;
  readonly #cursors: ReturnType<State['cursors']['freeze']>;
  readonly #blocks: ReturnType<State['blocks']['tails']['freeze']>;
  readonly #deadLetters: ReturnType<State['deadLetters']['freeze']>;
  readonly #dedup: ReturnType<State['dedup']['freeze']>;
  readonly #requests: ReturnType<typeof freezeRequests>;
  readonly #onRelease: () => void;
  #isReleased = false;

  /** Freezes the tables. @param onRelease called once, when the tables are thawed. */
  constructor(state: State, onRelease: () => void) {
    this.closedIndex = state.closedIndex;
    this.digest = state.digest.text();
    this.#nowUs = state.closedUs;
    this.#state = state;
    this.#onRelease = onRelease;
    const writer = new ByteWriter();
    writeState(writer, state, countRows(state));
    this.#start = takePiece(writer);
    this.#queues = freezeQueues(state);
    this.#partitions = state.partitions.freeze();
    this.#cursors = state.cursors.freeze();
    this.#blocks = state.blocks.tails.freeze();
    this.#deadLetters = state.deadLetters.freeze();
    this.#dedup = state.dedup.freeze();
    this.#requests = freezeRequests(state);
  }

  /**
   * Encodes the state. Each step is bounded work, about a millisecond at most, and yields the next
   * piece; an empty one means that there is nothing to write yet. To be walked once, before
   * {@link release}.
   */
  *pieces(): Generator<Uint8Array> {
    const writer = new ByteWriter({ capacity: PIECE_BYTES * 2 });
    writer.raw(this.#start);
    yield* this.#queuePieces(writer);
    yield* this.#partitionPieces(writer);
    yield* this.#deadLetterPieces(writer);
    yield* this.#dedupPieces(writer);
    yield* this.#requestPieces(writer);
    writer.u8(RECORD.END);
    yield takePiece(writer);
  }

  /** Gives the shared memory back: nobody reads the pieces any more. Idempotent. */
  release(): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    const { partitions, cursors, blocks, deadLetters, dedup } = this.#state;
    for (const table of [partitions, cursors, blocks.tails, deadLetters, dedup]) table.thaw();
    this.#onRelease();
  }

  *#queuePieces(writer: ByteWriter): Generator<Uint8Array> {
    for (const frozen of this.#queues) {
      writeQueue(writer, frozen, this.#nowUs);
      for (const group of frozen.groups) {
        writeGroup(writer, group, this.#nowUs);
        if (writer.length >= PIECE_BYTES) yield takePiece(writer);
      }
      if (writer.length >= PIECE_BYTES) yield takePiece(writer);
    }
  }

  *#partitionPieces(writer: ByteWriter): Generator<Uint8Array> {
    const partitions = this.#partitions;
    const links = new CursorLinks(this.#cursors, partitions.number.rowCount);
    for (const _ of links.build()) yield NOTHING;
    const frozen = { partitions, blocks: this.#blocks };
    const before = { number: 0, createdUs: this.#nowUs };
    for (const row of partitions.numbers.rows()) {
      writePartition(writer, frozen, row, before);
      const partition = before.number;
      for (const cursorRow of links.of(row)) {
        writeCursor(writer, this.#cursors, { row: cursorRow, partition, nowUs: this.#nowUs });
        if (writer.length >= PIECE_BYTES) yield takePiece(writer);
      }
      if (writer.length >= PIECE_BYTES) yield takePiece(writer);
    }
  }

  *#deadLetterPieces(writer: ByteWriter): Generator<Uint8Array> {
    const { number } = this.#partitions;
    for (const row of this.#deadLetters.numbers.rows()) {
      const partition = number.get(this.#deadLetters.partitionRow.get(row));
      writeDeadLetter(writer, this.#deadLetters, { row, partition, nowUs: this.#nowUs });
      if (writer.length >= PIECE_BYTES) yield takePiece(writer);
    }
  }

  *#requestPieces(writer: ByteWriter): Generator<Uint8Array> {
    for (const chunk of this.#requests) {
      writeRequests(writer, chunk);
      if (writer.length >= PIECE_BYTES) yield takePiece(writer);
    }
  }

  *#dedupPieces(writer: ByteWriter): Generator<Uint8Array> {
    const isLive = liveSlices(this.#dedup);
    writeDedupSlices(writer, this.#dedup);
    for (const segment of this.#dedup.segments()) {
      writeDedupSegment(writer, segment, isLive);
      if (writer.length >= PIECE_BYTES) yield takePiece(writer);
    }
  }
}

function countRows(state: State): RowCounts {
  return {
    queues: state.queues.size,
    groups: state.groups.size,
    partitions: state.partitions.count,
    cursors: state.cursors.count,
    blocks: state.blocks.blockCount,
    deadLetters: state.deadLetters.count,
    rememberedIds: state.dedup.count,
    recentRequests: state.mintedRequests.count + state.clientRequests.count,
  };
}
