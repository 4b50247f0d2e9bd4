// The public door of @queen-ts/raft.

export { channelOf, toNodeId } from './messages.ts';
export type {
  AppendMessage,
  AppendReply,
  Heartbeat,
  HeartbeatReply,
  IdentityConflict,
  Message,
  MessageHeader,
  NodeId,
  SnapshotMessage,
  SnapshotMeta,
  TimeoutNow,
  VoteReply,
  VoteRequest,
} from './messages.ts';
export type { Member, MemberRole, Membership, MembershipChange } from './membership.ts';
export { RaftNode } from './node.ts';
export type {
  MembershipResult,
  ProposeResult,
  RaftLimits,
  RaftNodeOptions,
  ReadIndexResult,
  TransferResult,
} from './node.ts';
export type { Entry, EntryType, HardState, HardStateStore, LogReader, LogStore } from './ports.ts';
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
