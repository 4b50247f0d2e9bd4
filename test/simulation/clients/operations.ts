// The requests that clients make, and what the invariants are told about their answers. Deliveries are
// read as the HTTP edge reads them, through the node that answers.

import { decodeUtf8, formatUuid } from '@queen-ts/base';
import type { Id128 } from '@queen-ts/base';
import type { NodeBroker } from '@queen-ts/cluster';
import { ackCommand, popCommand, pushCommand } from '@queen-ts/engine/testing';
import type { PushItem } from '@queen-ts/engine/testing';
import { BLOCK_FRAME, BlockReader, MINTED_TXN } from '@queen-ts/protocol';
import type { Outcome, PopOutcome, QueueOptionsPatch } from '@queen-ts/protocol';
import { leaseText } from '../facts/ledger.ts';
import { payloadWith, transactionIdOf, valueOf } from '../facts/message-value.ts';
import type { DeliveredMessage, PartitionMark } from '../invariants/invariant.ts';
import type { Cluster } from '../nodes/cluster.ts';
import type { Process } from '../nodes/process.ts';

/** One message to push. */
export interface PushedMessage {
  readonly value: number;
  /** Whether the client names it, so that it can be pushed again. */
  readonly hasOwnId: boolean;
  readonly fillingBytes: number;
}

/** Messages for one partition. */
export interface Push {
  readonly queue: string;
  readonly partition: string;
  readonly messages: readonly PushedMessage[];
}

/** What a pop asks for. */
export interface Pop {
  readonly queue: string;
  readonly partition: string | undefined;
  readonly group: string;
  readonly batch: number;
  readonly leaseSeconds: number;
  readonly autoAck: boolean;
  /** Whether it waits for messages. */
  readonly wait: boolean;
  /** The client leaves: what was claimed for it is given back. */
  readonly signal: AbortSignal;
}

/** Messages of one partition under a lease. */
export interface HeldClaim {
  readonly queue: string;
  readonly group: string;
  readonly partitionNumber: number;
  readonly leaseId: Id128;
  readonly messages: readonly DeliveredMessage[];
}

/** How one message of a claim is settled. */
export interface Settled {
  readonly message: DeliveredMessage;
  readonly status: 'completed' | 'failed' | 'retry' | 'dlq';
}

/** A request ready for a {@link ClientPort}. */
export interface Operation {
  readonly submit: (broker: NodeBroker, deadlineUs: number) => Promise<Outcome>;
  readonly answered: (process: Process, outcome: Outcome) => void;
}

/** A push. */
export function pushOperation(cluster: Cluster, push: Push, idBase: Id128): Operation {
  const { queue, partition, messages } = push;
  const items = itemsOf(push);
  const values = messages.map(({ value }) => value);
  const { suite } = cluster.observer;
  const { trace } = cluster.world;
  return {
    submit: (broker, deadlineUs) => {
      trace.add(
        () =>
          `node ${broker.status().nodeId}: push of ${values.join(' ')} to ${queue}/${partition}`,
      );
      const command = pushCommand(items, { idBase, hashKey: broker.hashKey });
      return broker.submit(command, { deadlineUs });
    },
    answered: (process, outcome) => {
      if (outcome.kind !== 'push') return;
      trace.add(
        () =>
          `node ${process.host.id}: push of ${values.join(' ')} at ${outcome.offsets.join(' ')}`,
      );
      suite.tell('pushed', { queue, partition, values, outcome });
    },
  };
}

/** A pop. */
export function popOperation(cluster: Cluster, pop: Pop, leaseId: Id128): Operation {
  const { queue, partition, group, batch, leaseSeconds, autoAck, wait, signal } = pop;
  const scope = partition === undefined ? { queue } : { queue, partition };
  const fields = { ...scope, group, batch, leaseSeconds, autoAck, partitions: 0 };
  const command = popCommand(fields, leaseId);
  let marks: PartitionMark[] = [];
  return {
    submit: (broker, deadlineUs) => {
      marks = marksOf(cluster, pop);
      cluster.observer.history.askedForLeaseUs.set(leaseText(leaseId), cluster.world.time.nowUs);
      return broker.pop(command, { deadlineUs, wait, signal });
    },
    answered: (process, outcome) => {
      if (outcome.kind !== 'pop') return;
      const messages = messagesOf(process, outcome);
      cluster.world.trace.add(() => {
        const what = messages.map(({ partitionNumber, offset }) => `${partitionNumber}:${offset}`);
        const empty = outcome.emptyReason ?? '';
        return `node ${process.host.id}: pop of ${queue} ${group} gets ${what.join(' ')}${empty}`;
      });
      cluster.observer.suite.tell('popped', { command, marks, messages, outcome });
    },
  };
}

/** An ack of messages of one claim. */
export function ackOperation(
  cluster: Cluster,
  claim: HeldClaim,
  settled: readonly Settled[],
): Operation {
  const { group, partitionNumber, leaseId } = claim;
  const items = settled.map(({ message, status }) => ({
    partition: partitionNumber,
    id: message.transactionId,
    status,
    lease: leaseId,
  }));
  const { ledger, suite } = cluster.observer;
  let leaseCount = 0;
  return {
    submit: (broker, deadlineUs) => {
      leaseCount = ledger.partition(partitionNumber)?.cursors.get(group)?.leases.length ?? 0;
      const command = ackCommand(items, { group, hashKey: broker.hashKey });
      return broker.submit(command, { deadlineUs });
    },
    answered: (_process, outcome) => {
      if (outcome.kind !== 'ack') return;
      cluster.world.trace.add(() => {
        const offsets = settled.map(({ message, status }) => `${message.offset} ${status}`);
        return `ack of ${group} in partition ${partitionNumber}: ${offsets.join(', ')}`;
      });
      suite.tell('acked', {
        group,
        partitionNumber,
        leaseId: leaseText(leaseId),
        leaseCount,
        offsets: settled.map(({ message }) => message.offset),
        isCompleted: settled.map(({ status }) => status === 'completed'),
        outcome,
      });
    },
  };
}

/** The ack of a whole claim and a push that happen together or not at all. */
export function transactionOperation(
  cluster: Cluster,
  parts: { readonly claim: HeldClaim; readonly push: Push },
  ids: { readonly idBase: Id128; readonly transactionId: Id128 },
): Operation {
  const { claim, push } = parts;
  const { group, partitionNumber, leaseId, messages } = claim;
  const { queue, partition } = push;
  const values = push.messages.map(({ value }) => value);
  const { history, suite } = cluster.observer;
  const offsets = messages.map(({ offset }) => offset);
  history.tie({ values, group, partitionNumber, end: Math.max(...offsets) + 1 });
  return {
    submit: (broker, deadlineUs) => {
      const { hashKey } = broker;
      const acked = messages.map(({ transactionId: id }) => ({
        partition: partitionNumber,
        id,
        lease: leaseId,
      }));
      const acks = [ackCommand(acked, { group, hashKey })];
      const pushed = pushCommand(itemsOf(push), { idBase: ids.idBase, hashKey });
      const { transactionId } = ids;
      const command = { kind: 'transaction', transactionId, acks, push: pushed } as const;
      return broker.submit(command, { deadlineUs });
    },
    answered: (process, outcome) => {
      cluster.world.trace.add(() => `node ${process.host.id}: ${values.join(' ')} ${outcome.kind}`);
      if (outcome.kind !== 'transaction' || outcome.push === undefined) return;
      suite.tell('pushed', { queue, partition, values, outcome: outcome.push });
    },
  };
}

/** A change of a queue's options. */
export function configureOperation(
  queue: string,
  options: QueueOptionsPatch,
  queueId: Id128,
): Operation {
  return {
    submit: (broker, deadlineUs) => {
      const command = { kind: 'configure', queue, mode: 'merge', options, queueId } as const;
      return broker.submit(command, { deadlineUs });
    },
    answered: () => {},
  };
}

/** The end of a queue and of all that it holds. */
export function deleteOperation(queue: string): Operation {
  return {
    submit: (broker, deadlineUs) => broker.submit({ kind: 'deleteQueue', queue }, { deadlineUs }),
    answered: () => {},
  };
}

/** The claims of an outcome as the client holds them. */
export function heldClaimsOf(process: Process, outcome: PopOutcome): HeldClaim[] {
  const messages = messagesOf(process, outcome);
  return outcome.claims.map(({ queue, partitionNumber }) => ({
    queue,
    group: outcome.group,
    partitionNumber,
    leaseId: outcome.leaseId,
    messages: messages.filter((message) => message.partitionNumber === partitionNumber),
  }));
}

function itemsOf({ queue, partition, messages }: Push): PushItem[] {
  return messages.map(({ value, hasOwnId, fillingBytes }) => ({
    queue,
    partition,
    data: payloadWith(value, fillingBytes),
    ...(hasOwnId && { id: transactionIdOf(value) }),
  }));
}

function marksOf(cluster: Cluster, pop: Pop): PartitionMark[] {
  return cluster.observer.ledger
    .partitionsOf(pop.queue)
    .filter(({ name }) => pop.partition === undefined || name === pop.partition)
    .map(({ number, values, cursors }) => ({
      partitionNumber: number,
      tail: values.length,
      next: cursors.get(pop.group)?.latest.next ?? 0,
    }));
}

function messagesOf(process: Process, outcome: PopOutcome): DeliveredMessage[] {
  const { broker } = process;
  if (broker === undefined) return [];
  const messages: DeliveredMessage[] = [];
  for (const { spans, partitionNumber } of outcome.claims) {
    for (const span of spans) {
      const block = new BlockReader(broker.payloads, span);
      const frames = block.frames(span.first, span.count);
      for (let i = 0; i < span.count; i += 1) {
        const at = i * BLOCK_FRAME.WIDTH;
        const start = frames.spans[at + BLOCK_FRAME.TXN_START]!;
        const size = frames.spans[at + BLOCK_FRAME.TXN_LENGTH]!;
        const isMinted = size === MINTED_TXN;
        messages.push({
          partitionNumber,
          offset: span.baseOffset + span.first + i,
          value: valueOf(frames.bytes, frames.spans[at + BLOCK_FRAME.PAYLOAD_START]!),
          transactionId: isMinted
            ? formatUuid(block.messageId(span.first + i))
            : (decodeUtf8(frames.bytes, start, start + size) ?? ''),
        });
      }
    }
  }
  return messages;
}
