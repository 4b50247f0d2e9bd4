// The public door of @queen-ts/engine.

export type {
  AdminCommand,
  AdminOutcome,
  DeletedDeadLettersOutcome,
  DeleteDeadLettersCommand,
  DeleteGroupCommand,
  DeleteGroupOutcome,
  PurgeDeadLettersCommand,
  ReplayDeadLetterCommand,
  ReplayDeadLetterOutcome,
  SeekCommand,
  SeekOutcome,
  SeekTarget,
  SubscribeCommand,
  SubscribeOutcome,
} from './admin/commands.ts';
export type { FrozenState } from './checkpoint/frozen-state.ts';
export { EngineRestorer } from './checkpoint/restorer.ts';
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
export type { DeadLetterFilter, DeadLetterList, DeadLetterView } from './queries/dead-letters.ts';
export type { MessageGroup, MessageStatus, MessageView } from './queries/messages.ts';
export type { MessageCounts, QueueFilter, QueueList, QueueView } from './queries/queue-view.ts';
