// Turns operations into commands: reads their small numbers against what clients hold and know.

import { ACK_STATUS, NO_PARTITION } from '@queen-ts/protocol';
import type { Id128, PopCommand, PopScope, Subscription } from '@queen-ts/protocol';
import type { Deliveries, DeliveredMessage, Delivery } from './deliveries.ts';
import { GROUPS, labelsOf, PARTITIONS, QUEUES } from './operations.ts';
import type { AckPart, Operation, PushPart } from './operations.ts';
import type {
  PlainAck,
  PlainAckItem,
  PlainCommand,
  PlainPush,
  PlainTransaction,
} from './plain-commands.ts';
import { SECOND_US } from './state.ts';
import type { ModelQueues } from './state.ts';

type CommandOperation = Exclude<
  Operation,
  {
    readonly op:
      | 'wait'
      | 'waitForNext'
      | 'failOver'
      | 'housekeep'
      | 'maintenance'
      | 'retire'
      | 'checkpoint'
      | 'seek'
      | 'deleteGroup'
      | 'subscribe'
      | 'replay'
      | 'purge'
      | 'deleteDeadLetters'
      | 'find';
  }
>;

type EachOperation = Pick<
  Extract<Operation, { readonly op: 'ackEach' }>,
  'delivery' | 'fenced' | 'statuses'
>;

const STATUSES = {
  completed: ACK_STATUS.COMPLETED,
  failed: ACK_STATUS.FAILED,
  retry: ACK_STATUS.RETRY,
  dlq: ACK_STATUS.DLQ,
  unknown: ACK_STATUS.UNKNOWN,
} as const;

/** A partition number that no sequence reaches. */
const MISSING_PARTITION = 4_000_000;

/** Mints ids and payloads that never repeat within a sequence. */
export class Translator {
  readonly #queues: ModelQueues;
  readonly #deliveries: Deliveries;
  #minted = 0;
  #payloads = 0;

  constructor(queues: ModelQueues, deliveries: Deliveries) {
    this.#queues = queues;
    this.#deliveries = deliveries;
  }

  /** The command that the operation stands for; undefined when there is nothing it could mean. */
  command(operation: CommandOperation, nowUs: number): PlainCommand | undefined {
    switch (operation.op) {
      case 'push':
        return this.#push(operation.items, operation.sub);
      case 'pop':
        return this.#pop(operation, nowUs);
      case 'ack':
        return this.#ack(operation);
      case 'ackAll':
        return this.#ackAll(operation);
      case 'ackEach':
        return this.#ackEach(operation);
      case 'transaction':
        return this.#transaction(operation);
      case 'extend': {
        const { seconds } = operation;
        const leaseId = this.#deliveries.recent(operation.delivery)?.leaseId;
        return { kind: 'extend', leaseId, seconds };
      }
      case 'release': {
        const leaseId = this.#deliveries.recent(operation.delivery)?.leaseId;
        return leaseId === undefined ? undefined : { kind: 'release', leaseId };
      }
      case 'configure': {
        const { mode, options } = operation;
        const queue = QUEUES[operation.queue]!;
        return { kind: 'configure', queue, mode, options, queueId: this.mint(1) };
      }
      case 'delete':
        return { kind: 'deleteQueue', queue: QUEUES[operation.queue]! };
    }
  }

  /** Reserves ids: the returned one and those that follow it in the low word. */
  mint(count: number): Id128 {
    const low = this.#minted + 1;
    this.#minted += count;
    return [0x01a0_0000, 0x0000_7000, 0x8000_0000, low];
  }

  #push(parts: readonly PushPart[], hasSub: boolean): PlainPush {
    const items = parts.map(({ queue, partition, txn, padding }) => {
      this.#payloads += 1;
      return {
        queue: QUEUES[queue]!,
        partition: PARTITIONS[partition]!,
        txn: txn === null ? null : `t${txn}`,
        payload: `{"n": ${this.#payloads}, "ü":"${'x'.repeat(padding)}"}`,
      };
    });
    const producerSub = hasSub ? 'producer-1' : null;
    return { kind: 'push', items, idBase: this.mint(items.length), producerSub };
  }

  #transaction(
    operation: Extract<Operation, { readonly op: 'transaction' }>,
  ): PlainTransaction | undefined {
    const first = this.#ackEach(operation);
    const { other, items } = operation;
    const second = other === null ? undefined : this.#ackEach({ ...operation, delivery: other });
    const acks = first === undefined ? [] : [first];
    if (second !== undefined && second.group !== first?.group) acks.push(second);
    const push = items.length === 0 ? undefined : this.#push(items, false);
    if (acks.length === 0 && push === undefined) return undefined;
    return { kind: 'transaction', transactionId: this.mint(1), acks, push };
  }

  #pop(operation: Extract<Operation, { readonly op: 'pop' }>, nowUs: number): PopCommand {
    const group = GROUPS[operation.group]!;
    const { batch, partitions, autoAck, leaseSeconds } = operation;
    const scope = scopeOf(operation);
    // The edge refuses conflation in queue mode and together with autoAck.
    const mayConflate = operation.group !== 0 && !autoAck;
    const conflation = mayConflate ? (operation.conflation ?? undefined) : undefined;
    const subscription = subscriptionOf(operation, nowUs);
    const leaseId = this.mint(1);
    return {
      kind: 'pop',
      scope,
      group,
      leaseId,
      batch,
      partitions,
      autoAck,
      leaseSeconds,
      subscription,
      conflation,
    };
  }

  #ack(operation: Extract<Operation, { readonly op: 'ack' }>): PlainAck | undefined {
    const delivery = this.#deliveries.recent(operation.delivery);
    if (delivery === undefined) return undefined;
    const group = operation.group === null ? delivery.group : GROUPS[operation.group]!;
    const items: PlainAckItem[] = [];
    for (const part of operation.items) {
      const item = this.#ackItem(delivery, part);
      if (!contradicts(items, item)) items.push(item);
    }
    return { kind: 'ack', group, items };
  }

  #ackItem(delivery: Delivery, part: AckPart): PlainAckItem {
    const message = delivery.messages[part.message % delivery.messages.length]!;
    return {
      partition: this.#partitionOf(delivery, message, part),
      lease: this.#leaseOf(delivery, part),
      txn: this.#txnOf(message, part),
      status: STATUSES[part.status],
      error: part.error,
    };
  }

  #partitionOf(delivery: Delivery, message: DeliveredMessage, part: AckPart): number {
    switch (part.where) {
      case 'own':
        return message.partition;
      case 'other':
        return delivery.messages[(part.message + 1) % delivery.messages.length]!.partition;
      case 'missing':
        return MISSING_PARTITION;
      case 'unreadable':
        return NO_PARTITION;
    }
  }

  #leaseOf(delivery: Delivery, part: AckPart): PlainAckItem['lease'] {
    switch (part.fence) {
      case 'own':
        return delivery.leaseId ?? null;
      case 'none':
        return null;
      case 'other':
        return this.#deliveries.recent(part.message + 1)?.leaseId ?? [1, 1, 1, 1];
      case 'malformed':
        return 'malformed';
    }
  }

  /** `elsewhere` names any message of the partition, delivered or not. */
  #txnOf(message: DeliveredMessage, part: AckPart): string {
    switch (part.id) {
      case 'own':
        return message.txn;
      case 'unknown':
        return 'unheard of';
      case 'elsewhere': {
        const partitions = [...this.#queues.values()].flatMap((it) => [...it.partitions.values()]);
        const messages = partitions.find((it) => it.number === message.partition)?.messages ?? [];
        const other = messages[part.message % Math.max(1, messages.length)];
        return other === undefined ? message.txn : (other.txn ?? other.id);
      }
    }
  }

  #ackAll(operation: Extract<Operation, { readonly op: 'ackAll' }>): PlainAck | undefined {
    const delivery = this.#deliveries.recent(operation.delivery);
    if (delivery === undefined) return undefined;
    const { group, messages } = delivery;
    const named = messages.slice(0, Math.max(1, messages.length - operation.without));
    const status = STATUSES[operation.status];
    const { fenced } = operation;
    const items = named.map((message) => itemOf(delivery, message, { status, fenced }));
    return { kind: 'ack', group, items };
  }

  #ackEach(operation: EachOperation): PlainAck | undefined {
    const delivery = this.#deliveries.recent(operation.delivery);
    if (delivery === undefined) return undefined;
    const { fenced } = operation;
    const items: PlainAckItem[] = [];
    delivery.messages.forEach((message, i) => {
      const said = operation.statuses[i % operation.statuses.length] ?? null;
      if (said === null) return;
      const item = itemOf(delivery, message, { status: STATUSES[said], fenced });
      if (!contradicts(items, item)) items.push(item);
    });
    return items.length === 0 ? undefined : { kind: 'ack', group: delivery.group, items };
  }
}

function itemOf(
  delivery: Delivery,
  message: DeliveredMessage,
  says: { readonly status: PlainAckItem['status']; readonly fenced: boolean },
): PlainAckItem {
  const lease = says.fenced ? (delivery.leaseId ?? null) : null;
  return {
    partition: message.partition,
    lease,
    txn: message.txn,
    status: says.status,
    error: null,
  };
}

function scopeOf(operation: Extract<Operation, { readonly op: 'pop' }>): PopScope {
  const queue = QUEUES[operation.queue]!;
  switch (operation.route) {
    case 'queue':
      return { kind: 'queue', queue };
    case 'partition':
      return { kind: 'partition', queue, partition: PARTITIONS[operation.partition]! };
    case 'labels':
      return { kind: 'labels', ...labelsOf(operation.namespace, operation.task) };
  }
}

function subscriptionOf(
  { subscription, route }: Extract<Operation, { readonly op: 'pop' }>,
  nowUs: number,
): Subscription {
  if (typeof subscription === 'string') return { mode: subscription };
  // What a future instant means to a group that is not registered is open.
  const seconds = route === 'partition' ? Math.min(subscription.from, 0) : subscription.from;
  return { mode: 'from', fromUs: nowUs + seconds * SECOND_US };
}

/** Saying both completed and something else of one message is open. */
function contradicts(items: readonly PlainAckItem[], item: PlainAckItem): boolean {
  const isCompleted = item.status === ACK_STATUS.COMPLETED;
  return items.some(
    ({ partition, txn, status }) =>
      partition === item.partition &&
      txn === item.txn &&
      (status === ACK_STATUS.COMPLETED) !== isCompleted,
  );
}
