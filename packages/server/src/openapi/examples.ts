// Ids, times and objects that examples share.

import { CONFIGURED_QUEUE_DEFAULTS, partitionIdText, showQueueOptions } from '@queen-ts/protocol';

/** Ids. */
export const MESSAGE_ID = '01936f5e-8c2a-7b1d-9f00-3a5c7e912d01';
export const LEASE_ID = '01936f5e-91b7-7c44-8e21-5d0f6a3b8c02';
export const QUEUE_ID = '01936f5d-0a11-7f3e-b2c4-9e8d7c6b5a03';
export const DEAD_LETTER_ID = '01936f60-4d52-7aa9-a1b3-c5d7e9f10204';
export const PARTITION_ID = partitionIdText(4);

/** One instant in both precisions. */
export const MICROSECONDS = '2026-10-02T09:14:03.512408Z';
export const MILLISECONDS = '2026-10-02T09:15:03.512Z';

/** Options of a queue as answers show them. */
export const QUEUE_OPTIONS = showQueueOptions(CONFIGURED_QUEUE_DEFAULTS);

/** Counts of messages. */
export const COUNTS = { total: 12, pending: 4, processing: 1, completed: 7, deadLetter: 0 };
