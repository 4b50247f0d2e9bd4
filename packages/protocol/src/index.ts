// The public door of @queen-ts/protocol.

export type {
  AdminCommand,
  DeleteDeadLettersCommand,
  DeleteGroupCommand,
  MaintenanceCommand,
  PurgeDeadLettersCommand,
  ReplayDeadLetterCommand,
  SeekCommand,
  SeekTarget,
  Step,
  SubscribeCommand,
} from './admin-commands.ts';
export type {
  AdminOutcome,
  DeletedDeadLettersOutcome,
  DeleteGroupOutcome,
  MaintenanceOutcome,
  ReplayDeadLetterOutcome,
  SeekOutcome,
  SubscribeOutcome,
} from './admin-outcomes.ts';
export { EMPTY_ACK_ANSWER, renderAck } from './answers/ack.ts';
export { renderConfigure, showQueueOptions } from './answers/configure.ts';
export type { ShownQueueOptions } from './answers/configure.ts';
export { openDeadLetter, renderDeadLetters } from './answers/dead-letters.ts';
export type { DeadLetterRow } from './answers/dead-letters.ts';
export { renderDeleteQueue } from './answers/delete-queue.ts';
export { renderError } from './answers/error.ts';
export type { ErrorAnswer } from './answers/error.ts';
export { renderFetch } from './answers/fetch.ts';
export type { FetchedRow, PayloadSource } from './answers/fetch.ts';
export { renderExtend } from './answers/lease.ts';
export { renderMessage, renderMessages } from './answers/messages.ts';
export type { MessageDetail, MessageRow, MessageSource } from './answers/messages.ts';
export { commaSeparated } from './answers/piece.ts';
export type { Piece } from './answers/piece.ts';
export { renderPop, renderPopRefusal } from './answers/pop.ts';
export type { PopSource } from './answers/pop.ts';
export { EMPTY_PUSH_ANSWER, renderPush } from './answers/push.ts';
export { renderRolledBack, renderTransaction } from './answers/transaction.ts';
export { renderReplay, REPLAY_GONE } from './answers/replay.ts';
export type { ReplayAnswer } from './answers/replay.ts';
export {
  BLOCK_FLAG,
  BLOCK_FORMAT_VERSION,
  BLOCK_FRAME_SIZE,
  BLOCK_HEADER_SIZE,
  BLOCK_KEY_SIZE,
  BLOCK_TRACE_ID_SIZE,
} from './block.ts';
export type { PayloadReader } from './block.ts';
export {
  BLOCK_LINKS_MAX,
  BLOCK_LINKS_SIZE_MAX,
  readBlockLinks,
  readPageLinks,
  writeBlockLinks,
} from './block-links.ts';
export type { BlockLinks, BlockRecord, LinkedBlock, PageLinks } from './block-links.ts';
export { BLOCK_FRAME, BlockReader, payloadOf } from './block-reader.ts';
export type { BlockAddress, BlockFrames } from './block-reader.ts';
export { blockSize, writeBlock } from './block-writer.ts';
export type { BlockSource } from './block-writer.ts';
export {
  ACK_LEASE,
  ACK_STATUS,
  ID_WORDS,
  MINTED_TXN,
  NO_PARTITION,
  PUSH_GROUP,
  PUSH_ITEM,
} from './commands.ts';
export type {
  AckCommand,
  AckStatus,
  Command,
  ConfigureCommand,
  DeleteQueueCommand,
  ExtendCommand,
  Id128,
  PopCommand,
  PopScope,
  PushCommand,
  ReleaseCommand,
  RequestId,
  Subscription,
  TransactionCommand,
} from './commands.ts';
export { readEffect, writeEffect } from './entry/codec.ts';
export { EFFECT, GROUP_MODE, ZERO_ID } from './entry/effects.ts';
export type {
  AppendEffect,
  CursorDeleteEffect,
  CursorPutEffect,
  DeadLetterDeleteEffect,
  DeadLetterPutEffect,
  Effect,
  GenesisEffect,
  GroupDeleteEffect,
  GroupMode,
  GroupPutEffect,
  LogStartEffect,
  MaintenanceEffect,
  PartitionDeleteEffect,
  PartitionPutEffect,
  QueueDeleteEffect,
  QueuePutEffect,
} from './entry/effects.ts';
export {
  ENTRY_FORMAT_VERSION,
  ENTRY_HEAD_SIZE,
  EntryHeadReader,
  EntryWriter,
} from './entry/entry-head.ts';
export type { RecordedOutcome } from './entry/entry-head.ts';
export { readTime, writeTime } from './entry/fields.ts';
export { readOutcome, writeOutcome } from './entry/outcomes/outcome-codec.ts';
export { BrokerError, ERRORS } from './errors.ts';
export type { ErrorCode, ErrorOutcome } from './errors.ts';
export { DONE, FAILED, JsonScanner } from './json/scanner.ts';
export {
  ACK_ERROR_TEXT_LENGTH_MAX,
  BODY_BYTES_MAX_DEFAULT,
  CONFLATED_PARTITIONS_MAX,
  DEFAULT_PARTITION,
  DEFAULT_TENANT,
  ENTRY_BYTES_MAX_DEFAULT,
  EXTEND_SECONDS_DEFAULT,
  EXTEND_SECONDS_MAX,
  IDEMPOTENCY_KEY_BYTES_MAX,
  JSON_DEPTH_MAX,
  NAME_BUDGET_BYTES,
  POP_BATCH_DEFAULT,
  POP_BYTES_MAX_DEFAULT,
  POP_TIMEOUT_MS_MAX,
  PRODUCER_SUB_BYTES_MAX,
  PUSH_ITEMS_MAX,
  QUEUE_MODE_GROUP,
  TRANSACTION_ID_BYTES_MAX,
} from './limits.ts';
export { nameBudgetError } from './names.ts';
export type { NameSizes } from './names.ts';
export { ACK_ERROR, PUSH_STATUS } from './outcomes.ts';
export type {
  AckOutcome,
  BlockSpan,
  Claim,
  ConfigureOutcome,
  DeleteQueueOutcome,
  EmptyReason,
  ExtendOutcome,
  Outcome,
  OutcomeOf,
  PopOutcome,
  PushOutcome,
  Refused,
  ReleaseOutcome,
  RollbackReason,
  RolledBack,
  TransactionOutcome,
} from './outcomes.ts';
export { parsePartitionId, partitionIdText, readPartitionId } from './partition-id.ts';
export {
  CONFIGURED_QUEUE_DEFAULTS,
  implicitQueueOptions,
  IMPLICIT_LEASE_TIME_SECONDS,
  QUEUE_OPTION_NAMES,
} from './queue-options.ts';
export type { QueueOptionName, QueueOptions, QueueOptionsPatch } from './queue-options.ts';
export { clientRequestId } from './request-id.ts';
export { AckItems } from './requests/ack-items.ts';
export { parseAck } from './requests/ack.ts';
export type { AckContext, AckEcho, AckRequest, NothingToAck } from './requests/ack.ts';
export { parseConfigure } from './requests/configure.ts';
export type { ConfigureContext } from './requests/configure.ts';
export { parseExtend } from './requests/lease.ts';
export { parsePop } from './requests/pop.ts';
export type { BadQuery, PopContext, PopPath, PopRefused, PopRequest } from './requests/pop.ts';
export { QueryError, QueryReader } from './requests/query.ts';
export { PushItems } from './requests/push-items.ts';
export { parsePush } from './requests/push.ts';
export type { NothingToPush, PushContext } from './requests/push.ts';
export { parseTransaction } from './requests/transaction.ts';
export type {
  BadTransaction,
  TransactionContext,
  TransactionEcho,
  TransactionRequest,
} from './requests/transaction.ts';
export { ackErrorText } from './ack-error-text.ts';
export {
  isSealed,
  isSealedWith,
  NO_OPENER,
  SealBindings,
  SEALED_KEY_ID,
  SEALING,
} from './sealing.ts';
export type { PayloadOpener, SealPlace, Sealing } from './sealing.ts';
