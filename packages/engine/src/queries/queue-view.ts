// What a listing of queues shows (data-plane reference §7). Times are microseconds of wall time.

import type { Id128, QueueOptions } from '@queen-ts/protocol';

/** Which queues to list. Empty texts do not filter. */
export interface QueueFilter {
  readonly namespace?: string;
  readonly task?: string;
  /** Part of the queue name, compared by code units. */
  readonly search?: string;
  /** Most rows to return; absent means all. */
  readonly limit?: number;
  /** Rows to skip. */
  readonly offset?: number;
}

/** Message counts of one queue. `pending` excludes leased messages. */
export interface MessageCounts {
  /** Retained messages, acked or not. */
  readonly total: number;
  readonly pending: number;
  readonly processing: number;
  readonly completed: number;
  readonly deadLetter: number;
}

/** One row of the listing. */
export interface QueueView {
  readonly id: Id128;
  readonly name: string;
  readonly options: QueueOptions;
  readonly createdUs: number;
  readonly partitions: number;
  /** Retained append blocks. */
  readonly segments: number;
  readonly messages: MessageCounts;
  /** Size of the retained append blocks in bytes. */
  readonly retainedBytes: number;
}

/** The rows of one listing, newest queue first. */
export type QueueList = readonly QueueView[];
