// What clients of a chaos run know: every request with the time it was sent, the time it was answered
// and what the answer proves. The checkers see nothing else but what the nodes hold in the end.

/**
 * What an answer proves. `refused`: the request certainly had no effect. `unknown`: it may have had
 * one, once, at any time after it was sent.
 */
export type Outcome<T> =
  | { readonly kind: 'ok'; readonly value: T }
  | { readonly kind: 'refused'; readonly reason: string }
  | { readonly kind: 'unknown'; readonly reason: string };

/** When a client waited for an answer: microseconds of one monotonic clock for all clients. */
export interface Interval {
  readonly startUs: number;
  readonly endUs: number;
}

/** One message that was pushed. */
export interface PushRecord extends Interval {
  readonly queue: string;
  readonly partition: string;
  readonly transactionId: string;
  readonly payload: string;
  readonly outcome: Outcome<StoredAt>;
}

/** Where the broker said that a message is. */
export interface StoredAt {
  readonly offset: number;
  readonly messageId: string;
  /** The broker knew the transaction id already. */
  readonly isDuplicate: boolean;
}

/** One pop of one partition or of any of a queue; undefined: the answer was empty. */
export interface PopRecord extends Interval {
  readonly queue: string;
  readonly group: string;
  readonly outcome: Outcome<Delivery | undefined>;
}

/** Messages of one partition under one lease, in the order of the answer. */
export interface Delivery {
  readonly leaseId: string;
  readonly partition: string;
  readonly messages: readonly DeliveredMessage[];
}

/** One message as a client received it. */
export interface DeliveredMessage {
  readonly offset: number;
  readonly transactionId: string;
  readonly payload: string;
}

/** Acknowledgement of the offsets [from, to) of one delivery. */
export interface AckRecord extends Interval {
  readonly queue: string;
  readonly group: string;
  readonly partition: string;
  readonly leaseId: string;
  readonly from: number;
  readonly to: number;
  readonly outcome: Outcome<AckEffect>;
}

/** `applied`: this ack moved the cursor. `none`: the broker rejected it or had applied it before. */
export type AckEffect = 'applied' | 'none';

/** An ack of one message and one push, in one transaction. */
export interface TransactionRecord extends Interval {
  /** Transaction id of the message that is acked. */
  readonly source: string;
  /** Transaction id of the message that is pushed. */
  readonly result: string;
  /** `ok` with false: the broker answered that it applied nothing. */
  readonly outcome: Outcome<boolean>;
}

/** One message as a node holds it. */
export interface HeldMessage {
  readonly offset: number;
  readonly transactionId: string;
  readonly payload: string;
}

/** What one node answers from its own state once the faults are over. */
export interface NodeContents {
  readonly node: string;
  /** All messages in offset order, by {@link partitionKey}. */
  readonly partitions: ReadonlyMap<string, readonly HeldMessage[]>;
}

/** Names a partition across queues. */
export function partitionKey(queue: string, partition: string): string {
  return `${queue}/${partition}`;
}
