// Transaction: acks and pushes that apply all or nothing, in one entry (reference §5). Nothing can be
// undone, so everything that can fail is decided first, acks before pushes; then nothing fails any more.

import { assert } from '@queen-ts/base';
import { ACK_ERROR, ackErrorText, PUSH_STATUS } from '@queen-ts/protocol';
import type {
  AckCommand,
  AckOutcome,
  PushOutcome,
  Refused,
  RollbackReason,
  RolledBack,
  TransactionCommand,
  TransactionOutcome,
} from '@queen-ts/protocol';
import { refusePaused } from '../admin/maintenance.ts';
import { AckBudget } from './ack-budget.ts';
import { ackOutcome, newVerdicts, targetsOf } from './ack.ts';
import { examineTarget, settleExamined } from './ack-target.ts';
import type { AckVerdicts, ExaminedTarget } from './ack-target.ts';
import type { PlanContext } from './context.ts';
import { checkPush, planPush } from './push.ts';
import { refuseUnsealed } from './sealing.ts';

/** One ack of the bundle, decided. */
interface ExaminedAck {
  readonly command: AckCommand;
  readonly verdicts: AckVerdicts;
  readonly targets: readonly ExaminedTarget[];
}

/** Plans a transaction. */
export function planTransaction(
  context: PlanContext,
  command: TransactionCommand,
): TransactionOutcome | RolledBack | Refused {
  const { transactionId, push } = command;
  const refusal =
    push === undefined ? undefined : (refusePaused(context) ?? refuseUnsealed(context, push));
  if (refusal !== undefined) return refusal;
  const rollback = (reason: RollbackReason, message: string): RolledBack => {
    return { kind: 'rolledBack', transactionId, reason, message };
  };
  const budget = new AckBudget(context);
  const examined = command.acks.map((ack) => examineAck(context, ack, budget));
  for (const { verdicts } of examined) {
    const error = verdicts.errors.find((it) => it !== ACK_ERROR.NONE);
    if (error !== undefined) return rollback('rejected_ack', ackErrorText(error));
  }
  const problem = push === undefined ? undefined : checkPush(context, push);
  if (problem !== undefined) return rollback(problem.reason, problem.message);
  return {
    kind: 'transaction',
    transactionId,
    acks: examined.map((ack) => settleAck(context, ack)),
    push: push === undefined ? undefined : storePush(context, push),
  };
}

/**
 * Decides the acks of one group. All that name a partition are one target, whichever lease they name:
 * each names the one that is held, or the bundle fails.
 */
function examineAck(context: PlanContext, command: AckCommand, budget: AckBudget): ExaminedAck {
  const verdicts = newVerdicts(command);
  const targets: ExaminedTarget[] = [];
  for (const target of targetsOf(context, command, { verdicts, byLease: false })) {
    const examined = examineTarget(context, { command, target, verdicts, budget });
    if (examined !== undefined) targets.push(examined);
  }
  return { command, verdicts, targets };
}

function settleAck(context: PlanContext, { command, verdicts, targets }: ExaminedAck): AckOutcome {
  for (const target of targets) settleExamined(context, target);
  return ackOutcome(command, verdicts);
}

function storePush(
  context: PlanContext,
  push: NonNullable<TransactionCommand['push']>,
): PushOutcome {
  const outcome = planPush(context, push);
  const isStored = outcome.kind === 'push' && !outcome.statuses.includes(PUSH_STATUS.ERROR);
  assert(isStored, 'a push of a transaction failed after it was checked');
  return outcome;
}
