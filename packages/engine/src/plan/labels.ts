// Queues by their labels, for pops that name no queue.

import type { QueueState } from '../queue-state.ts';
import type { PlanContext } from './context.ts';

/** Label pairs whose queues are remembered until a queue changes. */
const SCOPES_MAX = 256;

/** Queues that match, by name. An empty label does not filter; with both empty nothing matches. */
export function queuesByLabels(
  context: PlanContext,
  scope: { readonly namespace: string; readonly task: string },
): readonly QueueState[] {
  const { state, labelled } = context;
  if (context.labelledVersion !== state.queuesVersion || labelled.size >= SCOPES_MAX) {
    labelled.clear();
    context.labelledVersion = state.queuesVersion;
  }
  const key = JSON.stringify([scope.namespace, scope.task]);
  let queues = labelled.get(key);
  if (queues === undefined) {
    queues = [...state.queuesByName.values()]
      .filter((queue) => matches(queue, scope))
      .sort((a, b) => (a.name < b.name ? -1 : 1));
    labelled.set(key, queues);
  }
  return queues;
}

function matches(
  queue: QueueState,
  scope: { readonly namespace: string; readonly task: string },
): boolean {
  const { namespace, task } = queue.options;
  if (scope.namespace === '' && scope.task === '') return false;
  return (
    (scope.namespace === '' || scope.namespace === namespace) &&
    (scope.task === '' || scope.task === task)
  );
}
