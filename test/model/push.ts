// The model's push (reference §1, §12): collapse repeats, look for originals in the window, append.

import { implicitQueueOptions, PUSH_STATUS } from '@queen-ts/protocol';
import type { PlainPush, PlainPushItem } from './plain-commands.ts';
import { SECOND_US } from './state.ts';
import type { ModelMessage, ModelPartition, ModelQueue, ModelQueues } from './state.ts';

/** Seconds for which ids are remembered at least, whatever the window (reference §12). */
const MEMORY_SECONDS_MIN = 900;

/** What a push item was answered with. */
export interface PushVerdict {
  readonly status: number;
  readonly offset: number;
  readonly id: string;
}

/** What the model cannot know beforehand. */
export interface PushChoices {
  readonly nowUs: number;
  /** The engine's verdicts: the source of minted ids and of what it was free to decide. */
  readonly observed: readonly PushVerdict[];
  /** Sum of payload bytes from which an append is refused; sums near it are never generated. */
  readonly refusedFromBytes: number;
}

/** Returns the queue; creates it with implicit options when it is missing (reference §6.3). */
export function ensureQueue(queues: ModelQueues, name: string, nowUs: number): ModelQueue {
  const found = queues.get(name);
  if (found !== undefined) return found;
  const created: ModelQueue = {
    name,
    id: undefined,
    createdUs: nowUs,
    options: implicitQueueOptions(name),
    partitions: new Map(),
    groups: new Map(),
    deadLetters: [],
    newestAppendUs: 0,
  };
  queues.set(name, created);
  return created;
}

/** Applies a push and returns the verdicts it must have, in request order. */
export function modelPush(
  queues: ModelQueues,
  push: PlainPush,
  choices: PushChoices,
): PushVerdict[] {
  const verdicts: PushVerdict[] = [];
  const groups = Map.groupBy(push.items.entries(), ([, { queue, partition }]) =>
    JSON.stringify([queue, partition]),
  );
  const { producerSub } = push;
  for (const members of groups.values()) {
    pushGroup(queues, members, verdicts, { ...choices, producerSub });
  }
  return verdicts;
}

type GroupChoices = PushChoices & { readonly producerSub: string | null };

function pushGroup(
  queues: ModelQueues,
  members: readonly [number, PlainPushItem][],
  verdicts: PushVerdict[],
  choices: GroupChoices,
): void {
  const { queue: queueName, partition: partitionName } = members[0]![1];
  const partition = queues.get(queueName)?.partitions.get(partitionName);
  const followers: [number, number][] = [];
  const survivors: [number, PlainPushItem][] = [];
  for (const [position, item] of members) {
    const leader = members.find(([, { txn }]) => txn !== null && txn === item.txn)?.[0] ?? position;
    const original = originalOf(queues.get(queueName), partition, item, position, choices);
    if (leader !== position) followers.push([position, leader]);
    else if (original === undefined) survivors.push([position, item]);
    else verdicts[position] = duplicateOf(original);
  }
  if (survivors.length > 0) store(queues, survivors, verdicts, choices);
  for (const [position, leader] of followers) {
    const verdict = verdicts[leader]!;
    const isError = verdict.status === PUSH_STATUS.ERROR;
    verdicts[position] = isError ? verdict : { ...verdict, status: PUSH_STATUS.DUPLICATE };
  }
}

function duplicateOf(original: ModelMessage): PushVerdict {
  return { status: PUSH_STATUS.DUPLICATE, offset: original.offset, id: original.id };
}

/** Past the window the engine may still hold the id of a removed message against a push. */
const REMOVED_SLACK_US = 60 * SECOND_US;

/** The lowest message in the dedup window with the item's id. */
function originalOf(
  queue: ModelQueue | undefined,
  partition: ModelPartition | undefined,
  item: PlainPushItem,
  position: number,
  choices: PushChoices,
): ModelMessage | undefined {
  if (queue === undefined || partition === undefined || item.txn === null) return undefined;
  const windowUs = queue.options.dedupWindowSeconds * SECOND_US;
  if (windowUs === 0) return undefined;
  const seen = choices.observed[position];
  const isRemoved = ({ offset }: ModelMessage): boolean => offset < partition.logStart;
  const named = partition.messages.filter(({ txn }) => txn === item.txn);
  const remembered = named.find(
    ({ createdUs, mayBeForgotten }) => choices.nowUs - createdUs < windowUs && !mayBeForgotten,
  );
  const chosen = named.find((it) => {
    const slackUs = isRemoved(it) ? REMOVED_SLACK_US : 0;
    const isInWindow = choices.nowUs - it.createdUs < windowUs + slackUs;
    const isAnswer = seen?.status === PUSH_STATUS.DUPLICATE && seen.offset === it.offset;
    return isInWindow && isAnswer;
  });
  const original =
    chosen === undefined || (remembered !== undefined && remembered.offset < chosen.offset)
      ? remembered
      : chosen;
  // What id a duplicate of a removed message answers is open.
  if (original !== undefined && isRemoved(original)) return { ...original, id: seen?.id ?? '' };
  return original;
}

function store(
  queues: ModelQueues,
  survivors: readonly [number, PlainPushItem][],
  verdicts: PushVerdict[],
  choices: GroupChoices,
): void {
  const size = survivors.reduce((sum, [, { payload }]) => sum + payload.length, 0);
  if (size >= choices.refusedFromBytes) {
    for (const [position] of survivors) {
      verdicts[position] = { status: PUSH_STATUS.ERROR, offset: 0, id: '' };
    }
    return;
  }
  const { queue: queueName, partition: name } = survivors[0]![1];
  const queue = ensureQueue(queues, queueName, choices.nowUs);
  const partition = queue.partitions.get(name) ?? newPartition(name);
  partition.activeUs = choices.nowUs;
  partition.touchedUs = choices.nowUs;
  queue.partitions.set(name, partition);
  const newestUs = partition.appends.at(-1)?.createdUs ?? 0;
  const createdUs = Math.max(choices.nowUs, newestUs + 1);
  const baseOffset = partition.messages.length;
  const { producerSub } = choices;
  // Without a window nothing asks for the ids, and the engine does not keep them.
  const mayBeForgotten = queue.options.dedupWindowSeconds === 0;
  queue.newestAppendUs = Math.max(queue.newestAppendUs, createdUs);
  partition.appends.push({ baseOffset, count: survivors.length, createdUs, producerSub });
  for (const [position, { txn, payload }] of survivors) {
    const id = choices.observed[position]!.id;
    const offset = partition.messages.length;
    partition.messages.push({ offset, id, txn, payload, createdUs, mayBeForgotten });
    verdicts[position] = { status: PUSH_STATUS.QUEUED, offset, id };
  }
}

function newPartition(name: string): ModelPartition {
  return {
    name,
    number: undefined,
    messages: [],
    appends: [],
    logStart: 0,
    cursors: new Map(),
    activeUs: 0,
    touchedUs: 0,
  };
}

/**
 * Notes which ids the engine is free to have forgotten by now: those older than every memory that the
 * reference promises. Called whenever time has passed or options are about to change.
 */
export function noteForgettable(queues: ModelQueues, nowUs: number): void {
  for (const { options, partitions } of queues.values()) {
    const { dedupWindowSeconds, completedRetentionSeconds } = options;
    const seconds = Math.max(dedupWindowSeconds, completedRetentionSeconds, MEMORY_SECONDS_MIN);
    const messages = [...partitions.values()].flatMap((partition) => partition.messages);
    for (const message of messages) {
      if (nowUs - message.createdUs > seconds * SECOND_US) message.mayBeForgotten = true;
    }
  }
}
