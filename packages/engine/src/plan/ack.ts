// Ack: items are grouped into targets by (partition, lease); each target is fenced, resolved to
// offsets and settled on its own, in the order of the request (reference §3.2).

import { ACK_ERROR, ACK_LEASE, ACK_STATUS, ID_WORDS, NO_PARTITION } from '@queen-ts/protocol';
import type { AckCommand, AckOutcome, AckStatus } from '@queen-ts/protocol';
import type { PlanContext } from './context.ts';
import { settleTarget } from './ack-target.ts';
import type { AckTarget, AckVerdicts } from './ack-target.ts';

/** Plans an ack. */
export function planAck(context: PlanContext, command: AckCommand): AckOutcome {
  const verdicts = newVerdicts(command);
  for (const target of targetsOf(context, command, { verdicts, isSame })) {
    settleTarget(context, { command, target, verdicts });
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
    /** Whether an item belongs to a target. */
    readonly isSame: (command: AckCommand, target: AckTarget, item: number) => boolean;
  },
): readonly AckTarget[] {
  const { verdicts, isSame: isOf } = rules;
  const targets: AckTarget[] = [];
  /** Newest target of a partition; older ones with other leases follow by `older`. */
  const newest = new Map<number, AckTarget>();
  let last: AckTarget | undefined;
  for (let item = 0; item < command.itemCount; item += 1) {
    const error = errorOf(context, command, item);
    verdicts.errors[item] = error;
    if (error !== ACK_ERROR.NONE) continue;
    const partition = command.partitions[item]!;
    if (last === undefined || !isOf(command, last, item)) {
      last = newest.get(partition);
      while (last !== undefined && !isOf(command, last, item)) last = last.older;
    }
    if (last === undefined) {
      const row = context.state.partitions.numbers.get(partition);
      last = { partitionRow: row, partition, items: [], older: newest.get(partition) };
      newest.set(partition, last);
      targets.push(last);
    }
    last.items.push(item);
  }
  return targets;
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

/** Whether an item names the partition and the lease of a target. */
function isSame(command: AckCommand, target: AckTarget, item: number): boolean {
  const { leaseKinds, leaseIds, partitions } = command;
  const other = target.items[0]!;
  if (partitions[item] !== target.partition || leaseKinds[item] !== leaseKinds[other]) return false;
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
