// What faults need of a cluster of real processes. Members are numbered from 1.

import type { PeerLinks } from '../faults/peer-links.ts';

/** A running cluster whose members can be hurt one by one. */
export interface ChaosCluster {
  readonly members: readonly number[];
  /** Base URL of each member, in the order of {@link members}; they survive restarts. */
  readonly urls: readonly string[];
  /** What stands between the members. */
  readonly links: PeerLinks;
  /** The member that leads in the highest term, as they say of themselves; undefined if none does. */
  leader(): Promise<number | undefined>;
  /** SIGKILL; resolves once the process is gone. */
  kill(member: number): Promise<void>;
  /** Starts a killed or terminated member; resolves once it listens. */
  start(member: number): Promise<void>;
  /** SIGTERM; resolves with the exit code. */
  terminate(member: number): Promise<number | null>;
  /** SIGSTOP. */
  suspend(member: number): void;
  /** SIGCONT. */
  resume(member: number): void;
  /** Moves the wall clock that a member sees, by so many milliseconds from the true time. */
  setClockOffset(member: number, offsetMs: number): Promise<void>;
  /** Makes each sync of a member's disk take longer by so many milliseconds; 0 ends it. */
  setSyncDelay(member: number, delayMs: number): Promise<void>;
  /** Resolves once every member is healthy. */
  healthy(): Promise<void>;
}
