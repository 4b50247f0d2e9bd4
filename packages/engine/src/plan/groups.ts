// Groups that come into being by popping, and where their new cursors start (reference §2.3, §2.4).

import { EFFECT, GROUP_MODE, QUEUE_MODE_GROUP } from '@queen-ts/protocol';
import type { GroupMode, PopCommand, Subscription } from '@queen-ts/protocol';
import type { GroupState, QueueState } from '../queue-state.ts';
import type { State } from '../state.ts';
import type { PlanContext } from './context.ts';

/** Farthest that a subscription may lie ahead, in microseconds: about 70 years. */
const AHEAD_MAX_US = 2 ** 51;

/** A subscription with its instant. */
interface Start {
  readonly mode: GroupMode;
  readonly fromUs: number;
}

/** The registered group of a pop; its first contact stores subscription and conflation. */
export function ensureRegistered(
  context: PlanContext,
  queue: QueueState,
  command: PopCommand,
): GroupState {
  const known = queue.groupByName(command.group);
  if (known?.isRegistered === true) return known;
  const { nowUs } = context.state;
  return put(context, queue, {
    name: command.group,
    known,
    isRegistered: true,
    conflation: command.conflation === true,
    start: startOf(command.group, command.subscription, nowUs),
  });
}

/** The group of a pop of one partition: such a pop registers nothing. */
export function ensureKnown(context: PlanContext, queue: QueueState, name: string): GroupState {
  const known = queue.groupByName(name);
  if (known !== undefined) return known;
  const start = { mode: GROUP_MODE.ALL, fromUs: 0 };
  return put(context, queue, { name, known, isRegistered: false, conflation: false, start });
}

/** First offset for a registered group in a partition where it has no cursor. */
export function seedOfGroup(state: State, group: GroupState, partitionRow: number): number {
  return seed(state, partitionRow, group);
}

/** The same for a group that is not registered: the call's own subscription counts, «new» is now. */
export function seedOfCall(state: State, command: PopCommand, partitionRow: number): number {
  const { group, subscription } = command;
  if (group !== QUEUE_MODE_GROUP && subscription.mode === 'new') {
    return state.partitions.tail.get(partitionRow);
  }
  return seed(state, partitionRow, startOf(group, subscription, state.nowUs));
}

function seed(state: State, partitionRow: number, start: Start): number {
  const { partitions, blocks } = state;
  if (start.mode === GROUP_MODE.ALL) return partitions.logStart.get(partitionRow);
  if (partitions.lastAppendUs.get(partitionRow) < start.fromUs) {
    return partitions.tail.get(partitionRow);
  }
  const since = blocks.firstSince(partitionRow, start.fromUs);
  return since?.baseOffset ?? partitions.tail.get(partitionRow);
}

function startOf(group: string, subscription: Subscription, nowUs: number): Start {
  if (group === QUEUE_MODE_GROUP || subscription.mode === 'all') {
    return { mode: GROUP_MODE.ALL, fromUs: 0 };
  }
  if (subscription.mode === 'new') return { mode: GROUP_MODE.NEW, fromUs: nowUs };
  return { mode: GROUP_MODE.FROM, fromUs: clampInstant(subscription.fromUs, nowUs) };
}

/** The nearest instant that an entry can carry. */
export function clampInstant(atUs: number, nowUs: number): number {
  return Math.min(Math.max(atUs, 0), nowUs + AHEAD_MAX_US);
}

function put(
  context: PlanContext,
  queue: QueueState,
  group: {
    readonly name: string;
    readonly known: GroupState | undefined;
    readonly isRegistered: boolean;
    readonly conflation: boolean;
    readonly start: Start;
  },
): GroupState {
  const { state } = context;
  context.emit({
    kind: EFFECT.GROUP_PUT,
    group: group.known?.number ?? state.nextGroup,
    queue: queue.number,
    name: group.name,
    registered: group.isRegistered,
    registeredUs: state.nowUs,
    mode: group.start.mode,
    fromUs: group.start.fromUs,
    conflation: group.conflation,
  });
  return queue.groupByName(group.name)!;
}
