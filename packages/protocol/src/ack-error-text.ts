// What a failed ack item says. Clients and test suites look for words in these texts.

import { ACK_ERROR } from './outcomes.ts';

const TEXTS: Readonly<Record<number, string>> = {
  [ACK_ERROR.UNKNOWN_PARTITION]:
    'unknown partition: send the partitionId of the message as it was popped',
  [ACK_ERROR.INVALID_LEASE]: 'invalid or expired lease: the messages may have been delivered again',
  [ACK_ERROR.UNRESOLVABLE]:
    'unresolvable transactionId: no such message is waiting for this group in the partition, ' +
    'or it is already committed',
  [ACK_ERROR.UNKNOWN_STATUS]: 'unknown status: send "completed", "failed", "retry" or "dlq"',
  [ACK_ERROR.TOO_MUCH]:
    'too much for one ack: nothing was settled for this message and it may be delivered again; ' +
    'send fewer items at a time',
};

/** The text of an {@link ACK_ERROR} other than NONE. */
export function ackErrorText(error: number): string {
  return TEXTS[error] ?? `error ${error}`;
}
