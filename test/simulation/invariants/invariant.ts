// What an invariant is: a property with a name that is told what happens, and speaks up when that
// cannot be. Each implements only the hooks that it needs.

import type { Effect, PopCommand } from '@queen-ts/protocol';
import type { AckOutcome, PopOutcome, PushOutcome } from '@queen-ts/protocol';
import type { CheckpointMeta, Entry, Message } from '@queen-ts/raft';
import type { CommittedLog } from '../facts/committed-log.ts';
import type { Tie } from '../facts/history.ts';
import type { Leaders } from '../facts/leader-facts.ts';
import type { Ledger } from '../facts/ledger.ts';
import type { Memberships } from '../facts/memberships.ts';
import type { Process } from '../nodes/process.ts';
import type { SimNode } from '../nodes/sim-node.ts';

/** What every invariant may look at. */
export interface Facts {
  readonly nodes: readonly SimNode[];
  readonly committed: CommittedLog;
  readonly ledger: Ledger;
  readonly memberships: Memberships;
  /** Messages that were acknowledged, by value; with the queue that they went to. */
  readonly acknowledged: ReadonlyMap<number, string>;
  /** Values that clients received, by queue and group. */
  readonly delivered: ReadonlyMap<string, ReadonlySet<number>>;
  /** Transactions by each value that they push. */
  readonly ties: ReadonlyMap<number, Tie>;
  /** Groups that every message of a queue must reach, by queue. */
  readonly groups: ReadonlyMap<string, readonly string[]>;
  /** When the pop set out that a lease was minted for, by the lease's id as text. */
  readonly askedForLeaseUs: ReadonlyMap<string, number>;
  readonly leaders: Leaders;
  /** Whether every leader could know how the log's time goes on. */
  readonly isLogTimeKnown: boolean;
  /** What clocks of different nodes may have come apart by since the start, in microseconds. */
  readonly clockErrorUs: number;
  /** How late a message of a leader may be handled, in microseconds. */
  readonly latenessMaxUs: number;
  /** The world's time. */
  readonly nowUs: number;
  /** The highest term in which a node was seen leading. */
  readonly newestTerm: number;
}

/** One answered push. */
export interface AnsweredPush {
  readonly queue: string;
  readonly partition: string;
  readonly values: readonly number[];
  readonly outcome: PushOutcome;
}

/** A message that a pop delivered. */
export interface DeliveredMessage {
  readonly partitionNumber: number;
  readonly offset: number;
  readonly value: number;
  /** What an ack names it by. */
  readonly transactionId: string;
}

/** What was committed of a partition when a pop set out. */
export interface PartitionMark {
  readonly partitionNumber: number;
  readonly tail: number;
  /** First offset that the pop's group had not acked. */
  readonly next: number;
}

/** One answered pop. */
export interface AnsweredPop {
  readonly command: PopCommand;
  readonly marks: readonly PartitionMark[];
  readonly messages: readonly DeliveredMessage[];
  readonly outcome: PopOutcome;
}

/** One answered ack; all items are of one claim. */
export interface AnsweredAck {
  readonly group: string;
  readonly partitionNumber: number;
  readonly leaseId: string;
  /** How many leases the cursor had carried when the ack set out. */
  readonly leaseCount: number;
  readonly offsets: readonly number[];
  readonly isCompleted: readonly boolean[];
  readonly outcome: AckOutcome;
}

/** A property of the whole. A hook returns what is wrong, or nothing. */
export interface Invariant {
  readonly name: string;
  /** A node hands a message to the network. */
  sent?(process: Process, message: Message): string | undefined;
  /** A message reaches a running process. */
  received?(message: Message): string | undefined;
  /** Entries became durable on a node. */
  appended?(node: SimNode, entries: readonly Entry[]): string | undefined;
  /** A checkpoint became durable on a node. */
  checkpointed?(node: SimNode, meta: CheckpointMeta): string | undefined;
  /** An entry is seen committed for the first time, in the last entry of `facts.committed`. */
  committed?(entry: Entry): string | undefined;
  /** An effect of it, before the ledger takes it in. */
  effect?(effect: Effect, at: { index: number; nowUs: number }, entry: Entry): string | undefined;
  /** The ledger has taken in all of it. */
  taken?(entry: Entry): string | undefined;
  /** A node has applied an entry that was committed before, or just now. */
  applied?(process: Process, entry: Entry): string | undefined;
  /** A node has applied everything up to its applied index. */
  settled?(process: Process): string | undefined;
  /** A process is about to answer a client. */
  answered?(process: Process): string | undefined;
  pushed?(push: AnsweredPush): string | undefined;
  popped?(pop: AnsweredPop): string | undefined;
  acked?(ack: AnsweredAck): string | undefined;
  /** Faults are over, everything was drained, all nodes agree. */
  finished?(): string | undefined;
}
