// What all records of a state checkpoint have in common. The state is a sequence of records, cut into
// pieces at record boundaries; a record is a kind byte and its fields (docs/format/checkpoint.md).

import type { ByteWriter } from '@queen-ts/base';

/** Version of the records that this build writes, and the only one it reads. */
export const STATE_FORMAT_VERSION = 2;

/** A piece ends with the first record that brings it to this size, in bytes. */
export const PIECE_BYTES = 65_536;

/** First byte of a record; on disk, so numbers are never used again. */
export const RECORD = {
  STATE: 1,
  QUEUE: 2,
  GROUP: 3,
  PARTITION: 4,
  CURSOR: 5,
  // 6: the blocks of a partition, in version 1.
  DEAD_LETTER: 7,
  DEDUP_SLICES: 8,
  DEDUP_SEGMENT: 9,
  END: 10,
  REQUESTS: 11,
} as const;

/** Rows of each kind: what the first record promises and the reader counts. */
export interface RowCounts {
  queues: number;
  groups: number;
  partitions: number;
  cursors: number;
  blocks: number;
  deadLetters: number;
  rememberedIds: number;
  recentRequests: number;
}

/** The counts in the order of the first record. */
export const ROW_COUNT_NAMES = [
  'queues',
  'groups',
  'partitions',
  'cursors',
  'blocks',
  'deadLetters',
  'rememberedIds',
  'recentRequests',
] as const satisfies readonly (keyof RowCounts)[];

/** Counts of an empty state. */
export const NO_ROWS: Readonly<RowCounts> = {
  queues: 0,
  groups: 0,
  partitions: 0,
  cursors: 0,
  blocks: 0,
  deadLetters: 0,
  rememberedIds: 0,
  recentRequests: 0,
};

/** Hands over what was written, as a copy, and empties the writer. */
export function takePiece(writer: ByteWriter): Uint8Array {
  const piece = writer.written().slice();
  writer.clear();
  return piece;
}
