// A stored subscription is rewritten: partitions without a cursor start at the new instant.

import { EFFECT, GROUP_MODE, QUEUE_MODE_GROUP } from '@queen-ts/protocol';
import type { PlanContext } from '../plan/context.ts';
import { clampInstant } from '../plan/groups.ts';
import type { SubscribeCommand, SubscribeOutcome } from '@queen-ts/protocol';

/** Plans the change for every queue where the group is registered; cursors stay where they are. */
export function planSubscribe(context: PlanContext, command: SubscribeCommand): SubscribeOutcome {
  const { state } = context;
  let queuesUpdated = 0;
  if (command.group === QUEUE_MODE_GROUP) return { kind: 'subscribe', queuesUpdated };
  for (const queue of state.queuesByName.values()) {
    const group = queue.groupByName(command.group);
    if (group?.isRegistered !== true) continue;
    context.emit({
      kind: EFFECT.GROUP_PUT,
      group: group.number,
      queue: queue.number,
      name: group.name,
      registered: true,
      registeredUs: group.registeredUs,
      mode: GROUP_MODE.FROM,
      fromUs: clampInstant(command.fromUs, state.nowUs),
      conflation: group.conflation,
    });
    queuesUpdated += 1;
  }
  return { kind: 'subscribe', queuesUpdated };
}
