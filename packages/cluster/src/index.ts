// The public door of @queen-ts/cluster.

export { BROKER_LIMITS_DEFAULT } from './limits.ts';
export { openBroker, startBroker } from './start-broker.ts';
export type { AppendMark, WaitOptions } from './append-watch.ts';
export type {
  Broker,
  BrokerStatus,
  PopOptions,
  ReadOptions,
  RequestOptions,
  WriteCommand,
} from './broker.ts';
export type { BrokerLimits } from './limits.ts';
export type { Scheduler } from './scheduler.ts';
export type { BrokerOptions, ClusterOptions, NodeBroker } from './start-broker.ts';
