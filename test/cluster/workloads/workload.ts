// What a chaos run does to a cluster, and how it is judged afterwards.

import type { Rng } from '@queen-ts/base';
import type { NodeContents } from '../history/records.ts';
import type { Verdict } from '../history/verdict.ts';
import type { MemberClient } from './member-client.ts';

/** What workloads share. */
export interface WorkloadContext {
  /** A client of its own for each concurrent user. */
  readonly client: () => MemberClient;
  /** A stream of random numbers of its own for each concurrent user. */
  readonly rng: () => Rng;
}

/** A verdict and what it is about. */
export interface NamedVerdict extends Verdict {
  readonly checker: string;
}

/** One kind of use. Each uses queues of its own. */
export interface Workload {
  /** Creates what it needs while all members are well. */
  prepare(): Promise<void>;
  /** Uses the cluster until `signal` is aborted. */
  run(signal: AbortSignal): Promise<void>;
  /** Settles what is in doubt and consumes what is left, once all members are well again. */
  settle(): Promise<void>;
  /** Judges its own history. `contents` is what each member answers from its own state. */
  judge(
    contents: readonly NodeContents[],
  ): readonly NamedVerdict[] | Promise<readonly NamedVerdict[]>;
  /** Queues whose contents {@link judge} needs, with their partitions. */
  readonly reads: readonly { readonly queue: string; readonly partitions: readonly string[] }[];
}
