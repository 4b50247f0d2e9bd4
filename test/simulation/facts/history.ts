// What clients know: which messages were acknowledged to them, and which they received.

/** A push and the ack that may only happen together with it. */
export interface Tie {
  readonly values: readonly number[];
  readonly group: string;
  /** Of the ack. */
  readonly partitionNumber: number;
  /** Offset behind the last acked message. */
  readonly end: number;
}

/** Facts from the clients' side. */
export class History {
  /** Queue by value. */
  readonly acknowledged = new Map<number, string>();
  /** Values by queue and group. */
  readonly delivered = new Map<string, Set<number>>();
  /** Groups that every message of a queue must reach, by queue. */
  readonly groups = new Map<string, readonly string[]>();

  /** World time at which a node took the pop, by the lease id minted for it. */
  readonly askedForLeaseUs = new Map<string, number>();

  /** Transactions by each value that they push. */
  readonly ties = new Map<number, Tie>();

  /** A client asks for a transaction. */
  tie(tie: Tie): void {
    for (const value of tie.values) this.ties.set(value, tie);
  }

  /** A client was told that a message is stored. */
  acknowledge(value: number, queue: string): void {
    this.acknowledged.set(value, queue);
  }

  /** A client received a message. */
  deliver(queue: string, group: string, value: number): void {
    const key = `${queue}/${group}`;
    const values = this.delivered.get(key) ?? new Set();
    this.delivered.set(key, values.add(value));
  }
}
