// What keeps a transaction from committing (reference §5.3), decided on a copy of the model.

import { ACK_ERROR, ACK_STATUS, PUSH_STATUS } from '@queen-ts/protocol';
import type { RollbackReason } from '@queen-ts/protocol';
import { modelAck } from './ack.ts';
import { OVERSIZED } from './operations.ts';
import type { PlainTransaction } from './plain-commands.ts';
import { modelPush } from './push.ts';
import type { ModelQueues } from './state.ts';

/** Reasons for which the bundle may, and must, roll back. */
export interface Obstacles {
  readonly possible: readonly RollbackReason[];
  readonly certain: readonly RollbackReason[];
}

/** Tries the transaction on a copy. */
export function transactionObstacles(
  queues: ModelQueues,
  { acks, push }: PlainTransaction,
  nowUs: number,
): Obstacles {
  const copy = structuredClone(queues);
  // The repeat of an ack that settled its lease is no ack inside a transaction.
  for (const queue of copy.values()) {
    for (const partition of queue.partitions.values()) {
      for (const cursor of partition.cursors.values()) cursor.settled = [undefined];
    }
  }
  const possible = new Set<RollbackReason>();
  const certain = new Set<RollbackReason>();
  for (const ack of acks) {
    modelAck(copy, ack, nowUs).forEach((verdict, i) => {
      const { lease, status } = ack.items[i]!;
      // Whether a live lease «holds» what it completed before is open.
      const isRepeat =
        lease !== null && status === ACK_STATUS.COMPLETED && verdict.noops[0] === true;
      const mayFail = isRepeat || verdict.errors.some((error) => error !== ACK_ERROR.NONE);
      if (mayFail) possible.add('rejected_ack');
      if (!verdict.errors.includes(ACK_ERROR.NONE)) certain.add('rejected_ack');
    });
  }
  if (push === undefined) return { possible: [...possible], certain: [...certain] };
  const observed = push.items.map(() => ({ status: PUSH_STATUS.QUEUED, offset: 0, id: '' }));
  const choices = { nowUs, observed, refusedFromBytes: OVERSIZED };
  const firsts = push.items.filter(({ queue, partition, txn }, i) => {
    const same = push.items.findIndex(
      (it) => it.queue === queue && it.partition === partition && it.txn === txn,
    );
    return txn === null || same === i;
  });
  const verdicts = modelPush(copy, { ...push, items: firsts }, choices);
  if (verdicts.some(({ status }) => status === PUSH_STATUS.ERROR)) {
    possible.add('too_large');
    certain.add('too_large');
  }
  if (verdicts.some(({ status }) => status === PUSH_STATUS.DUPLICATE)) {
    possible.add('duplicate');
    certain.add('duplicate');
  }
  if (mayRemember(queues, push)) possible.add('duplicate');
  return { possible: [...possible], certain: [...certain] };
}

/** True when the engine is free to still know an id of the push. */
function mayRemember(queues: ModelQueues, push: NonNullable<PlainTransaction['push']>): boolean {
  return push.items.some(({ queue, partition, txn }) => {
    const found = queues.get(queue)?.partitions.get(partition);
    return found?.messages.some(
      (it) => txn !== null && it.txn === txn && (it.mayBeForgotten || it.offset < found.logStart),
    );
  });
}
