// What clients hold: every batch that a pop delivered, newest last, with what they need to ack it.

import type { Id128, PopCommand } from '@queen-ts/protocol';
import type { ModelClaim } from './pop.ts';
import type { ModelQueues } from './state.ts';

/** One delivered message as its client knows it. */
export interface DeliveredMessage {
  readonly partition: number;
  /** Transaction id: the client's or the message id. */
  readonly txn: string;
}

/** One pop's answer. */
export interface Delivery {
  readonly group: string;
  /** Undefined when the pop took no lease. */
  readonly leaseId: Id128 | undefined;
  readonly messages: readonly DeliveredMessage[];
}

/** All deliveries of a sequence. */
export class Deliveries {
  readonly #all: Delivery[] = [];

  /** Adds what a pop delivered, if anything. */
  add(pop: PopCommand, claims: readonly ModelClaim[], queues: ModelQueues): void {
    if (claims.length === 0) return;
    const messages = claims.flatMap((claim) => {
      const partition = queues.get(claim.queue)!.partitions.get(claim.partition)!.number!;
      return claim.messages.map(({ txn, id }) => ({ partition, txn: txn ?? id }));
    });
    const leaseId = pop.autoAck ? undefined : pop.leaseId;
    this.#all.push({ group: pop.group, leaseId, messages });
  }

  /** The delivery `back` before the newest, around the end; undefined while there is none. */
  recent(back: number): Delivery | undefined {
    if (this.#all.length === 0) return undefined;
    return this.#all[this.#all.length - 1 - (back % this.#all.length)];
  }
}
