// Queues: created, changed, and hidden when deleted. A deleted queue keeps its rows until effects
// remove its partitions one by one.

import { assert } from '@queen-ts/base';
import type { QueueDeleteEffect, QueuePutEffect } from '@queen-ts/protocol';
import { queueByNumber } from '../invariants.ts';
import { QueueState } from '../queue-state.ts';
import { restartWalks } from '../readiness.ts';
import type { State } from '../state.ts';

/** Creates a queue, or replaces the options of one. */
export function applyQueuePut(state: State, effect: QueuePutEffect): void {
  state.queuesVersion += 1;
  const known = state.queues.get(effect.queue);
  if (known !== undefined) {
    assert(!known.isDeleted && known.name === effect.name, () => `queue ${effect.queue}`);
    const waited = [known.delayUs, known.windowUs].join();
    const { namespace, task } = known.options;
    known.options = effect.options;
    const isRelabelled = namespace !== effect.options.namespace || task !== effect.options.task;
    const waitsOtherwise = waited !== [known.delayUs, known.windowUs].join();
    if (waitsOtherwise) restartWalks(state, known);
    // Pops may have waited for what it holds: by other labels, or for a delay that has ended now.
    const isNews = isRelabelled || waitsOtherwise;
    if (isNews && state.isSignalling) state.signals.appended(known.number, 0);
    return;
  }
  assert(effect.queue === state.nextQueue, () => `queue ${effect.queue}, not ${state.nextQueue}`);
  assert(!state.queuesByName.has(effect.name), () => `the name of queue ${effect.queue} is taken`);
  const { queue: number, name, id, createdUs, options } = effect;
  const queue = new QueueState({ number, name, id, createdUs, options });
  state.nextQueue += 1;
  state.queues.set(number, queue);
  state.queuesByName.set(name, queue);
}

/** Hides a queue and frees its name. */
export function applyQueueDelete(state: State, effect: QueueDeleteEffect): void {
  const queue = queueByNumber(state, effect.queue);
  assert(!queue.isDeleted, () => `queue ${effect.queue} is deleted already`);
  queue.isDeleted = true;
  state.queuesVersion += 1;
  state.queuesByName.delete(queue.name);
  for (const group of queue.groups) group.ready.clear();
  if (queue.partitions.count > 0) state.deletedQueues.push(queue);
  else forgetQueue(state, queue);
}

/** Removes the last traces of a deleted queue that has no partitions. */
export function forgetQueue(state: State, queue: QueueState): void {
  for (const group of queue.groups) state.groups.delete(group.number);
  state.queues.delete(queue.number);
}
