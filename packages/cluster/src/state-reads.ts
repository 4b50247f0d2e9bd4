// Reads of the state: run in slices, handed out when everything they may rest on is committed and,
// where that is asked for, when this node has proven that it led after they were complete.

import type { Clock } from '@queen-ts/base';
import type { Engine, EngineView, Read } from '@queen-ts/engine';
import type { RaftNode, ReadState } from '@queen-ts/raft';
import type { ReadOptions } from './broker.ts';
import type { InFlight } from './in-flight.ts';
import type { LeaderClock } from './leader-clock.ts';
import type { Leadership } from './leadership.ts';
import type { BrokerLimits } from './limits.ts';
import { ReadBarrier } from './read-barrier.ts';
import { ReadTurns } from './read-turns.ts';
import { nodeFailed, notLeader, readLate, readLost, rebuilding } from './refusals.ts';
import type { Replica } from './replica.ts';
import type { Scheduler } from './scheduler.ts';

/** Parts of the reads; all owned by the broker. */
export interface StateReadParts {
  readonly raft: RaftNode;
  readonly replica: Replica;
  readonly leadership: Leadership;
  readonly inFlight: InFlight;
  readonly clock: Clock;
  readonly scheduler: Scheduler;
  readonly limits: BrokerLimits;
  /** Why the node has stopped; undefined while it goes on. */
  readonly failure: () => Error | undefined;
  /** Something waits for the core. */
  readonly deferPump: () => void;
  /** Resolves after the next change of what is committed. */
  readonly nextChange: () => Promise<void>;
}

/** Reads of one node. */
export class StateReads {
  readonly #parts: StateReadParts;
  readonly #turns: ReadTurns;
  /** Reads that are complete and wait for the proof that this node led afterwards. */
  readonly #barrier: ReadBarrier<PromiseWithResolvers<void>>;

  constructor(parts: StateReadParts) {
    const { raft, clock, scheduler, limits } = parts;
    this.#parts = parts;
    this.#turns = new ReadTurns({ clock, scheduler, limits });
    this.#barrier = new ReadBarrier(raft, 1);
  }

  /** Whether the state is that of this node now: not while it is rebuilt, nor after a failure. */
  get isReadable(): boolean {
    return this.#parts.failure() === undefined && this.#parts.replica.isCurrent;
  }

  /** Runs a read; see `Broker.read`. */
  async read<T>(read: (view: EngineView) => Read<T>, options: ReadOptions): Promise<T> {
    const { replica, leadership } = this.#parts;
    const failure = this.#parts.failure();
    if (failure !== undefined) throw nodeFailed(failure);
    if (!replica.isCurrent) throw rebuilding();
    const { clock } = leadership;
    if (options.from === 'leader' && clock === undefined) throw notLeader();
    const { engine } = replica;
    const check = (): void => this.#check(engine, options, clock);
    const { deadlineUs } = options;
    const result = await this.#turns.run(read(leadership.view()), { deadlineUs, check });
    await this.#confirm(check, options);
    return result;
  }

  /**
   * Resolves with an index that contains every write answered before the call, once this node has
   * proven that it leads. Rejects with `no_leader` where it does not.
   */
  async confirmedIndex(deadlineUs: number): Promise<number> {
    const { raft, replica, leadership } = this.#parts;
    const failure = this.#parts.failure();
    if (failure !== undefined) throw nodeFailed(failure);
    const { clock } = leadership;
    if (clock === undefined) throw notLeader();
    const options: ReadOptions = { deadlineUs, from: 'leader' };
    const { commitIndex } = raft.status;
    await this.#lead(() => this.#check(replica.engine, options, clock));
    return commitIndex;
  }

  /** Whether the state contains the entry at `index`. */
  hasApplied(index: number): boolean {
    const { replica } = this.#parts;
    return replica.isCurrent && replica.appliedIndex >= index;
  }

  /** A round of confirmation ended. */
  confirmed(read: ReadState): void {
    for (const waiting of this.#barrier.confirm(read)) waiting.resolve();
  }

  /** Starts the next round of confirmation if reads wait for one. */
  start(): void {
    this.#barrier.start();
  }

  /** Refuses reads that wait for the proof of a leadership that is over. */
  abort(): void {
    for (const waiting of this.#barrier.abort()) waiting.reject(readLost());
  }

  /** Ends all reads, and those that come later. */
  close(reason: Error): void {
    this.#turns.close(reason);
  }

  /** Throws when a read in progress has lost what it reads, or its time. */
  #check(engine: Engine, options: ReadOptions, leaderClock: LeaderClock | undefined): void {
    const { replica, leadership, clock } = this.#parts;
    const failure = this.#parts.failure();
    if (failure !== undefined) throw nodeFailed(failure);
    if (replica.engine !== engine || !replica.isCurrent) throw readLost();
    if (options.from === 'leader' && leadership.clock !== leaderClock) throw readLost();
    if (options.deadlineUs <= clock.monotonicUs()) throw readLate();
  }

  /** Waits for the proof that this node leads. */
  #lead(check: () => void): Promise<void> {
    check();
    const waiting = Promise.withResolvers<void>();
    this.#barrier.add([waiting]);
    this.#barrier.start();
    this.#parts.deferPump();
    return waiting.promise;
  }

  /** Waits until what a read has seen is committed and, if it must be, proven to be the newest. */
  async #confirm(check: () => void, { from }: ReadOptions): Promise<void> {
    check();
    const { inFlight, replica, nextChange } = this.#parts;
    const seenIndex = inFlight.newest?.index ?? 0;
    if (seenIndex <= replica.appliedIndex && from === 'leader') return this.#lead(check);
    while (seenIndex > replica.appliedIndex) {
      await nextChange();
      check();
    }
  }
}
