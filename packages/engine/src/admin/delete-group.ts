// Deletion of a group of a queue: its cursors, then its registration.

import { EFFECT, GROUP_MODE } from '@queen-ts/protocol';
import type { PlanContext } from '../plan/context.ts';
import { stepOf } from '../plan/step.ts';
import type { GroupState } from '../queue-state.ts';
import type { DeleteGroupCommand, DeleteGroupOutcome } from '@queen-ts/protocol';

/** Plans one step. A group that does not exist is no error. */
export function planDeleteGroup(
  context: PlanContext,
  command: DeleteGroupCommand,
): DeleteGroupOutcome {
  const { state } = context;
  const group = state.queuesByName.get(command.queue)?.groupByName(command.group);
  const countedBefore = command.countedBefore ?? 0;
  if (group === undefined) return outcome(countedBefore, false, undefined);
  const { partitions } = group.queue;
  const { from, budget } = stepOf(context, command);
  const toExclusive = Math.min(from + budget, partitions.end);
  let deleted = countedBefore;
  for (let ordinal = from; ordinal < toExclusive; ordinal += 1) {
    deleted += deleteCursor(context, group, partitions.row(ordinal));
  }
  if (toExclusive < partitions.end) return outcome(deleted, false, toExclusive);
  if (!command.withRegistration) return outcome(deleted, false, undefined);
  // A pop between two steps may have made a cursor behind this one: then once more.
  if (group.cursors > 0) return outcome(deleted, false, 0);
  const wasRegistered = group.isRegistered;
  if (group.deadLetters === 0) context.emit({ kind: EFFECT.GROUP_DELETE, group: group.number });
  else if (wasRegistered) unregister(context, group);
  return outcome(deleted, wasRegistered, undefined);
}

/** Dead letters outlive their group: its row stays for the name. */
function unregister(context: PlanContext, group: GroupState): void {
  context.emit({
    kind: EFFECT.GROUP_PUT,
    group: group.number,
    queue: group.queue.number,
    name: group.name,
    registered: false,
    registeredUs: context.state.nowUs,
    mode: GROUP_MODE.ALL,
    fromUs: 0,
    conflation: false,
  });
}

function deleteCursor(context: PlanContext, group: GroupState, row: number): number {
  const { state } = context;
  if (row === 0 || state.cursors.find(row, group.number) === 0) return 0;
  const partition = state.partitions.number.get(row);
  context.emit({ kind: EFFECT.CURSOR_DELETE, partition, group: group.number });
  return 1;
}

function outcome(
  cursorsDeleted: number,
  registrationDeleted: boolean,
  next: number | undefined,
): DeleteGroupOutcome {
  return { kind: 'deleteGroup', cursorsDeleted, registrationDeleted, next };
}
