// Ack: items are grouped into targets by (partition, lease); each target is fenced, resolved to
// offsets and settled on its own, in the order of the request (reference §3.2).

import { assert } from '@queen-ts/base';
import { ACK_ERROR, ACK_LEASE, ACK_STATUS, ID_WORDS, NO_PARTITION } from '@queen-ts/protocol';
import type { AckCommand, AckOutcome, AckStatus } from '@queen-ts/protocol';
import type { PlanContext } from './context.ts';
import { AckBudget } from './ack-budget.ts';
import { refuseTarget, settleTarget } from './ack-target.ts';
import type { AckTarget, AckVerdicts } from './ack-target.ts';

type AckProgress = NonNullable<AckOutcome['next']>;

/** The targets of an ack between two of its steps. */
class AckRest implements AckProgress {
  readonly kind = 'ackProgress';
  readonly targets: readonly AckTarget[];
  readonly verdicts: AckVerdicts;
  /** Targets before this one are decided. */
  position = 0;
  steps = 0;

  constructor(targets: readonly AckTarget[], verdicts: AckVerdicts) {
    this.targets = targets;
    this.verdicts = verdicts;
  }
}

/**
 * Plans an ack, or a step of it: it ends before a target when it has done enough, and the outcome says
 * where to go on. Steps may lie in different entries, since targets are independent of each other.
 */
export function planAck(context: PlanContext, command: AckCommand): AckOutcome {
  const rest = restOf(context, command);
  const { targets, verdicts } = rest;
  const budget = new AckBudget(context);
  rest.steps += 1;
  const first = rest.position;
  for (; rest.position < targets.length; rest.position += 1) {
    if (rest.position > first && budget.isStepOver) break;
    settleTarget(context, { command, target: targets[rest.position]!, verdicts, budget });
  }
  if (rest.position === targets.length) return ackOutcome(command, verdicts);
  if (rest.steps < context.limits.ackStepsMax) {
    return { ...ackOutcome(command, verdicts), next: rest };
  }
  for (const target of targets.slice(rest.position)) {
    refuseTarget({ target, verdicts }, ACK_ERROR.TOO_MUCH);
  }
  return ackOutcome(command, verdicts);
}

function restOf(context: PlanContext, command: AckCommand): AckRest {
  const { from } = command;
  if (from !== undefined) {
    assert(from instanceof AckRest, 'an ack goes on where no step ended');
    return from;
  }
  const verdicts = newVerdicts(command);
  return new AckRest(targetsOf(context, command, { verdicts, byLease: true }), verdicts);
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

/**
 * Targets in the order of their first items; items that can have none are answered here.
 * @param rules.byLease whether items of one partition that name different leases are different targets.
 */
export function targetsOf(
  context: PlanContext,
  command: AckCommand,
  rules: { readonly verdicts: AckVerdicts; readonly byLease: boolean },
): readonly AckTarget[] {
  const { errors } = rules.verdicts;
  const targets = new Targets(command, rules.byLease);
  for (let item = 0; item < command.itemCount; item += 1) {
    errors[item] = errorOf(context, command, item);
    if (errors[item] === ACK_ERROR.NONE) targets.add(item);
  }
  return targets.all;
}

/** Sorts items into targets. */
class Targets {
  readonly all: AckTarget[] = [];
  readonly #command: AckCommand;
  readonly #byLease: boolean;
  /** The first target of each partition; further ones, with other leases, by what they name. */
  readonly #firsts = new Map<number, AckTarget>();
  readonly #others = new Map<string, AckTarget>();
  #last: AckTarget | undefined;

  constructor(command: AckCommand, byLease: boolean) {
    this.#command = command;
    this.#byLease = byLease;
  }

  /** Adds the next item. */
  add(item: number): void {
    if (this.#last === undefined || !this.#isOf(this.#last, item))
      this.#last = this.#targetOf(item);
    this.#last.items.push(item);
  }

  #targetOf(item: number): AckTarget {
    const partition = this.#command.partitions[item]!;
    const first = this.#firsts.get(partition);
    if (first === undefined) return this.#added(this.#firsts, partition, partition);
    if (this.#isOf(first, item)) return first;
    const key = keyOf(this.#command, item);
    return this.#others.get(key) ?? this.#added(this.#others, key, partition);
  }

  #added<Key>(map: Map<Key, AckTarget>, key: Key, partition: number): AckTarget {
    const target: AckTarget = { partition, items: [] };
    map.set(key, target);
    this.all.push(target);
    return target;
  }

  #isOf(target: AckTarget, item: number): boolean {
    return isSame(this.#command, target.items[0]!, item, this.#byLease);
  }
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

/** Whether two items name the same partition and, if that matters, the same lease. */
function isSame(
  { leaseKinds, leaseIds, partitions }: AckCommand,
  item: number,
  other: number,
  byLease: boolean,
): boolean {
  if (partitions[item] !== partitions[other]) return false;
  if (!byLease) return true;
  if (leaseKinds[item] !== leaseKinds[other]) return false;
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
