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

/** A page of rows. */
export interface PageFilter {
  /** Most rows, >= 1. */
  readonly limit: number;
  /** Rows to skip. */
  readonly offset: number;
}

/** Message counts. Whether `pending` includes leased messages is said where they are shown. */
export interface MessageCounts {
  /** Retained messages, acked or not. */
  readonly total: number;
  readonly pending: number;
  readonly processing: number;
  readonly completed: number;
  readonly deadLetter: number;
}

/** One row of the short listing. */
export interface QueueLane {
  readonly id: Id128;
  readonly name: string;
  readonly createdUs: number;
  /** Number of partitions. */
  readonly partitions: number;
}

/** One row of the listing. */
export interface QueueView extends QueueLane {
  readonly options: QueueOptions;
  /** Retained append blocks. */
  readonly segments: number;
  /** `pending` excludes what is leased. */
  readonly messages: MessageCounts;
  /** Size of the retained append blocks in bytes. */
  readonly retainedBytes: number;
}

/** The rows of one listing, newest queue first. */
export type QueueList = readonly QueueView[];
