// Queue deletion: the queue is gone for every later command; housekeeping removes what it held.

import { EFFECT } from '@queen-ts/protocol';
import type { DeleteQueueCommand, DeleteQueueOutcome } from '@queen-ts/protocol';
import type { PlanContext } from './context.ts';

/** Plans a deletion. A queue that does not exist is no error. */
export function planDeleteQueue(
  context: PlanContext,
  command: DeleteQueueCommand,
): DeleteQueueOutcome {
  const queue = context.state.queuesByName.get(command.queue);
  if (queue !== undefined) context.emit({ kind: EFFECT.QUEUE_DELETE, queue: queue.number });
  return { kind: 'deleteQueue', queue: command.queue, existed: queue !== undefined };
}
