// The answers of replaying a dead letter (data-plane reference §8.2).

import { encodeUtf8, formatUuid, readIdWords } from '@queen-ts/base';
import type { ReplayDeadLetterOutcome } from '../admin-outcomes.ts';
import { PUSH_STATUS } from '../outcomes.ts';

/** An answer with its status. */
export interface ReplayAnswer {
  readonly status: 200 | 404 | 409;
  readonly body: Uint8Array;
}

/** Renders a replay that was planned. */
export function renderReplay(outcome: ReplayDeadLetterOutcome): ReplayAnswer {
  const { result, push, queue, partition } = outcome;
  if (result === 'gone' || push === undefined) return REPLAY_GONE;
  const refusal = push.errors?.get(0);
  if (refusal !== undefined) {
    const { code: reason, message: error } = refusal;
    const refused = { success: false, error, reason, dlqRowRemoved: false };
    return { status: 409, body: encodeUtf8(JSON.stringify(refused)) };
  }
  const dlqId = formatUuid(outcome.id);
  const isMoved = result === 'moved';
  const body = {
    success: true,
    result,
    queue,
    partition,
    consumerGroup: outcome.group,
    dlqId,
    originalTransactionId: outcome.originalTransactionId,
    replayedAs: {
      index: 0,
      message_id: formatUuid(readIdWords(push.messageIds, 0)),
      transaction_id: `dlq:${dlqId}`,
      queueName: queue,
      status: push.statuses[0] === PUSH_STATUS.QUEUED ? 'queued' : 'duplicate',
      offset: push.offsets[0],
    },
    dlqRowRemoved: isMoved,
  };
  return { status: 200, body: encodeUtf8(JSON.stringify(body)) };
}

/** The answer when there is no such dead letter, or none any more. */
export const REPLAY_GONE: ReplayAnswer = {
  status: 404,
  body: encodeUtf8(
    JSON.stringify({ success: false, result: 'gone', error: 'Dead letter not found' }),
  ),
};
