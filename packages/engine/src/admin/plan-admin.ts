// The planner of the control plane.

import { unreachable } from '@queen-ts/base';
import type { PlanContext } from '../plan/context.ts';
import type { AdminCommand, AdminOutcome, Refused } from '@queen-ts/protocol';
import { planDeleteDeadLetters, planPurgeDeadLetters } from './delete-dead-letters.ts';
import { planDeleteGroup } from './delete-group.ts';
import { planMaintenance } from './maintenance.ts';
import { planReplayDeadLetter } from './replay-dead-letter.ts';
import { planSeek } from './seek.ts';
import { planSubscribe } from './subscribe.ts';

/** Plans one command of the control plane. */
export function planAdminCommand(
  context: PlanContext,
  command: AdminCommand,
): AdminOutcome | Refused {
  switch (command.kind) {
    case 'seek':
      return planSeek(context, command);
    case 'deleteGroup':
      return planDeleteGroup(context, command);
    case 'subscribe':
      return planSubscribe(context, command);
    case 'replayDeadLetter':
      return planReplayDeadLetter(context, command);
    case 'purgeDeadLetters':
      return planPurgeDeadLetters(context, command);
    case 'deleteDeadLetters':
      return planDeleteDeadLetters(context, command);
    case 'maintenance':
      return planMaintenance(context, command);
    default:
      return unreachable(command);
  }
}
