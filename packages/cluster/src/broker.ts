// The broker as the HTTP edge sees it: commands in, outcomes out, once what they depend on is
// durable on a quorum. Knows nothing of HTTP.

import type { Id128, Outcome, PayloadReader, PopCommand, PushCommand } from '@queen-ts/protocol';
import type {
  AckCommand,
  AdminCommand,
  ConfigureCommand,
  DeleteQueueCommand,
  ExtendCommand,
} from '@queen-ts/protocol';
import type { QueueFilter, QueueList } from '@queen-ts/engine';

/** Commands that a client may send, other than pops. */
export type WriteCommand =
  PushCommand | AckCommand | ExtendCommand | ConfigureCommand | DeleteQueueCommand | AdminCommand;

/** How long a request may take. */
export interface RequestOptions {
  /** Monotonic microseconds after which the answer is a `timeout` error. */
  readonly deadlineUs: number;
}

/** How a pop waits. */
export interface PopOptions extends RequestOptions {
  /** Whether an empty pop parks until something becomes claimable or the deadline passes. */
  readonly wait: boolean;
  /** Aborts when the client is gone; what the pop had just claimed is given back. */
  readonly signal: AbortSignal;
}

/** What `/health` and the metrics show. */
export interface BrokerStatus {
  readonly nodeId: number;
  readonly role: 'follower' | 'preCandidate' | 'candidate' | 'leader';
  readonly leaderId: number;
  readonly term: number;
  readonly lastIndex: number;
  readonly commitIndex: number;
  readonly appliedIndex: number;
  /** Set once the node stopped for good; the process is about to exit. */
  readonly failure: string | undefined;
  readonly parkedPops: number;
  /** Commands waiting for the next entry. */
  readonly queuedCommands: number;
  readonly queuedBytes: number;
  readonly entriesTotal: number;
  readonly entryBytesTotal: number;
  readonly syncsTotal: number;
  readonly queues: number;
  readonly partitions: number;
  readonly cursors: number;
  readonly deadLetters: number;
}

/**
 * One node's broker. Every promise resolves after the effects that the outcome reports are durable
 * and committed, and rejects with a BrokerError (`overloaded`, `timeout`, `no_leader`,
 * `shutting_down`, `outcome_unknown`, `internal`).
 */
export interface Broker {
  /** Plans a write in arrival order (acks before pops before pushes inside one entry). */
  submit(command: WriteCommand, options: RequestOptions): Promise<Outcome>;
  /** Claims messages, waiting for them if asked to. */
  pop(command: PopCommand, options: PopOptions): Promise<Outcome>;
  /** Gives back a claim whose answer could not be delivered. Never rejects. */
  release(leaseId: Id128): void;
  /** Lists queues from state that is committed when the promise resolves. */
  listQueues(filter: QueueFilter): Promise<QueueList>;
  /** Payload bytes of delivered messages. */
  readonly payloads: PayloadReader;
  /** Key of the cluster's transaction-id hash: four words, fixed for its lifetime. */
  readonly hashKey: Uint32Array;
  status(): BrokerStatus;
  /** Answers what is queued and parked, then closes the log. Idempotent. */
  stop(): Promise<void>;
}
