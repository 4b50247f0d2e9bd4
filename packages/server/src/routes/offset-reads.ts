// Reads by offset, without cursor and lease, from the state that this node has applied (data-plane
// reference §11). A fetch may wait until there is something.

import { formatTimestampUs, parseTimestampUs } from '@queen-ts/base';
import {
  readChangedPartitions,
  readOffsetsAtTime,
  readRecords,
  safeTimeUs,
} from '@queen-ts/engine';
import type {
  ChangedFilter,
  ChangedPage,
  ChangedPartition,
  EngineView,
  FetchedEntry,
  OffsetAtTime,
  Read,
} from '@queen-ts/engine';
import { BrokerError, partitionIdText, renderFetch } from '@queen-ts/protocol';
import type { z } from 'zod';
import type { Edge } from '../edge.ts';
import { bodyHandler, readState, takeBody } from '../http/control.ts';
import { clientSignal } from '../http/delivery.ts';
import type { Exchange } from '../http/exchange.ts';
import { readJsonBody } from '../http/json-body.ts';
import { arrayPieces, objectPieces, pacedJson, Pieces } from '../http/paced-json.ts';
import { ChangedBody, FetchBody, OffsetsBody } from '../schemas/offset-reads.ts';
import { readCursor, writeCursor } from './page-cursor.ts';
import type { Route } from './route.ts';

/** Size of one fetch over all its entries; those beyond it come with the next call. */
const FETCH_BYTES_MAX = 32 * 1024 * 1024;

/** Rows of one call for changed partitions over all its entries. */
const CHANGED_ROWS_MAX = 20_000;

/** The routes. */
export function offsetReadRoutes(edge: Edge): readonly Route[] {
  return [
    {
      method: 'POST',
      path: '/api/v1/fetch',
      handler: (exchange) => fetchRecords(edge, exchange),
    },
    {
      method: 'POST',
      path: '/api/v1/fetch/offsets',
      handler: bodyHandler(edge, (_exchange, body) => findOffsets(edge, body)),
    },
    {
      method: 'POST',
      path: '/api/v1/partitions/changed',
      handler: bodyHandler(edge, (_exchange, body) => listChanged(edge, body)),
    },
  ];
}

async function fetchRecords(edge: Edge, exchange: Exchange): Promise<Response> {
  const { entries, maxWaitMs, minBytes } = await takeBody(edge, exchange, (body) =>
    readJsonBody(FetchBody, body),
  );
  const { broker, clock, encryption } = edge;
  const source = { payloads: broker.payloads, opener: encryption.opener };
  const outgoing = exchange.env?.outgoing;
  const signal = outgoing === undefined ? new AbortController().signal : clientSignal(outgoing);
  const endUs = clock.monotonicUs() + maxWaitMs * 1000;
  // More than the entries ask for never comes.
  const askedBytes = entries.reduce((sum, { maxBytes }) => sum + maxBytes, 0);
  const wantedBytes = Math.min(minBytes, askedBytes, FETCH_BYTES_MAX);
  for (;;) {
    const fetched = await readState(edge, (view) => readRecords(view, entries, FETCH_BYTES_MAX));
    const waitUs = endUs - clock.monotonicUs();
    const mayWait = entries.length > 0 && waitUs > 0 && !signal.aborted;
    if (!mayWait || isEnough(fetched, wantedBytes)) {
      return pacedJson(clock, renderFetch(fetched, source));
    }
    const marks = fetched.map(({ number, highWatermark }) => ({
      partition: number,
      highWatermark,
    }));
    const hasMore = await broker.waitForAppends(marks, { waitUs, signal });
    if (!hasMore) return pacedJson(clock, renderFetch(fetched, source));
  }
}

function isEnough(fetched: readonly FetchedEntry[], wantedBytes: number): boolean {
  const storedBytes = fetched.reduce((sum, entry) => sum + entry.storedBytes, 0);
  return storedBytes >= wantedBytes || fetched.some(({ error }) => error !== undefined);
}

async function findOffsets(edge: Edge, body: Uint8Array): Promise<Response> {
  const { entries } = readJsonBody(OffsetsBody, body);
  const asked = entries.map(({ queue, partition, timestamp }) => {
    const fromUs = typeof timestamp === 'number' ? timestamp * 1000 : parseTimestampUs(timestamp);
    if (fromUs === undefined || !Number.isSafeInteger(fromUs)) throw badTime('timestamp');
    return { queue, partition, fromUs };
  });
  const found = await readState(edge, (view) => readOffsetsAtTime(view, asked));
  const rows = new Pieces(arrayPieces(found, offsetRow));
  return pacedJson(edge.clock, objectPieces([['entries', rows]]));
}

function offsetRow(row: OffsetAtTime): unknown {
  const { queue, partition, offset, atUs, highWatermark, logStartOffset, error } = row;
  return {
    queue,
    partition,
    offset: offset ?? null,
    ts: offset === undefined ? null : formatTimestampUs(atUs),
    highWatermark,
    logStartOffset,
    ...(error === undefined ? {} : { error }),
  };
}

type ChangedEntry = z.output<typeof ChangedBody>['entries'][number];

/** One entry of the answer: its page, or why it has none. */
interface ChangedAnswer {
  readonly queue: string;
  readonly page: ChangedPage | undefined;
  readonly error: 'UNKNOWN_TOPIC_OR_PARTITION' | 'BAD_CURSOR' | undefined;
}

async function listChanged(edge: Edge, body: Uint8Array): Promise<Response> {
  const { entries } = readJsonBody(ChangedBody, body);
  const asked = entries.map(changedFilter);
  const { safeUs, answers } = await readState(edge, (view) => readChanged(view, asked));
  return pacedJson(
    edge.clock,
    objectPieces([
      ['safeTime', formatTimestampUs(safeUs)],
      ['safeTimeDegraded', false],
      ['entries', new Pieces(arrayPieces(answers, changedRow))],
    ]),
  );
}

/** What an entry asks for; `after` is undefined when its cursor is none. */
function changedFilter(entry: ChangedEntry): Omit<ChangedFilter, 'after'> & {
  readonly after: number | undefined;
} {
  const { queue, since, after, limit } = entry;
  const isGiven = typeof since === 'string' && since !== '';
  const sinceUs = isGiven ? parseTimestampUs(since) : 0;
  if (sinceUs === undefined) throw badTime('since');
  const isFirst = after === null || after === undefined || after === '';
  return { queue, sinceUs, limit, after: isFirst ? 0 : readCursor(after) };
}

function* readChanged(
  view: EngineView,
  asked: readonly ReturnType<typeof changedFilter>[],
): Read<{ readonly safeUs: number; readonly answers: readonly ChangedAnswer[] }> {
  // Taken first: what is written while this read is suspended may be missing from its pages.
  const safeUs = safeTimeUs(view);
  const answers: ChangedAnswer[] = [];
  let rowsLeft = CHANGED_ROWS_MAX;
  for (const { queue, after, ...filter } of asked) {
    if (after === undefined) {
      answers.push({ queue, page: undefined, error: 'BAD_CURSOR' });
      continue;
    }
    const limit = Math.min(filter.limit, rowsLeft);
    const page = yield* readChangedPartitions(view, { ...filter, queue, after, limit });
    rowsLeft -= page?.partitions.length ?? 0;
    const error = page === undefined ? 'UNKNOWN_TOPIC_OR_PARTITION' : undefined;
    answers.push({ queue, page, error });
  }
  return { safeUs, answers };
}

function changedRow({ queue, page, error }: ChangedAnswer): unknown {
  if (page === undefined) return { queue, error };
  const next = page.next === undefined ? null : writeCursor(page.next);
  return { queue, partitions: page.partitions.map(partitionRow), next };
}

function partitionRow(partition: ChangedPartition): unknown {
  const { number, name, lastOffset, logStart, lastWriteUs } = partition;
  return {
    id: partitionIdText(number),
    name,
    lastOffset,
    logStart,
    lastWriteAt: lastWriteUs === 0 ? null : formatTimestampUs(lastWriteUs),
  };
}

function badTime(member: string): BrokerError {
  return new BrokerError('bad_request', `${member} must be an ISO 8601 time`);
}
