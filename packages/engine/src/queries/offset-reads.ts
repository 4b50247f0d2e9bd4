// Reads by offset, without cursor and lease (reference §11): what lies where in a partition's log.

import { encodeUtf8 } from '@queen-ts/base';
import type { BlockSpan } from '@queen-ts/protocol';
import { MESSAGE_OVERHEAD_BYTES, takeSpans } from '../plan/spans.ts';
import type { PartitionName } from './positions.ts';
import { partitionRow } from './view.ts';
import type { EngineView, Read } from './view.ts';

/** Most records that one entry of a fetch returns. */
const FETCH_RECORDS_MAX = 10_000;

/** What one entry of a fetch asks for. */
export interface FetchEntry extends PartitionName {
  /** First offset, >= 0. */
  readonly offset: number;
  /** Size of the records to return in bytes; the first one comes whatever its size. */
  readonly maxBytes: number;
}

/** Bounds of a partition's log. */
export interface LogBounds {
  /** Wire number; 0 when the partition was never written. */
  readonly number: number;
  /** Offset of the next message. */
  readonly highWatermark: number;
  /** First retained offset. */
  readonly logStartOffset: number;
}

/** Why an entry has no records. */
export type FetchError = 'UNKNOWN_TOPIC_OR_PARTITION' | 'OFFSET_OUT_OF_RANGE';

/** Records of one entry; their spans stay readable while they are retained. */
export interface FetchedEntry extends LogBounds, PartitionName {
  readonly spans: readonly BlockSpan[];
  /** What the records count for in an answer, in bytes. */
  readonly sizeBytes: number;
  /** What is stored of them, in bytes. */
  readonly storedBytes: number;
  readonly error: FetchError | undefined;
}

/**
 * Reads records from the given offsets on. `bytesMax` bounds the sum over all entries: those beyond
 * it get their bounds and no records.
 */
export function* readRecords(
  view: EngineView,
  entries: readonly FetchEntry[],
  bytesMax: number,
): Read<readonly FetchedEntry[]> {
  const fetched: FetchedEntry[] = [];
  let bytesLeft = bytesMax;
  for (const entry of entries) {
    const result = fetchOne(view, entry, bytesLeft);
    bytesLeft -= result.sizeBytes;
    fetched.push(result);
    // Large blocks are opened to see how much of them fits.
    if (view.spend(32 + result.spans.length * 8)) yield;
  }
  return fetched;
}

function fetchOne(view: EngineView, entry: FetchEntry, bytesLeft: number): FetchedEntry {
  const { queue, partition, offset } = entry;
  const found = boundsOf(view, entry);
  if (found === undefined) {
    return { queue, partition, ...NOWHERE, ...NOTHING, error: 'UNKNOWN_TOPIC_OR_PARTITION' };
  }
  const { row, bounds } = found;
  if (offset < bounds.logStartOffset || offset > bounds.highWatermark) {
    // A partition that was never written has nothing to be out of range of.
    const error = row === 0 ? undefined : 'OFFSET_OUT_OF_RANGE';
    return { queue, partition, ...bounds, ...NOTHING, error };
  }
  const toExclusive = Math.min(bounds.highWatermark, offset + FETCH_RECORDS_MAX);
  const taken =
    bytesLeft > 0 && offset < toExclusive
      ? takeSpans(
          view.state,
          // Readers say how many bytes of records they want, whatever these are spread over.
          { row, from: offset, toExclusive, blockOverheadBytes: 0 },
          Math.min(entry.maxBytes, bytesLeft),
        )
      : NOTHING;
  const { spans, sizeBytes } = taken;
  const records = spans.reduce((sum, { count }) => sum + count, 0);
  const storedBytes = sizeBytes - records * MESSAGE_OVERHEAD_BYTES;
  return { queue, partition, ...bounds, spans, sizeBytes, storedBytes, error: undefined };
}

const NOWHERE: LogBounds = { number: 0, highWatermark: 0, logStartOffset: 0 };
const NOTHING = { spans: [] as readonly BlockSpan[], sizeBytes: 0, storedBytes: 0 };

/** Where an append lies in time. */
export interface OffsetAtTime extends LogBounds, PartitionName {
  /** First offset of the first append at or after the time; undefined when there is none. */
  readonly offset: number | undefined;
  /** Time of that append in microseconds. */
  readonly atUs: number;
  readonly error: FetchError | undefined;
}

/** Finds the first append at or after a time, partition by partition. */
export function* readOffsetsAtTime(
  view: EngineView,
  entries: readonly (PartitionName & { readonly fromUs: number })[],
): Read<readonly OffsetAtTime[]> {
  const { blocks } = view.state;
  const offsets: OffsetAtTime[] = [];
  for (const { queue, partition, fromUs } of entries) {
    const found = boundsOf(view, { queue, partition });
    const { row = 0, bounds = NOWHERE } = found ?? {};
    const since = row === 0 ? undefined : blocks.firstSince(row, fromUs);
    offsets.push({
      queue,
      partition,
      ...bounds,
      offset: since?.baseOffset,
      atUs: since?.createdUs ?? 0,
      error: found === undefined ? 'UNKNOWN_TOPIC_OR_PARTITION' : undefined,
    });
    if (view.spend(16)) yield;
  }
  return offsets;
}

/** Offset of the next message of a partition by its number; 0 when there is no such partition. */
export function highWatermark(view: EngineView, partition: number): number {
  const { partitions } = view.state;
  const row = partitions.numbers.get(partition);
  return row === 0 ? 0 : partitions.tail.get(row);
}

/** A number that grows with every partition that is created. */
export function partitionsCreated(view: EngineView): number {
  return view.state.nextPartition;
}

/** The log of a partition; row 0 when it was never written. Undefined when there is no such queue. */
function boundsOf(
  view: EngineView,
  at: PartitionName,
): { readonly row: number; readonly bounds: LogBounds } | undefined {
  const { queuesByName, partitions } = view.state;
  const queue = queuesByName.get(at.queue);
  if (queue === undefined) return undefined;
  const row = at.partition.isWellFormed() ? partitionRow(view, queue, encodeUtf8(at.partition)) : 0;
  if (row === 0) return { row, bounds: NOWHERE };
  return {
    row,
    bounds: {
      number: partitions.number.get(row),
      highWatermark: partitions.tail.get(row),
      logStartOffset: partitions.logStart.get(row),
    },
  };
}
