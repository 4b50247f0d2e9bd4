// The public door of @queen-ts/cluster.

export { DiskGate } from './disk-gate.ts';
export { BROKER_LIMITS_DEFAULT } from './limits.ts';
export { openBroker, startBroker } from './start-broker.ts';
export { isLoopbackHost, parseAddress, peerSecurityProblem } from './transport/addresses.ts';
export { TcpTransport } from './transport/tcp-transport.ts';
export { TRANSPORT_LIMITS_DEFAULT } from './transport/transport-limits.ts';
export { PeerRequestError } from './transport/transport.ts';
export type { AppendMark, WaitOptions } from './append-watch.ts';
export type {
  Broker,
  BrokerStatus,
  PopOptions,
  ReadOptions,
  RequestOptions,
  WriteCommand,
} from './broker.ts';
export type { DiskMarks, VoterDisk } from './disk-gate.ts';
export type { BrokerLimits } from './limits.ts';
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
