// What clients know: which messages were acknowledged to them, and which they received.

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
