// Queues that come into being by being used.

import { EFFECT, implicitQueueOptions } from '@queen-ts/protocol';
import type { Id128 } from '@queen-ts/protocol';
import type { QueueState } from '../queue-state.ts';
import type { State } from '../state.ts';
import type { PlanContext } from './context.ts';

/** The queue of a name, created with implicit options if it is missing. */
export function ensureQueue(context: PlanContext, name: string): QueueState {
  const { state } = context;
  const known = state.queuesByName.get(name);
  if (known !== undefined) return known;
  context.emit({
    kind: EFFECT.QUEUE_PUT,
    queue: state.nextQueue,
    name,
    id: implicitQueueId(state),
    createdUs: state.nowUs,
    options: implicitQueueOptions(name),
  });
  return state.queuesByName.get(name)!;
}

/**
 * A UUIDv7 for a queue that no client configured: its time, the cluster's id folded, and the queue
 * number, which makes it unique. The leader has no randomness while it plans.
 */
function implicitQueueId(state: State): Id128 {
  const ms = Math.floor(state.nowUs / 1000);
  const cluster = state.identity?.clusterId ?? [0, 0, 0, 0];
  const folded = cluster[0] ^ cluster[1] ^ cluster[2] ^ cluster[3];
  const randomA = (folded >>> 20) & 0xfff;
  return [
    Math.floor(ms / 0x1_0000) >>> 0,
    (((ms % 0x1_0000) << 16) | 0x7000 | randomA) >>> 0,
    (0x8000_0000 | (folded & 0x3fff_ffff)) >>> 0,
    state.nextQueue,
  ];
}
