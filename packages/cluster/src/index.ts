// The public door of @queen-ts/cluster.

export { DiskGate } from './disk-gate.ts';
export { BROKER_LIMITS_DEFAULT } from './limits.ts';
export { Member } from './member/member.ts';
export { parsePlace, placeText } from './member/places.ts';
export { MEMBER_COUNT_MAX } from '@queen-ts/raft';
export { LOG_LIMITS_DEFAULT } from './log-upkeep/limits.ts';
export { SNAPSHOT_REQUEST_KIND } from './log-upkeep/snapshot-calls.ts';
export { openBroker, startBroker } from './start-broker.ts';
export { isLoopbackHost, parseAddress, peerSecurityProblem } from './transport/addresses.ts';
export { TcpTransport } from './transport/tcp-transport.ts';
export { TRANSPORT_LIMITS_DEFAULT } from './transport/transport-limits.ts';
export { PeerRequestError } from './transport/transport.ts';
export type { AppendMark, WaitOptions } from './append-watch.ts';
export type {
  Broker,
  BrokerStatus,
  CancelSignal,
  PopOptions,
  ReadOptions,
  RequestOptions,
  WriteCommand,
} from './broker.ts';
export type { DiskMarks, VoterDisk } from './disk-gate.ts';
export type { ClusterAdmin } from './member/cluster-admin.ts';
export type { MemberOptions } from './member/member.ts';
export type { MemberView, NodeView } from './member/membership-view.ts';
export type { Place } from './member/places.ts';
export type { NodeId } from '@queen-ts/raft';
export type { CheckpointStatus } from './checkpoint-job.ts';
export type { BrokerLimits } from './limits.ts';
export type { LogLimits } from './log-upkeep/limits.ts';
export type { LogUpkeepCounters } from './log-upkeep/log-upkeep.ts';
export type { SnapshotRequester } from './log-upkeep/snapshot-sender.ts';
export type { Scheduler } from './scheduler.ts';
export type { NodeBroker } from './node-broker.ts';
export type { BrokerOptions, ClusterOptions } from './start-broker.ts';
export type { HostPort, PeerAddress } from './transport/addresses.ts';
export type { RefusalReason } from './transport/refusal.ts';
export type { TcpTransportOptions } from './transport/tcp-transport.ts';
export type { TransportLimits } from './transport/transport-limits.ts';
export type {
  ConnectionClass,
  LinkState,
  PeerRequest,
  PeerRequestFailure,
  PeerRequestOptions,
  PeerState,
  Transport,
  TransportEvent,
  TransportHandler,
  TransportStats,
} from './transport/transport.ts';
