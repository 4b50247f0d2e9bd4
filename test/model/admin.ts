// The model's control plane: groups (reference §9) and dead letters (§8).

import { formatUuid } from '@queen-ts/base';
import type {
  DeleteGroupCommand,
  ReplayDeadLetterCommand,
  SeekCommand,
  SubscribeCommand,
} from '@queen-ts/protocol';
import { modelPush } from './push.ts';
import type { PushVerdict } from './push.ts';
import { tailOf } from './state.ts';
import type { ModelDeadLetter, ModelPartition, ModelQueues } from './state.ts';

/** Moves cursors; returns how many, or undefined when queue or partition do not exist. */
export function modelSeek(
  queues: ModelQueues,
  seek: SeekCommand,
  nowUs: number,
): number | undefined {
  const queue = queues.get(seek.queue);
  const named = seek.partition === undefined ? undefined : queue?.partitions.get(seek.partition);
  if (queue === undefined || (seek.partition !== undefined && named === undefined)) {
    return undefined;
  }
  const partitions = named === undefined ? [...queue.partitions.values()] : [named];
  if (partitions.length > 0 && !queue.groups.has(seek.group)) {
    queue.groups.set(seek.group, { registration: undefined });
  }
  for (const partition of partitions) {
    const before = partition.cursors.get(seek.group)?.settled ?? [];
    // Whether the group still knows which lease it settled last is open.
    const settled = [...new Set([undefined, ...before])];
    const attempt = { from: 0, counts: [0] };
    const next = targetOf(partition, seek);
    partition.cursors.set(seek.group, { next, retries: [0], lease: undefined, attempt, settled });
    partition.touchedUs = nowUs;
  }
  return partitions.length;
}

function targetOf(partition: ModelPartition, { target }: SeekCommand): number {
  if (target.kind === 'end') return tailOf(partition);
  const append = partition.appends.find(({ createdUs }) => createdUs >= target.atUs);
  return Math.max(append?.baseOffset ?? tailOf(partition), partition.logStart);
}

/** Removes a group's cursors, and the group with them; returns what was there. */
export function modelDeleteGroup(
  queues: ModelQueues,
  command: DeleteGroupCommand,
): { readonly cursors: number; readonly wasRegistered: boolean } {
  const queue = queues.get(command.queue);
  const wasRegistered = queue?.groups.get(command.group)?.registration !== undefined;
  let cursors = 0;
  for (const partition of queue?.partitions.values() ?? []) {
    if (partition.cursors.delete(command.group)) cursors += 1;
  }
  if (command.withRegistration) queue?.groups.delete(command.group);
  return { cursors, wasRegistered };
}

/** Rewrites the subscription wherever the group is registered; returns on how many queues. */
export function modelSubscribe(queues: ModelQueues, command: SubscribeCommand): number {
  let updated = 0;
  for (const queue of queues.values()) {
    const group = queue.groups.get(command.group);
    if (group?.registration === undefined) continue;
    group.registration = { ...group.registration, fromUs: command.fromUs };
    updated += 1;
  }
  return updated;
}

/** Moves a dead letter; returns the verdict of its push. */
export function modelReplay(
  queues: ModelQueues,
  command: ReplayDeadLetterCommand,
  at: { readonly letter: ModelDeadLetter; readonly nowUs: number },
): PushVerdict {
  const { letter, nowUs } = at;
  const id = formatUuid(command.messageId);
  const item = {
    queue: command.queue ?? letter.queue,
    partition: command.partition ?? letter.partition,
    txn: `dlq:${formatUuid(command.id)}`,
    payload: letter.message.payload,
  };
  const push = {
    kind: 'push',
    items: [item],
    idBase: command.messageId,
    producerSub: null,
  } as const;
  const observed = [{ status: 0, offset: 0, id }];
  const [verdict] = modelPush(queues, push, { nowUs, observed, refusedFromBytes: Infinity });
  const source = queues.get(letter.queue)!;
  source.deadLetters = source.deadLetters.filter((it) => it !== letter);
  return verdict!;
}

/** Removes the dead letters that fit; returns how many. */
export function modelRemoveDeadLetters(
  queues: ModelQueues,
  fits: (letter: ModelDeadLetter) => boolean,
): number {
  let removed = 0;
  for (const queue of queues.values()) {
    const kept = queue.deadLetters.filter((letter) => !fits(letter));
    removed += queue.deadLetters.length - kept.length;
    queue.deadLetters = kept;
  }
  return removed;
}

/** All dead letters, newest first by the order of their filing. */
export function modelDeadLetters(queues: ModelQueues): ModelDeadLetter[] {
  const all = [...queues.values()].flatMap(({ deadLetters }) => deadLetters);
  return all.sort((a, b) => b.number - a.number);
}
