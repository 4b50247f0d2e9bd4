// Control-plane operations of a sequence: each is planned step by step until it is complete, and the
// sums of its steps are compared with the model. Also the queries that name single messages.

import { deepStrictEqual, ok } from 'node:assert/strict';
import { PUSH_STATUS, QUEUE_MODE_GROUP } from '@queen-ts/protocol';
import type { Id128 } from '@queen-ts/base';
import type { DeadLetterView, Engine } from '@queen-ts/engine';
import type {
  AdminCommand,
  AdminOutcome,
  DeletedDeadLettersOutcome,
  DeleteGroupOutcome,
  SeekCommand,
  SeekOutcome,
} from '@queen-ts/protocol';
import {
  modelDeadLetters,
  modelDeleteGroup,
  modelRemoveDeadLetters,
  modelReplay,
  modelSeek,
  modelSubscribe,
} from './admin.ts';
import { compareDeadLetters } from './compare-listing.ts';
import type { Deliveries } from './deliveries.ts';
import { GROUPS, PARTITIONS, QUEUES } from './operations.ts';
import type { Operation } from './operations.ts';
import { findPartition, SECOND_US } from './state.ts';
import type { ModelDeadLetter, ModelQueues } from './state.ts';
import { isLive } from './visibility.ts';

/** Which requests are paused for maintenance. */
export interface Paused {
  push: boolean;
  pop: boolean;
}

/** What an operation of the control plane works on, inside an open cycle. */
export interface AdminWorld {
  readonly engine: Engine;
  readonly model: ModelQueues;
  readonly deliveries: Deliveries;
  readonly paused: Paused;
  readonly nowUs: number;
  readonly mint: () => Id128;
  readonly note: (line: string) => void;
}

/** Operations of the control plane. */
export type AdminOperation = Extract<
  Operation,
  {
    readonly op:
      | 'seek'
      | 'deleteGroup'
      | 'maintenance'
      | 'subscribe'
      | 'replay'
      | 'purge'
      | 'deleteDeadLetters'
      | 'find';
  }
>;

/** Plans the operation and compares. */
export function runAdmin(world: AdminWorld, operation: AdminOperation): void {
  switch (operation.op) {
    case 'seek':
      seek(world, operation);
      return;
    case 'deleteGroup':
      deleteGroup(world, operation);
      return;
    case 'subscribe':
      subscribe(world, operation);
      return;
    case 'replay':
      replay(world, operation);
      return;
    case 'purge':
      purge(world, operation);
      return;
    case 'deleteDeadLetters':
      deleteDeadLetters(world, operation);
      return;
    case 'maintenance':
      maintain(world, operation);
      return;
    case 'find':
      find(world, operation);
  }
}

function plan<K extends AdminOutcome['kind']>(
  world: AdminWorld,
  command: AdminCommand,
  kind: K,
): Extract<AdminOutcome, { readonly kind: K }> {
  world.note(JSON.stringify(command));
  const outcome = world.engine.plan(command);
  world.note(`  → ${JSON.stringify(outcome)}`);
  ok(outcome.kind === kind, `${command.kind} was answered with ${outcome.kind}`);
  return outcome as Extract<AdminOutcome, { readonly kind: K }>;
}

function seek(world: AdminWorld, operation: Extract<Operation, { readonly op: 'seek' }>): void {
  const { target, budget } = operation;
  const atUs = target === 'end' ? 0 : world.nowUs - target * SECOND_US;
  const command: SeekCommand = {
    kind: 'seek',
    queue: QUEUES[operation.queue]!,
    partition: operation.partition === null ? undefined : PARTITIONS[operation.partition],
    group: GROUPS[operation.group]!,
    target: target === 'end' ? { kind: 'end' } : { kind: 'instant', atUs },
    from: 0,
    budget,
  };
  let moved: number | undefined = undefined;
  let from: number | undefined = 0;
  while (from !== undefined) {
    const outcome: SeekOutcome = plan(world, { ...command, from }, 'seek');
    if (outcome.found) moved = (moved ?? 0) + outcome.partitionsUpdated;
    from = outcome.next;
  }
  deepStrictEqual(moved, modelSeek(world.model, command, world.nowUs), 'moved');
}

function deleteGroup(
  world: AdminWorld,
  operation: Extract<Operation, { readonly op: 'deleteGroup' }>,
): void {
  const { withRegistration, budget } = operation;
  const queue = QUEUES[operation.queue]!;
  const group = GROUPS[operation.group]!;
  const command = { kind: 'deleteGroup', queue, group, withRegistration, budget } as const;
  let cursors = 0;
  let registrationDeleted = false;
  let from: number | undefined = 0;
  while (from !== undefined) {
    const outcome: DeleteGroupOutcome = plan(world, { ...command, from }, 'deleteGroup');
    cursors += outcome.cursorsDeleted;
    registrationDeleted ||= outcome.registrationDeleted;
    from = outcome.next;
  }
  const expected = modelDeleteGroup(world.model, { ...command, from: 0 });
  deepStrictEqual(cursors, expected.cursors, 'deleted cursors');
  const deletesIt = expected.wasRegistered && withRegistration;
  // A group that only single partitions knew may count as registered or not.
  const isOpen = withRegistration && !expected.wasRegistered;
  if (!isOpen) deepStrictEqual(registrationDeleted, deletesIt, 'registration deleted');
}

function subscribe(
  world: AdminWorld,
  operation: Extract<Operation, { readonly op: 'subscribe' }>,
): void {
  const group = GROUPS[operation.group]!;
  const fromUs = world.nowUs - operation.agoSeconds * SECOND_US;
  const command = { kind: 'subscribe', group, fromUs } as const;
  const { queuesUpdated } = plan(world, command, 'subscribe');
  deepStrictEqual(queuesUpdated, modelSubscribe(world.model, command), 'updated queues');
}

function pickLetter(
  world: AdminWorld,
  back: number,
): { readonly view: DeadLetterView; readonly letter: ModelDeadLetter } | undefined {
  const views = compareDeadLetters(world.engine, world.model);
  if (views.length === 0) return undefined;
  const at = back % views.length;
  return { view: views[at]!, letter: modelDeadLetters(world.model)[at]! };
}

function replay(world: AdminWorld, operation: Extract<Operation, { readonly op: 'replay' }>): void {
  const picked = pickLetter(world, operation.letter);
  const command = {
    kind: 'replayDeadLetter',
    id: picked?.view.id ?? [1, 0x7000, 0x8000_0000, 77],
    queue: operation.queue === null ? undefined : QUEUES[operation.queue],
    partition: operation.partition === null ? undefined : PARTITIONS[operation.partition],
    messageId: world.mint(),
  } as const;
  if (world.paused.push && picked !== undefined) {
    const refusal = world.engine.plan(command);
    deepStrictEqual(refusal.kind === 'refused' && refusal.code, 'maintenance', 'paused replay');
    return;
  }
  const outcome = plan(world, command, 'replayDeadLetter');
  if (picked === undefined) {
    deepStrictEqual(outcome.result, 'gone');
    return;
  }
  const { letter } = picked;
  const verdict = modelReplay(world.model, command, { letter, nowUs: world.nowUs });
  const { result, queue, partition, group, originalTransactionId, push } = outcome;
  deepStrictEqual(
    { result, queue, partition, group, originalTransactionId },
    {
      result: 'moved',
      queue: command.queue ?? letter.queue,
      partition: command.partition ?? letter.partition,
      group: letter.group,
      originalTransactionId: letter.message.txn ?? letter.message.id,
    },
  );
  const ids = push?.messageIds ?? [];
  deepStrictEqual(
    { status: push?.statuses[0], offset: push?.offsets[0], id: Array.from(ids) },
    { status: PUSH_STATUS.QUEUED, offset: verdict.offset, id: [...command.messageId] },
  );
  const again = plan(world, command, 'replayDeadLetter');
  deepStrictEqual(again.result, 'gone', 'second replay');
}

function purge(world: AdminWorld, operation: Extract<Operation, { readonly op: 'purge' }>): void {
  const queue = QUEUES[operation.queue]!;
  const group = operation.group === null ? undefined : GROUPS[operation.group];
  let deleted = 0;
  let from: number | undefined = 0;
  while (from !== undefined) {
    const command = { kind: 'purgeDeadLetters', queue, group, budget: 2, from } as const;
    const outcome: DeletedDeadLettersOutcome = plan(world, command, 'deletedDeadLetters');
    deleted += outcome.deleted;
    from = outcome.next;
  }
  const fits = (letter: ModelDeadLetter): boolean =>
    letter.queue === queue && (group === undefined || letter.group === group);
  deepStrictEqual(deleted, modelRemoveDeadLetters(world.model, fits), 'purged dead letters');
}

function deleteDeadLetters(
  world: AdminWorld,
  operation: Extract<Operation, { readonly op: 'deleteDeadLetters' }>,
): void {
  const picked = pickLetter(world, operation.letter);
  const partition = picked?.view.partitionNumber ?? 1;
  const transactionId = picked?.view.transactionId ?? 'unheard of';
  const command = { kind: 'deleteDeadLetters', partition, transactionId } as const;
  const { deleted } = plan(world, command, 'deletedDeadLetters');
  const fits = ({ message, ...letter }: ModelDeadLetter): boolean =>
    letter.queue === picked?.letter.queue &&
    letter.partition === picked.letter.partition &&
    (message.txn ?? message.id) === transactionId;
  deepStrictEqual(deleted, modelRemoveDeadLetters(world.model, fits), 'deleted dead letters');
}

function maintain(
  world: AdminWorld,
  operation: Extract<Operation, { readonly op: 'maintenance' }>,
): void {
  const { requests, paused } = operation;
  const command = { kind: 'maintenance', requests, paused } as const;
  const { pushPaused, popPaused } = plan(world, command, 'maintenance');
  if (requests === 'push') world.paused.push = paused;
  else world.paused.pop = paused;
  deepStrictEqual({ push: pushPaused, pop: popPaused }, { ...world.paused }, 'what is paused');
}

function find(world: AdminWorld, operation: Extract<Operation, { readonly op: 'find' }>): void {
  const { messages } = world.deliveries.recent(operation.delivery) ?? { messages: [] };
  const address = messages[operation.message % Math.max(1, messages.length)];
  if (address === undefined) return;
  const { partition: number, txn: transactionId } = address;
  const seen = world.engine.findMessage({ partition: number, transactionId, nowUs: world.nowUs });
  world.note(`find ${number} ${transactionId} → ${JSON.stringify(seen)}`);
  const found = findPartition(world.model, number);
  const message = found?.partition.messages
    .slice(found.partition.logStart)
    .find(({ txn, id }) => (txn ?? id) === transactionId);
  if (found === undefined || message === undefined) {
    deepStrictEqual(seen, undefined, 'message that is not there');
    return;
  }
  const { queue, partition } = found;
  const { offset } = message;
  const cursors = [...partition.cursors];
  const named = cursors.filter(([group]) => group !== QUEUE_MODE_GROUP);
  const deciding = named.length > 0 ? named : cursors;
  const isFiled = queue.deadLetters.some(
    (it) => it.partition === partition.name && it.offset === offset,
  );
  const isDone = deciding.length > 0 && deciding.every(([, { next }]) => next > offset);
  const isHeld = cursors.some(([, cursor]) => isLive(cursor, world.nowUs));
  const open = isHeld ? 'processing' : 'pending';
  deepStrictEqual(
    {
      queue: seen?.queue,
      partition: seen?.partition,
      offset: seen?.offset,
      status: seen?.status,
      consumed: seen?.groups.filter((it) => it.isConsumed).map(({ name }) => name),
    },
    {
      queue: queue.name,
      partition: partition.name,
      offset,
      status: isFiled ? 'dead_letter' : isDone ? 'completed' : open,
      consumed: seen?.groups
        .map(({ name }) => name)
        .filter((name) => (partition.cursors.get(name)?.next ?? 0) > offset),
    },
    'found message',
  );
  const names = seen?.groups.map(({ name }) => name).sort();
  deepStrictEqual(names, [...partition.cursors.keys()].sort(), 'groups of the found message');
}
