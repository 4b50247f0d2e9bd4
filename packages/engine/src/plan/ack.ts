// Ack: items are grouped into targets by (partition, lease); each target is fenced, resolved to
// offsets and settled on its own, in the order of the request (reference §3.2).

import { ACK_ERROR, ACK_LEASE, ACK_STATUS, ID_WORDS, NO_PARTITION } from '@queen-ts/protocol';
import type { AckCommand, AckOutcome, AckStatus } from '@queen-ts/protocol';
import type { PlanContext } from './context.ts';
import { AckBudget } from './ack-budget.ts';
import { settleTarget } from './ack-target.ts';
import type { AckTarget, AckVerdicts } from './ack-target.ts';

/** Plans an ack. */
export function planAck(context: PlanContext, command: AckCommand): AckOutcome {
  const verdicts = newVerdicts(command);
  const budget = new AckBudget(context);
  for (const target of targetsOf(context, command, { verdicts, keyOf })) {
    settleTarget(context, { command, target, verdicts, budget });
  }
  return ackOutcome(command, verdicts);
}

/** Verdicts of a command before anything is decided: success. */
export function newVerdicts({ itemCount }: AckCommand): AckVerdicts {
  return {
    errors: new Uint8Array(itemCount),
    leaseReleased: new Uint8Array(itemCount),
    deadLettered: new Uint8Array(itemCount),
    noops: new Uint8Array(itemCount),
  };
}

/** The outcome that reports the verdicts. */
export function ackOutcome(command: AckCommand, verdicts: AckVerdicts): AckOutcome {
  return { kind: 'ack', ...verdicts, statuses: statusesOf(command) };
}

/** Targets in the order of their first items; items that can have none are answered here. */
export function targetsOf(
  context: PlanContext,
  command: AckCommand,
  rules: {
    readonly verdicts: AckVerdicts;
    /** What the items of one target have in common. */
    readonly keyOf: (command: AckCommand, item: number) => number | string;
  },
): readonly AckTarget[] {
  const { verdicts, keyOf: keyOfTarget } = rules;
  /** In the order of their first items. */
  const targets = new Map<number | string, AckTarget>();
  let last: AckTarget | undefined;
  for (let item = 0; item < command.itemCount; item += 1) {
    const error = errorOf(context, command, item);
    verdicts.errors[item] = error;
    if (error !== ACK_ERROR.NONE) continue;
    if (last === undefined || !isSame(command, last.items[0]!, item)) {
      const key = keyOfTarget(command, item);
      last = targets.get(key) ?? { partitionRow: rowOf(context, command, item), items: [] };
      targets.set(key, last);
    }
    last.items.push(item);
  }
  return [...targets.values()];
}

function rowOf(context: PlanContext, command: AckCommand, item: number): number {
  return context.state.partitions.numbers.get(command.partitions[item]!);
}

function errorOf(context: PlanContext, command: AckCommand, item: number): number {
  const { state } = context;
  if (command.statuses[item] === ACK_STATUS.UNKNOWN) return ACK_ERROR.UNKNOWN_STATUS;
  const partition = command.partitions[item]!;
  const row = partition === NO_PARTITION ? 0 : state.partitions.numbers.get(partition);
  if (row === 0 || state.queueOf(row) === undefined) return ACK_ERROR.UNKNOWN_PARTITION;
  if (command.leaseKinds[item] === ACK_LEASE.MALFORMED) return ACK_ERROR.INVALID_LEASE;
  return ACK_ERROR.NONE;
}

/** The partition and the lease that an item names. */
function keyOf({ leaseKinds, leaseIds, partitions }: AckCommand, item: number): string {
  const at = item * ID_WORDS;
  return leaseKinds[item] === ACK_LEASE.NONE
    ? `${partitions[item]}`
    : `${partitions[item]}:${leaseIds.subarray(at, at + ID_WORDS).join(':')}`;
}

/** Whether two items name the same partition and the same lease. */
function isSame(
  { leaseKinds, leaseIds, partitions }: AckCommand,
  item: number,
  other: number,
): boolean {
  if (partitions[item] !== partitions[other] || leaseKinds[item] !== leaseKinds[other])
    return false;
  if (leaseKinds[item] === ACK_LEASE.NONE) return true;
  const a = item * ID_WORDS;
  const b = other * ID_WORDS;
  return (
    leaseIds[a] === leaseIds[b] &&
    leaseIds[a + 1] === leaseIds[b + 1] &&
    leaseIds[a + 2] === leaseIds[b + 2] &&
    leaseIds[a + 3] === leaseIds[b + 3]
  );
}

/** The command's statuses outlive it: its buffers are only lent. */
function statusesOf(command: AckCommand): ArrayLike<AckStatus> {
  return command.statuses.slice() as ArrayLike<number> as ArrayLike<AckStatus>;
}
