// Pop: one attempt to claim from a queue, from one partition of it, or from all queues with some
// labels (reference §2). Waiting is the broker's business.

import { assert, encodeUtf8, unreachable } from '@queen-ts/base';
import { QUEUE_MODE_GROUP } from '@queen-ts/protocol';
import type { EmptyReason, PopCommand, PopOutcome, Refused } from '@queen-ts/protocol';
import { CLAIMED_PARTITIONS_MAX, CONFLATED_WIDTH_MAX } from '../limits.ts';
import type { GroupState, QueueState } from '../queue-state.ts';
import type { State } from '../state.ts';
import { answeredLeaseId, claimPartition, mayClaim } from './claim.ts';
import type { Claiming } from './claim.ts';
import type { PlanContext } from './context.ts';
import { newCursor } from './cursor-row.ts';
import { foreignKey } from './foreign-key.ts';
import { ensureKnown, ensureRegistered, seedOfCall } from './groups.ts';
import { queuesByLabels } from './labels.ts';
import { ensureQueue } from './queues.ts';

/** Ordinals that a walk looks at while the ring is empty, and before each look into a ring that is not. */
const WALK_STEPS = { EMPTY: 64, BUSY: 4 } as const;

/** What a block header that a claim reads counts for, in partitions that were looked at in vain. */
const SCANS_PER_READ = 32;

/** Plans a pop. */
export function planPop(context: PlanContext, command: PopCommand): PopOutcome | Refused {
  const refusal = refuse(command);
  if (refusal !== undefined) return refusal;
  assert(
    command.autoAck || command.leaseId.some((word) => word !== 0),
    'a pop with the lease id zero',
  );
  const claiming: Claiming = {
    command,
    claims: [],
    messagesLeft: Math.max(1, command.batch),
    partitionsLeft: command.partitions > 0 ? command.partitions : Infinity,
    bytesLeft: context.limits.popBytesMax,
    scansLeft: context.limits.partitionsScannedMax,
    messageCount: 0,
    isConflating: false,
    isConflict: false,
    isForeign: false,
    reason: 'empty',
    isCut: false,
  };
  if (context.state.maintenance.popPaused) claiming.reason = 'paused';
  else popScope(context, claiming);
  if (claiming.isForeign && claiming.claims.length === 0) return foreignKey();
  return outcomeOf(claiming);
}

function refuse(command: PopCommand): Refused | undefined {
  if (command.conflation !== true) return undefined;
  if (command.group === QUEUE_MODE_GROUP) {
    return { kind: 'refused', code: 'bad_request', message: 'conflation needs a consumerGroup' };
  }
  if (!command.autoAck) return undefined;
  const message = 'conflation cannot be combined with autoAck or commitOnDelivery';
  return { kind: 'refused', code: 'bad_request', message };
}

function popScope(context: PlanContext, claiming: Claiming): void {
  const { scope } = claiming.command;
  switch (scope.kind) {
    case 'queue':
      return popQueue(context, claiming, ensureQueue(context, scope.queue));
    case 'partition':
      return popPartition(context, claiming, scope);
    case 'labels':
      return popLabels(context, claiming, scope);
    default:
      return unreachable(scope);
  }
}

function popQueue(context: PlanContext, claiming: Claiming, queue: QueueState): void {
  const { state } = context;
  const group = ensureRegistered(context, queue, claiming.command);
  noteConflation(claiming, group);
  while (mayClaimMore(claiming)) {
    const row = nextCandidate(context, claiming, group);
    if (row === 0) break;
    const readsBefore = state.blocks.reads;
    const reason = claimPartition(context, claiming, { queue, group, row, seed: undefined });
    claiming.scansLeft -= (state.blocks.reads - readsBefore) * SCANS_PER_READ;
    if (reason === undefined) continue;
    claiming.scansLeft -= 1;
    noteReason(claiming, reason);
  }
  if (claiming.claims.length > 0 || claiming.reason !== 'empty') return;
  claiming.reason = standingReason(state, group);
}

/** Whether the call's budgets allow another partition: the last one may go beyond the bytes. */
function mayClaimMore(claiming: Claiming): boolean {
  const { messagesLeft, partitionsLeft, bytesLeft, claims } = claiming;
  return (
    messagesLeft > 0 &&
    partitionsLeft > 0 &&
    bytesLeft > 0 &&
    claims.length < CLAIMED_PARTITIONS_MAX
  );
}

function popLabels(
  context: PlanContext,
  claiming: Claiming,
  scope: { readonly namespace: string; readonly task: string },
): void {
  const queues = queuesByLabels(context, scope);
  const first = context.labelTurn % Math.max(1, queues.length);
  context.labelTurn += 1;
  for (let i = 0; i < queues.length; i += 1) {
    popQueue(context, claiming, queues[(first + i) % queues.length]!);
  }
}

function popPartition(
  context: PlanContext,
  claiming: Claiming,
  scope: { readonly queue: string; readonly partition: string },
): void {
  const { state } = context;
  const { command } = claiming;
  const queue = state.queuesByName.get(scope.queue);
  if (queue === undefined) {
    // Nothing exists that could disagree: the answer echoes what was asked for.
    claiming.isConflating = command.conflation === true;
    return;
  }
  if (command.conflation === true) ensureRegistered(context, queue, command);
  const name = encodeUtf8(scope.partition);
  const row = state.partitions.names.find(queue.number, name, 0, name.length);
  let group = queue.groupByName(command.group);
  if (group !== undefined) noteConflation(claiming, group);
  if (row === 0) return;
  claiming.partitionsLeft = 1;
  const isRegistered = group?.isRegistered === true;
  const seed = isRegistered ? undefined : seedOfCall(state, command, row);
  if (group === undefined) {
    // Queue mode always starts at the beginning: nothing to remember until it delivers.
    const { logStart, tail } = state.partitions;
    if (command.group === QUEUE_MODE_GROUP && logStart.get(row) === tail.get(row)) return;
    group = ensureKnown(context, queue, command.group);
  }
  const reason = claimPartition(context, claiming, { queue, group, row, seed });
  if (reason === undefined) return;
  claiming.reason = reason;
  if (seed !== undefined) keepSeed(context, group, row, seed);
}

/** A group that is not registered starts where its first call said, even if that found nothing. */
function keepSeed(context: PlanContext, group: GroupState, row: number, seed: number): void {
  const { state } = context;
  if (group.name === QUEUE_MODE_GROUP || state.cursors.find(row, group.number) !== 0) return;
  context.emit(newCursor(state.partitions.number.get(row), group.number, seed));
}

/** The next partition row to try, or 0: none, or the call has looked at enough of them. */
function nextCandidate(context: PlanContext, claiming: Claiming, group: GroupState): number {
  const { state } = context;
  const { partitions } = group.queue;
  for (;;) {
    // Walk and ring take turns, so that neither starves the other.
    if (group.walkFrom < partitions.end) claiming.scansLeft -= walk(state, group);
    if (group.ready.size === 0 && group.walkFrom >= partitions.end) return 0;
    if (claiming.scansLeft <= 0) {
      claiming.isCut = true;
      if (state.isSignalling) state.signals.armed(group.number, 0);
      return 0;
    }
    const ordinal = group.ready.shift();
    if (ordinal < 0) continue;
    const row = partitions.row(ordinal);
    if (row !== 0) return row;
    claiming.scansLeft -= 1;
  }
}

/** Looks at some ordinals that the group has not looked at yet. Returns how many led to nothing. */
export function walk(state: State, group: GroupState): number {
  const { partitions } = group.queue;
  const from = group.walkFrom;
  const steps = group.ready.size === 0 ? WALK_STEPS.EMPTY : WALK_STEPS.BUSY;
  const toExclusive = Math.min(from + steps, partitions.end);
  group.walkFrom = toExclusive;
  let missed = 0;
  for (let ordinal = from; ordinal < toExclusive; ordinal += 1) {
    const row = partitions.row(ordinal);
    if (row !== 0 && mayClaim(state, group, row)) group.ready.push(ordinal);
    else missed += 1;
  }
  return missed;
}

function noteConflation(claiming: Claiming, group: GroupState): void {
  const { conflation } = claiming.command;
  claiming.isConflating ||= group.conflation;
  claiming.isConflict ||= conflation !== undefined && conflation !== group.conflation;
  if (!group.conflation) return;
  const width = CONFLATED_WIDTH_MAX - claiming.messageCount;
  claiming.messagesLeft = Math.min(claiming.messagesLeft, Math.max(0, width));
}

function noteReason(claiming: Claiming, reason: EmptyReason): void {
  if (reason !== 'empty') claiming.reason = reason;
}

/**
 * Why a ring is empty although the queue may hold messages for the group. This is told of the queue as
 * a whole, since a group does not know which of its partitions wait: a window or delay that runs may
 * hold messages back that this very group is past.
 */
function standingReason(state: State, group: GroupState): EmptyReason {
  if (group.leases > 0) return 'leased';
  return group.queue.holdAt(state.nowUs) ?? 'empty';
}

function outcomeOf(claiming: Claiming): PopOutcome {
  const { command, claims, messageCount } = claiming;
  return {
    kind: 'pop',
    leaseId: answeredLeaseId(claiming),
    autoAck: command.autoAck,
    group: command.group,
    claims,
    messageCount,
    emptyReason: claims.length === 0 ? claiming.reason : undefined,
    isCut: claims.length === 0 && claiming.isCut,
    conflation: claiming.isConflating,
    conflationConflict: claiming.isConflict,
  };
}
