// The public door of @queen-ts/engine.

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
export type { ClusterIdentity, Maintenance } from './state.ts';
export { CONFLATED_WIDTH_MAX, ENGINE_LIMITS_DEFAULT } from './limits.ts';
export type { EngineLimits } from './limits.ts';
export { readChangedPartitions, safeTimeUs } from './queries/changed-partitions.ts';
export type { ChangedFilter, ChangedPage, ChangedPartition } from './queries/changed-partitions.ts';
export { readDeadLetterById, readDeadLetterId, readDeadLetters } from './queries/dead-letters.ts';
export type { DeadLetterFilter, DeadLetterList, DeadLetterView } from './queries/dead-letters.ts';
export { readGroup, readGroupQueues, readGroups, readLagging } from './queries/groups.ts';
export type {
  CursorView,
  GroupQueueView,
  GroupSubscription,
  GroupView,
  LaggingCursor,
} from './queries/groups.ts';
export { readQueueLanes, readQueues } from './queries/list-queues.ts';
export { liveRanges } from './queries/liveness.ts';
export type { LiveRange } from './queries/liveness.ts';
export { readMaintenance } from './queries/maintenance.ts';
export { readMessages } from './queries/message-list.ts';
export type { ListedMessage, MessageFilter, MessageList, Readers } from './queries/message-list.ts';
export { MESSAGE_STATUSES } from './queries/message-status.ts';
export type { MessageGroup, MessageStatus } from './queries/message-status.ts';
export { readMessage } from './queries/messages.ts';
export type { MessageAddress, MessageView } from './queries/messages.ts';
export {
  highWatermark,
  partitionsCreated,
  readOffsetsAtTime,
  readRecords,
} from './queries/offset-reads.ts';
export type {
  FetchedEntry,
  FetchEntry,
  FetchError,
  LogBounds,
  OffsetAtTime,
} from './queries/offset-reads.ts';
export { readPositions } from './queries/positions.ts';
export type { PartitionName, PositionView } from './queries/positions.ts';
export { readQueueDepth } from './queries/queue-depth.ts';
export type { Depth, QueueDepth } from './queries/queue-depth.ts';
export { readQueueDetail, readQueueSizes } from './queries/queue-detail.ts';
export type { PartitionSize, PartitionView, QueueDetail } from './queries/queue-detail.ts';
export type {
  MessageCounts,
  PageFilter,
  QueueFilter,
  QueueLane,
  QueueList,
  QueueView,
} from './queries/queue-view.ts';
export { readBusiestPartitions, readLabels, readOverview } from './queries/rollups.ts';
export type { BusyPartition, LabelRollup, LagRange, Overview } from './queries/rollups.ts';
export { completed, EngineView } from './queries/view.ts';
export type { Read } from './queries/view.ts';
