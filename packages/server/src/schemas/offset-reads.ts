// Bodies and answers of the reads by offset (data-plane reference §11).

import { z } from 'zod';
import { Count, Microseconds, Offset, PartitionId, Payload } from './fields.ts';
import { PartitionName } from './partition.ts';

/** Most entries of one call. */
const ENTRIES_MAX = 1024;

/** Most bytes of one entry of a fetch, and what it gets when it does not say. */
const ENTRY_BYTES_MAX = 8 * 1024 * 1024;
const ENTRY_BYTES_DEFAULT = 1024 * 1024;

/** Longest wait of a fetch. */
const WAIT_MS_MAX = 30_000;

/** Most rows of one page of partitions. */
const PAGE_MAX = 1000;

const entriesOf = <T extends z.ZodType>(entry: T) =>
  z.array(entry).max(ENTRIES_MAX, 'too many entries');

const held = (options: { readonly min: number; readonly max: number; readonly absent: number }) =>
  z
    .int()
    .nullish()
    .transform((value) => Math.min(Math.max(options.min, value ?? options.absent), options.max));

/** `POST /fetch`. */
export const FetchBody = z.object({
  entries: entriesOf(
    z.object({
      queue: z.string(),
      partition: PartitionName,
      offset: z.int().min(0).describe('The first one to read.'),
      maxBytes: held({ min: 1, max: ENTRY_BYTES_MAX, absent: ENTRY_BYTES_DEFAULT }).describe(
        'Default 1 MiB, at most 8 MiB; the first record comes in any case.',
      ),
    }),
  ),
  maxWaitMs: held({ min: 0, max: WAIT_MS_MAX, absent: 0 }).describe(
    'How long to wait for `minBytes`. Default 0, at most 30000.',
  ),
  minBytes: held({ min: 1, max: Number.MAX_SAFE_INTEGER, absent: 1 }).describe(
    'Over all entries. Default 1.',
  ),
});

/** `POST /fetch/offsets`: a time in milliseconds since the epoch or as ISO text. */
export const OffsetsBody = z.object({
  entries: entriesOf(
    z.object({
      queue: z.string(),
      partition: PartitionName,
      timestamp: z
        .union([z.int().min(0), z.string()])
        .describe('ISO 8601, or milliseconds since the epoch.'),
    }),
  ),
});

/** `POST /partitions/changed`. */
export const ChangedBody = z.object({
  entries: entriesOf(
    z.object({
      queue: z.string(),
      since: z.string().nullish().describe('ISO 8601; absent: all partitions.'),
      after: z.string().nullish().describe('`next` of the page before.'),
      limit: held({ min: 1, max: PAGE_MAX, absent: PAGE_MAX }).describe(
        'Default and at most 1000.',
      ),
    }),
  ),
});

const ReadError = z.enum(['UNKNOWN_TOPIC_OR_PARTITION', 'OFFSET_OUT_OF_RANGE']);

/** Records of each entry. */
export const FetchAnswer = z.object({
  entries: z.array(
    z.object({
      queue: z.string(),
      partition: z.string(),
      records: z.array(
        z.object({
          offset: Offset,
          transactionId: z.string(),
          payload: Payload,
          ts: Microseconds,
        }),
      ),
      highWatermark: Count.describe('The offset that the next message gets.'),
      logStartOffset: Count.describe('The first offset that is still there.'),
      error: ReadError.optional(),
    }),
  ),
});

/** The first offset at or after each entry's time; null when there is none. */
export const OffsetsAnswer = z.object({
  entries: z.array(
    z.object({
      queue: z.string(),
      partition: z.string(),
      offset: Count.nullable(),
      ts: Microseconds.nullable(),
      highWatermark: Count,
      logStartOffset: Count,
      error: ReadError.optional(),
    }),
  ),
});

/** A page of partitions of each entry's queue, or why there is none. */
export const ChangedAnswer = z.object({
  safeTime: Microseconds.describe('Everything appended up to here was looked at.'),
  safeTimeDegraded: z.literal(false),
  entries: z.array(
    z.union([
      z.object({
        queue: z.string(),
        partitions: z.array(
          z.object({
            id: PartitionId,
            name: z.string(),
            lastOffset: z.int().min(-1),
            logStart: Count,
            lastWriteAt: Microseconds.nullable(),
          }),
        ),
        next: z.string().nullable().describe('`after` of the next page; null at the end.'),
      }),
      z.object({
        queue: z.string(),
        error: z.enum(['UNKNOWN_TOPIC_OR_PARTITION', 'BAD_CURSOR']),
      }),
    ]),
  ),
});
