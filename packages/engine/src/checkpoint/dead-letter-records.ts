// Dead letters, oldest first: where the record lies in the log, and the row.

import { CodecError } from '@queen-ts/base';
import type { ByteReader, ByteWriter } from '@queen-ts/base';
import { EFFECT, readEffect, writeEffect } from '@queen-ts/protocol';
import type { FrozenDeadLetters } from '../dead-letters.ts';
import { groupByNumber, partitionRowByNumber, queueByNumber } from '../invariants.ts';
import type { State } from '../state.ts';
import { RECORD } from './format.ts';

/** Writes one dead letter of a partition. */
export function writeDeadLetter(
  writer: ByteWriter,
  deadLetters: FrozenDeadLetters,
  at: { readonly row: number; readonly partition: number; readonly nowUs: number },
): void {
  const { row, partition, nowUs } = at;
  writer.u8(RECORD.DEAD_LETTER);
  writer.varint(deadLetters.entryIndex.get(row));
  const effect = {
    kind: EFFECT.DEAD_LETTER_PUT,
    deadLetter: deadLetters.number.get(row),
    partition,
    group: deadLetters.group.get(row),
    offset: deadLetters.offset.get(row),
    retryCount: deadLetters.retryCount.get(row),
    failedUs: deadLetters.failedUs.get(row),
    recordStart: deadLetters.recordStart.get(row),
    blockSize: deadLetters.blockSize.get(row),
    recordSize: deadLetters.recordSize.get(row),
  } as const;
  writeEffect(writer, effect, nowUs);
}

/** Reads the fields of a dead letter after the kind byte. */
export function readDeadLetter(reader: ByteReader, state: State): void {
  const entryIndex = reader.varint();
  const effect = readEffect(reader, state.nowUs);
  if (effect.kind !== EFFECT.DEAD_LETTER_PUT) {
    throw new CodecError(`dead letter of kind ${effect.kind}`);
  }
  const { deadLetters, nextDeadLetter, partitions } = state;
  const { deadLetter } = effect;
  if (deadLetter >= nextDeadLetter || deadLetters.numbers.get(deadLetter) !== 0) {
    throw new CodecError(`dead letter ${deadLetter}`);
  }
  const partitionRow = partitionRowByNumber(state, effect.partition);
  deadLetters.add(partitionRow, entryIndex, effect);
  groupByNumber(state, effect.group).deadLetters += 1;
  queueByNumber(state, partitions.queue.get(partitionRow)).deadLetters += 1;
}
