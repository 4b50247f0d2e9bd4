// The append block: all messages of one append, self-contained, in an entry's payload area. The
// planner writes it, replicas read its keys for dedup, pops read its frames. Little-endian.
//
//   offset size  field
//   0      1     format version (2)
//   1      1     flags (BLOCK_FLAG)
//   2      2     size of producerSub in bytes
//   4      4     message count, >= 1
//   8      4     partition number
//   12     4     size l of the links in bytes; 0 without a block before it, and in dead letters
//   16     8     base offset (float64)
//   24     8     createdAt in microseconds of wall time (float64)
//   32     16    message id of ordinal 0 (big-endian words); ordinal i has id + i in the low word
//   48     l     links to older blocks of the partition (`block-links.ts`)
//   ..     16*n  keys, absent with ALL_MINTED: keyed hash of each transaction id
//   ..     8*n   frame table: u32 size of the transaction id (MINTED_TXN = it is the message id),
//                u32 size of the payload
//   ..     16*n  trace ids, only with HAS_TRACE_IDS (all zero = none)
//   ..     s     producerSub, UTF-8
//   ..           frames: transaction id bytes, payload bytes, ordinal after ordinal

/** Version this build writes, and the only one it reads. */
export const BLOCK_FORMAT_VERSION = 2;

/** Size of the fixed part in bytes. */
export const BLOCK_HEADER_SIZE = 48;

/** Bits of the flags byte. */
export const BLOCK_FLAG = {
  /** No message of the block has a client's transaction id: keys are left out. */
  ALL_MINTED: 1,
  /** Trace ids are present. */
  HAS_TRACE_IDS: 2,
  /** Payloads are encryption envelopes. */
  ENCRYPTED: 4,
} as const;

/** Size of one key in bytes. */
export const BLOCK_KEY_SIZE = 16;

/** Size of one trace id in bytes. */
export const BLOCK_TRACE_ID_SIZE = 16;

/** Size of one frame-table row in bytes. */
export const BLOCK_FRAME_SIZE = 8;

/**
 * Reads [from, toExclusive) of one entry's payload. Synchronous: the bytes are in memory or one
 * block-cache read away. The caller must not mutate or keep the result longer than the request.
 */
export interface PayloadReader {
  payload(range: { index: number; from: number; toExclusive: number }): Uint8Array;
}
