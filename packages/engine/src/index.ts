// The public door of @queen-ts/engine.

export { Engine } from './engine.ts';
export type {
  CycleStart,
  EngineCounters,
  EngineOptions,
  EntryParts,
  QueueLabels,
  SignalVisitor,
} from './engine.ts';
export type { ClusterIdentity } from './state.ts';
export { CONFLATED_WIDTH_MAX, ENGINE_LIMITS_DEFAULT } from './limits.ts';
export type { EngineLimits } from './limits.ts';
export type { MessageCounts, QueueFilter, QueueList, QueueView } from './queries/queue-view.ts';
