// The public door of @queen-ts/raft.

export { CHECKPOINT_PIECE_BYTES_MAX } from './checkpoints.ts';
export type {
  CheckpointMeta,
  CheckpointStore,
  CheckpointVisitor,
  CheckpointWriter,
  LoadedCheckpoint,
  LogPosition,
} from './checkpoints.ts';
export { describeMembership, describeMessage, describeReady, describeStatus } from './describe.ts';
export { decodeMembership, encodeMembership } from './membership-codec.ts';
export { memberOf, MEMBER_COUNT_MAX, membershipOf, votersOf } from './membership.ts';
export type { ChangeRefusal, Member, MemberRole, Membership } from './membership.ts';
export type { MembershipChange } from './membership.ts';
export { channelOf } from './messages.ts';
export type {
  AppendMessage,
  AppendReply,
  Heartbeat,
  HeartbeatReply,
  IdentityConflict,
  Message,
  MessageHeader,
  SnapshotMessage,
  SnapshotMeta,
  TimeoutNow,
  VoteReply,
  VoteRequest,
} from './messages.ts';
export { toNodeId } from './node-id.ts';
export type { NodeId } from './node-id.ts';
export { RaftNode } from './node.ts';
export type { RaftLimits, RaftNodeOptions } from './options.ts';
export type {
  ArchivedRecord,
  Entry,
  EntryType,
  HardState,
  HardStateStore,
  LogArchive,
  LogReader,
  LogStore,
  PayloadRange,
  PurgedRecord,
} from './ports.ts';
export type {
  PeerStatus,
  PersistToken,
  RaftStatus,
  ReadState,
  Ready,
  Role,
  SnapshotRequest,
  SoftState,
} from './ready.ts';
export { SNAPSHOT_PIECE_BYTES_MAX } from './snapshots.ts';
export type {
  IncomingSnapshot,
  OutgoingSnapshot,
  SnapshotDescription,
  SnapshotStore,
} from './snapshots.ts';
export type {
  MembershipResult,
  ProposeResult,
  ReadIndexResult,
  TransferResult,
} from './results.ts';
