// The planner: one function per command decides and applies its effects.

import type { Command, Outcome } from '@queen-ts/protocol';
import { planAdminCommand } from '../admin/plan-admin.ts';
import { planAck } from './ack.ts';
import { planConfigure } from './configure.ts';
import type { PlanContext } from './context.ts';
import { planDeleteQueue } from './delete-queue.ts';
import { planExtend } from './extend.ts';
import { planPop } from './pop.ts';
import { planPush } from './push.ts';
import { planRelease } from './release.ts';
import { planTransaction } from './transaction.ts';

/** Plans one command. */
export function planCommand(context: PlanContext, command: Command): Outcome {
  switch (command.kind) {
    case 'push':
      return planPush(context, command);
    case 'pop':
      return planPop(context, command);
    case 'ack':
      return planAck(context, command);
    case 'transaction':
      return planTransaction(context, command);
    case 'extend':
      return planExtend(context, command);
    case 'release':
      return planRelease(context, command);
    case 'configure':
      return planConfigure(context, command);
    case 'deleteQueue':
      return planDeleteQueue(context, command);
    default:
      return planAdminCommand(context, command);
  }
}
