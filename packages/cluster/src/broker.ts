// The broker as the HTTP edge sees it: commands in, outcomes out, once what they depend on is
// durable on a quorum. Knows nothing of HTTP.

import type {
  Id128,
  Outcome,
  PayloadReader,
  PopCommand,
  PopOutcome,
  PushCommand,
  RequestId,
} from '@queen-ts/protocol';
import type {
  AckCommand,
  AdminCommand,
  TransactionCommand,
  ConfigureCommand,
  DeleteQueueCommand,
  ExtendCommand,
} from '@queen-ts/protocol';
import type { EngineView, Read } from '@queen-ts/engine';
import type { AppendMark, WaitOptions } from './append-watch.ts';
import type { CheckpointStatus } from './checkpoint-job.ts';
import type { LogUpkeepCounters } from './log-upkeep/log-upkeep.ts';

/** Commands that a client may send, other than pops. */
export type WriteCommand =
  | PushCommand
  | AckCommand
  | TransactionCommand
  | ExtendCommand
  | ConfigureCommand
  | DeleteQueueCommand
  | AdminCommand;

/** How long a request may take. */
export interface RequestOptions {
  /** Monotonic microseconds after which the answer is a `timeout` error. */
  readonly deadlineUs: number;
  /**
   * Names the request over all its attempts: sent again under the same id it gets the first outcome,
   * also from another leader. Absent when it is never sent again.
   */
  readonly requestId?: RequestId | undefined;
}

/** How fresh the state must be that a read sees. */
export interface ReadOptions extends RequestOptions {
  /**
   * `node`: what this node has applied; any node answers. `leader`: every write that was answered
   * before the call; only a leader answers, once it has confirmed that it still is one. Either way
   * everything that the read has seen is committed when its promise resolves.
   */
  readonly from: 'node' | 'leader';
}

/** The part of an AbortSignal that waiting needs: thousands wait in a node, and those are heavy. */
export interface CancelSignal {
  readonly aborted: boolean;
  /** Calls `listener` once, when it aborts. A signal may take one listener at a time only. */
  addEventListener(event: 'abort', listener: () => void, options?: { readonly once: true }): void;
  removeEventListener(event: 'abort', listener: () => void): void;
}

/** How a pop waits. */
export interface PopOptions extends RequestOptions {
  /** Whether an empty pop parks until something becomes claimable or the deadline passes. */
  readonly wait: boolean;
  /** Aborts when the client is gone; what the pop had just claimed is given back. */
  readonly signal: CancelSignal;
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
  readonly checkpoints: CheckpointStatus;
  /** What happened to the log beside appending. */
  readonly log: LogUpkeepCounters;
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
  /**
   * Reads the state in slices, beside other work. Payloads in the result are lent as PayloadReader
   * says. Rejects also with `retry` when the leader changed meanwhile.
   */
  read<T>(read: (view: EngineView) => Read<T>, options: ReadOptions): Promise<T>;
  /**
   * Resolves with true when one of the partitions has got messages behind its mark: read again to
   * see. Resolves with false when nothing came and nothing will: the time is over, the signal aborted
   * or the node stops. Rejects with `overloaded` when too many wait.
   */
  waitForAppends(marks: readonly AppendMark[], options: WaitOptions): Promise<boolean>;
  /** Whether a queue encrypts its messages, as far as this node has heard; false when there is none. */
  encrypts(queue: string): boolean;
  /** Payload bytes of what this pop delivered, for as long as it is rendered. */
  payloadsOf(outcome: PopOutcome): PayloadReader;
  /** Payload bytes of messages that a read has shown. */
  readonly payloads: PayloadReader;
  /** Key of the cluster's transaction-id hash: four words, fixed for its lifetime. */
  readonly hashKey: Uint32Array;
  status(): BrokerStatus;
  /** Answers what is queued and parked, then closes the log. Idempotent. */
  stop(): Promise<void>;
}
