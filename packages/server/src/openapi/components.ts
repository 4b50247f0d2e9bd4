// The named schemas of the document: bodies as clients may send them, answers as they come.

import { z } from 'zod';
import * as ack from '../schemas/ack.ts';
import * as configure from '../schemas/configure.ts';
import * as groups from '../schemas/consumer-groups.ts';
import * as deadLetters from '../schemas/dead-letters.ts';
import * as errors from '../schemas/errors.ts';
import * as health from '../schemas/health.ts';
import * as lease from '../schemas/lease.ts';
import * as maintenance from '../schemas/maintenance.ts';
import * as membership from '../schemas/membership.ts';
import * as messages from '../schemas/messages.ts';
import * as offsetReads from '../schemas/offset-reads.ts';
import * as pop from '../schemas/pop.ts';
import * as push from '../schemas/push.ts';
import * as queues from '../schemas/queues.ts';
import * as transaction from '../schemas/transaction.ts';

/** A JSON Schema of the 2020-12 dialect. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** What clients send, and its parts. */
const BODIES: Readonly<Record<string, z.ZodType>> = {
  PushBody: push.PushBody,
  PushItem: push.PushItem,
  AckBody: ack.AckBody,
  BatchAckBody: ack.BatchAckBody,
  SingleAckBody: ack.SingleAckBody,
  AckItem: ack.AckItem,
  ExtendBody: lease.ExtendBody,
  TransactionBody: transaction.TransactionBody,
  PushOperation: transaction.PushOperation,
  AckOperation: transaction.AckOperation,
  ConfigureBody: configure.ConfigureBody,
  QueueOptionsPatch: configure.QueueOptionsPatch,
  ReplayBody: deadLetters.ReplayBody,
  SeekBody: groups.SeekBody,
  SubscriptionBody: groups.SubscriptionBody,
  PositionsBody: groups.PositionsBody,
  FetchBody: offsetReads.FetchBody,
  OffsetsBody: offsetReads.OffsetsBody,
  ChangedBody: offsetReads.ChangedBody,
  MaintenanceBody: maintenance.MaintenanceBody,
  LearnerBody: membership.LearnerBody,
  PromoteBody: membership.PromoteBody,
  VotersBody: membership.VotersBody,
  TransferBody: membership.TransferBody,
};

/** What clients get, and its parts. */
const ANSWERS: Readonly<Record<string, z.ZodType>> = {
  Error: errors.ErrorEnvelope,
  NoSuchRoute: errors.NoSuchRoute,
  PlainError: errors.PlainError,
  Unsuccessful: errors.Unsuccessful,
  Membership: membership.Membership,
  MembershipAnswer: membership.MembershipAnswer,
  ChangedMembership: membership.ChangedMembership,
  ChangeRefusal: membership.ChangeRefusal,
  TransferAnswer: membership.TransferAnswer,
  RaftStatusAnswer: membership.RaftStatusAnswer,
  RaftMembersAnswer: membership.RaftMembersAnswer,
  RaftLivenessAnswer: membership.RaftLivenessAnswer,
  PushAnswer: push.PushAnswer,
  PushVerdict: push.PushVerdict,
  PopAnswer: pop.PopAnswer,
  PoppedMessage: pop.PoppedMessage,
  PopRefusal: pop.PopRefusal,
  AckAnswer: ack.AckAnswer,
  AckVerdict: ack.AckVerdict,
  ExtendAnswer: lease.ExtendAnswer,
  TransactionAnswer: transaction.TransactionAnswer,
  TransactionResult: transaction.TransactionResult,
  Committed: transaction.Committed,
  RolledBack: transaction.RolledBack,
  ConfigureAnswer: configure.ConfigureAnswer,
  QueueOptions: configure.QueueOptions,
  QueueListing: queues.QueueListing,
  QueueRow: queues.QueueRow,
  QueueDetail: queues.QueueDetail,
  QueueDepth: queues.QueueDepth,
  QueueSizes: queues.QueueSizes,
  DeleteQueueAnswer: queues.DeleteQueueAnswer,
  NamespaceList: queues.NamespaceList,
  TaskList: queues.TaskList,
  Overview: queues.Overview,
  BusiestPartitions: queues.BusiestPartitions,
  RefreshAnswer: queues.RefreshAnswer,
  DeadLetterList: deadLetters.DeadLetterList,
  DeadLetter: deadLetters.DeadLetter,
  ReplayAnswer: deadLetters.ReplayAnswer,
  ReplayGone: deadLetters.ReplayGone,
  ReplayRefused: deadLetters.ReplayRefused,
  DeletedMessage: deadLetters.DeletedMessage,
  MessageNotDeleted: deadLetters.MessageNotDeleted,
  PurgeAnswer: deadLetters.PurgeAnswer,
  PurgeRefused: deadLetters.PurgeRefused,
  GroupList: groups.GroupList,
  GroupRow: groups.GroupRow,
  GroupDetail: groups.GroupDetail,
  LaggingList: groups.LaggingList,
  PositionsAnswer: groups.PositionsAnswer,
  DeletedGroup: groups.DeletedGroup,
  SubscriptionAnswer: groups.SubscriptionAnswer,
  SeekAnswer: groups.SeekAnswer,
  SeekNotFound: groups.SeekNotFound,
  MessageList: messages.MessageList,
  MessageRow: messages.MessageRow,
  MessageDetail: messages.MessageDetail,
  FetchAnswer: offsetReads.FetchAnswer,
  OffsetsAnswer: offsetReads.OffsetsAnswer,
  ChangedAnswer: offsetReads.ChangedAnswer,
  MaintenanceAnswer: maintenance.MaintenanceAnswer,
  PopMaintenanceAnswer: maintenance.PopMaintenanceAnswer,
  Health: health.Health,
  Liveness: health.Liveness,
  RaftView: health.RaftView,
  MetricsSummary: health.MetricsSummary,
  OpenApi: health.OpenApi,
};

const NAMES: ReadonlyMap<z.ZodType, string> = new Map(
  [...Object.entries(BODIES), ...Object.entries(ANSWERS)].map(([name, schema]) => [schema, name]),
);

/** `components.schemas` of the document. */
export function componentSchemas(): Readonly<Record<string, JsonSchema>> {
  return { ...convert(BODIES, 'input'), ...convert(ANSWERS, 'output') };
}

/** A reference to a named schema. Throws when it has no name: a mistake in the tables above. */
export function referTo(schema: z.ZodType): JsonSchema {
  const name = NAMES.get(schema);
  if (name === undefined) throw new Error('a schema of an operation has no name');
  return { $ref: uriOf(name) };
}

function convert(
  schemas: Readonly<Record<string, z.ZodType>>,
  io: 'input' | 'output',
): Record<string, JsonSchema> {
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of Object.entries(schemas)) registry.add(schema, { id });
  const { schemas: converted } = z.toJSONSchema(registry, { io, uri: uriOf });
  return Object.fromEntries(
    Object.entries(converted).map(([id, { $schema: _dialect, $id: _uri, ...schema }]) => [
      id,
      opened(schema) as JsonSchema,
    ]),
  );
}

/** Answers may grow members: clients ignore what they do not know. */
function opened(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(opened);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).filter(
    ([name, member]) => name !== 'additionalProperties' || member !== false,
  );
  return Object.fromEntries(members.map(([name, member]) => [name, opened(member)]));
}

function uriOf(name: string): string {
  return `#/components/schemas/${name}`;
}
