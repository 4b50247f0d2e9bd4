// The listing of dead letters (data-plane reference §8.1).

import { formatTimestampUs, formatUuid } from '@queen-ts/base';
import type { Id128 } from '../commands.ts';
import { partitionIdText } from '../partition-id.ts';
import type { PayloadOpener } from '../sealing.ts';
import { commaSeparated } from './piece.ts';
import type { Piece } from './piece.ts';
import { openPayload, payloadJson } from './stored-message.ts';

/** One dead letter. `payload` is lent, and sealed when `isEncrypted`. */
export interface DeadLetterRow {
  readonly id: Id128;
  readonly queue: string;
  readonly partition: string;
  readonly partitionNumber: number;
  readonly group: string;
  readonly offset: number;
  readonly messageId: Id128;
  readonly transactionId: string;
  readonly payload: Uint8Array;
  readonly isEncrypted: boolean;
  /** True when the client gave no transaction id: it is the message id. */
  readonly isMinted: boolean;
  readonly error: string;
  readonly retryCount: number;
  readonly failedUs: number;
}

/**
 * Renders a page. `limit` and `offset` are shown as they are. Throws as {@link PayloadOpener.open}
 * does.
 */
export function* renderDeadLetters(
  page: {
    readonly deadLetters: readonly DeadLetterRow[];
    /** All matches, on this page or not. */
    readonly total: number;
    readonly limit: number;
    readonly offset: number;
  },
  opener: PayloadOpener,
): Generator<Piece> {
  const { deadLetters, total, limit, offset } = page;
  yield '{"messages":[';
  yield* commaSeparated(deadLetters, (row) => renderRow(row, opener));
  yield `],"total":${total},"pagination":${JSON.stringify({ limit, offset })}}`;
}

/** The payload of a dead letter as it was pushed. Throws as {@link PayloadOpener.open} does. */
export function openDeadLetter(row: DeadLetterRow, opener: PayloadOpener): Uint8Array {
  return openPayload({ ...row, id: formatUuid(row.messageId) }, row, opener);
}

function* renderRow(row: DeadLetterRow, opener: PayloadOpener): Generator<Piece> {
  const payload = payloadJson(openDeadLetter(row, opener));
  const failedAt = formatTimestampUs(row.failedUs);
  const head = {
    id: formatUuid(row.id),
    queue: row.queue,
    partition: row.partition,
    partitionId: partitionIdText(row.partitionNumber),
    createdAt: failedAt,
    consumerGroup: row.group,
    offset: row.offset,
    messageId: formatUuid(row.messageId),
    transactionId: row.transactionId,
  };
  const tail = { errorMessage: row.error, retryCount: row.retryCount, failedAt };
  yield `${JSON.stringify(head).slice(0, -1)},"data":`;
  yield payload;
  yield ',"payload":';
  yield payload;
  yield `,${JSON.stringify(tail).slice(1)}`;
}
