// One node's broker: queues commands, plans them while this node leads, proposes the entries, and
// answers once they are committed. A single thread owns everything here; no await separates a read
// of shared state from the write that depends on it.

import { assert } from '@queen-ts/base';
import type { Clock } from '@queen-ts/base';
import type { ClusterIdentity, Engine, EngineView, Read } from '@queen-ts/engine';
import type { Id128, Outcome, PayloadReader, PopCommand } from '@queen-ts/protocol';
import type { CheckpointStore, Entry, Message, RaftNode, SoftState } from '@queen-ts/raft';
import { AppendWatch } from './append-watch.ts';
import type { AppendMark, WaitOptions } from './append-watch.ts';
import type {
  Broker,
  BrokerStatus,
  PopOptions,
  ReadOptions,
  RequestOptions,
  WriteCommand,
} from './broker.ts';
import { CheckpointJob } from './checkpoint-job.ts';
import type { CheckpointJobStart, CheckpointSource } from './checkpoint-job.ts';
import { CommandQueue } from './command-queue.ts';
import { Deadlines } from './deadlines.ts';
import type { InFlight } from './in-flight.ts';
import { LeaderClock, LogTime } from './leader-clock.ts';
import type { BrokerLimits } from './limits.ts';
import { ParkingLot } from './parking-lot.ts';
import { Planner } from './planner.ts';
import type { Settlement } from './planner.ts';
import { RaftDriver } from './raft-driver.ts';
import type { RaftDriverParts } from './raft-driver.ts';
import { ReadBarrier } from './read-barrier.ts';
import { ReadTurns } from './read-turns.ts';
import {
  clientLeft,
  inDoubt,
  nodeFailed,
  nodeStopping,
  notLeader,
  queueFull,
  readLate,
  readLost,
  rebuilding,
} from './refusals.ts';
import { Replica } from './replica.ts';
import type { EngineState, ReplicaView } from './replica.ts';
import { claimOf, PopRequest, Request } from './request.ts';
import type { Scheduler } from './scheduler.ts';

/** Parts of a broker. */
export interface LocalBrokerParts extends RaftDriverParts {
  /** An engine that has seen nothing. */
  readonly createEngine: () => Engine;
  /** Loads the newest state that the log continues. */
  readonly loadState: () => Promise<EngineState>;
  readonly checkpoints: CheckpointStore;
  /** The reader that engines are built with: it must see planned entries. */
  readonly inFlight: InFlight;
  readonly clock: Clock;
  readonly scheduler: Scheduler;
  readonly limits: BrokerLimits;
  /** Period of the core's logical clock, in microseconds. */
  readonly tickUs: number;
  /** Id and hash key for a cluster that has none yet; used once, by its first leader. */
  readonly genesis: ClusterIdentity;
  /** Called once when the node cannot go on; the process must end with a non-zero code. */
  readonly onFailure: (error: Error) => void;
}

/** A broker on top of one RaftNode. */
export class LocalBroker implements Broker {
  readonly #parts: LocalBrokerParts;
  readonly #raft: RaftNode;
  readonly #replica: Replica;
  readonly #inFlight: InFlight;
  readonly #queue: CommandQueue;
  readonly #lot = new ParkingLot();
  readonly #planner: Planner;
  readonly #driver: RaftDriver;
  readonly #barrier: ReadBarrier<Settlement>;
  readonly #readTurns: ReadTurns;
  /** Reads that are complete and wait for the proof that this node led afterwards. */
  readonly #readBarrier: ReadBarrier<PromiseWithResolvers<void>>;
  readonly #appendWatch: AppendWatch;
  readonly #deadlines: Deadlines;
  readonly #checkpoints: CheckpointJob;
  #soft: SoftState;
  /** Set while this node leads and contains its whole log: it may plan. */
  #leaderClock: LeaderClock | undefined;
  readonly #logTime: LogTime;
  /** Set once the broker has started. */
  #hashKey: Uint32Array | undefined;
  #failure: Error | undefined;
  #isStopping = false;
  #isPumpDeferred = false;
  #ticket = 0;
  #entriesTotal = 0;
  #entryBytesTotal = 0;
  #cancelTick: () => void = () => {};
  readonly #watchers: (() => void)[] = [];

  /** @param initial the state that opening the log arrived at. */
  constructor(parts: LocalBrokerParts, initial: EngineState & CheckpointJobStart) {
    const { raft, limits, inFlight, clock, scheduler, log, createEngine, loadState } = parts;
    this.#parts = parts;
    this.#raft = raft;
    this.#inFlight = inFlight;
    this.#logTime = new LogTime(clock);
    const { term, leaderId, role, isIdentityRefused } = raft.status;
    this.#soft = { role, leaderId, term, isIdentityRefused };
    const onFailure = (error: unknown): void => this.#fail(error);
    const onRebuilt = (): void => this.#pump();
    this.#replica = new Replica(
      { createEngine, loadState, log, scheduler, onRebuilt, onFailure },
      initial,
    );
    const source = (): CheckpointSource | undefined => this.#checkpointSource();
    const store = parts.checkpoints;
    this.#checkpoints = new CheckpointJob(
      { store, clock, scheduler, limits, source, onFailure },
      initial,
    );
    const lot = this.#lot;
    const queue = new CommandQueue({
      commands: limits.queuedCommandsMax,
      bytes: limits.queuedBytesMax,
    });
    this.#queue = queue;
    this.#planner = new Planner({ queue, lot, limits });
    this.#barrier = new ReadBarrier(raft, 0);
    this.#readBarrier = new ReadBarrier(raft, 1);
    this.#readTurns = new ReadTurns({ clock, scheduler, limits });
    const view = (): EngineView | undefined => (this.#isReadable ? this.#view() : undefined);
    this.#appendWatch = new AppendWatch({ scheduler, limits, view });
    const onTimer = (): void => this.#pump();
    const onParkedOver = (pops: readonly PopRequest[]): void => this.#parkedOver(pops);
    this.#deadlines = new Deadlines({
      clock,
      scheduler,
      limits,
      queue,
      lot,
      inFlight,
      onTimer,
      onParkedOver,
    });
    this.#driver = new RaftDriver(parts, {
      committed: (entry) => this.#committed(entry),
      readConfirmed: (read) => {
        this.#answer(this.#barrier.confirm(read));
        for (const waiting of this.#readBarrier.confirm(read)) waiting.resolve();
        // What came while this round ran is confirmed by the next one.
        this.#barrier.start();
        this.#readBarrier.start();
      },
      roleChanged: (state) => this.#roleChanged(state),
      persisted: () => this.#pump(),
      failed: onFailure,
    });
  }

  /** Starts the timers; resolves once this node knows the cluster's identity and can serve. */
  async start(): Promise<void> {
    // An only voter need not wait for an election timeout: there is nobody to ask.
    const voters = this.#raft.status.membership.members.filter((member) => member.role === 'voter');
    if (voters.length === 1) this.#raft.campaign();
    this.#tick();
    while (
      this.#replica.engine.identity === undefined ||
      this.#inFlight.size > 0 ||
      !this.#isServing()
    ) {
      if (this.#failure !== undefined) throw this.#failure;
      await this.#nextChange();
    }
    // Committed, so it holds while the engine is rebuilt, too.
    this.#hashKey = this.#replica.engine.identity.hashKey;
  }

  /** This node's copy of the state. Read-only. */
  get replica(): ReplicaView {
    return this.#replica;
  }

  get payloads(): PayloadReader {
    return this.#inFlight;
  }

  get hashKey(): Uint32Array {
    assert(this.#hashKey !== undefined, 'the cluster has no identity yet');
    return this.#hashKey;
  }

  /** Takes a message from another member. */
  receive(message: Message): void {
    if (this.#failure !== undefined || this.#isStopping) return;
    this.#logTime.arrived(message);
    this.#raft.step(message);
    this.#deferPump();
  }

  submit(command: WriteCommand, options: RequestOptions): Promise<Outcome> {
    const request = new Request(command, options.deadlineUs, options.requestId);
    this.#enqueue(request);
    return request.outcome;
  }

  pop(command: PopCommand, options: PopOptions): Promise<Outcome> {
    this.#ticket += 1;
    const { deadlineUs, wait, signal, requestId: id } = options;
    const pop = new PopRequest(command, { deadlineUs, wait, ticket: this.#ticket, id });
    if (signal.aborted) {
      pop.fail(clientLeft());
      return pop.outcome;
    }
    signal.addEventListener('abort', () => this.#abandon(pop), { once: true });
    this.#enqueue(pop);
    return pop.outcome;
  }

  release(leaseId: Id128): void {
    if (this.#failure !== undefined || this.#isStopping) return;
    const request = new Request({ kind: 'release', leaseId }, Infinity);
    // Without room the lease ends by itself when its time is over, so a refusal is no loss.
    request.outcome.catch(() => {});
    this.#enqueue(request);
  }

  async read<T>(read: (view: EngineView) => Read<T>, options: ReadOptions): Promise<T> {
    const { deadlineUs, from } = options;
    if (this.#failure !== undefined) throw nodeFailed(this.#failure);
    if (!this.#replica.isCurrent) throw rebuilding();
    const leaderClock = this.#leaderClock;
    if (from === 'leader' && leaderClock === undefined) throw notLeader();
    const { engine } = this.#replica;
    const check = (): void => this.#checkRead(engine, options, leaderClock);
    const result = await this.#readTurns.run(read(this.#view()), { deadlineUs, check });
    await this.#confirmRead(check, options);
    return result;
  }

  waitForAppends(marks: readonly AppendMark[], options: WaitOptions): Promise<boolean> {
    if (this.#failure !== undefined || this.#isStopping) return Promise.resolve(false);
    return this.#appendWatch.wait(marks, options);
  }

  status(): BrokerStatus {
    const raft = this.#raft.status;
    const { queues, partitions, cursors, deadLetters } = this.#replica.engine.counters();
    return {
      nodeId: raft.id,
      role: raft.role,
      leaderId: raft.leaderId,
      term: raft.term,
      lastIndex: raft.lastIndex,
      commitIndex: raft.commitIndex,
      appliedIndex: this.#replica.appliedIndex,
      failure: this.#failure?.message,
      parkedPops: this.#lot.size,
      queuedCommands: this.#queue.commandCount,
      queuedBytes: this.#queue.sizeBytes,
      entriesTotal: this.#entriesTotal,
      entryBytesTotal: this.#entryBytesTotal,
      syncsTotal: this.#driver.syncsTotal,
      queues,
      partitions,
      cursors,
      deadLetters,
    };
  }

  async stop(): Promise<void> {
    if (this.#isStopping) return;
    this.#isStopping = true;
    const { clock, limits, log, hardState } = this.#parts;
    const giveUpUs = clock.monotonicUs() + limits.stopUs;
    this.#parkedOver(this.#lot.expire(() => true));
    this.#appendWatch.endAll();
    this.#pump();
    while (this.#isBusy() && this.#failure === undefined && clock.monotonicUs() < giveUpUs) {
      await this.#nextChange();
    }
    this.#cancelTick();
    this.#deadlines.cancel();
    await this.#driver.settled();
    this.#rejectAll((request) => (request.state === 'planned' ? inDoubt(request) : nodeStopping()));
    this.#readTurns.close(nodeStopping());
    if (this.#failure === undefined) {
      // The commit index rides along, so that the next start need not wait to learn it.
      await hardState.save({ ...hardState.current, commitIndex: this.#raft.status.commitIndex });
      await this.#checkpoints.stop(giveUpUs);
    }
    await log.close();
  }

  /** The client is gone: nothing is claimed for it any more, and it takes no room in the lot. */
  #abandon(pop: PopRequest): void {
    if (pop.state === 'answered') return;
    const isParked = pop.state === 'parked';
    pop.fail(clientLeft());
    if (!isParked) return;
    this.#lot.expectAnswered(this.#parts.clock.monotonicUs());
    this.#armDeadlines();
  }

  get #isReadable(): boolean {
    return this.#failure === undefined && this.#replica.isCurrent;
  }

  #view(): EngineView {
    const { engine } = this.#replica;
    return engine.view(this.#leaderClock?.nowUs() ?? engine.nowUs);
  }

  /** Throws when a read in progress has lost what it reads, or its time. */
  #checkRead(engine: Engine, options: ReadOptions, leaderClock: LeaderClock | undefined): void {
    if (this.#failure !== undefined) throw nodeFailed(this.#failure);
    if (this.#replica.engine !== engine || !this.#replica.isCurrent) throw readLost();
    if (options.from === 'leader' && this.#leaderClock !== leaderClock) throw readLost();
    if (options.deadlineUs <= this.#parts.clock.monotonicUs()) throw readLate();
  }

  /** Waits until what a read has seen is committed and, if it must be, proven to be the newest. */
  async #confirmRead(check: () => void, { from }: ReadOptions): Promise<void> {
    check();
    const seenIndex = this.#inFlight.newest?.index ?? 0;
    if (seenIndex <= this.#replica.appliedIndex && from === 'leader') {
      const waiting = Promise.withResolvers<void>();
      this.#readBarrier.add([waiting]);
      this.#readBarrier.start();
      this.#deferPump();
      return waiting.promise;
    }
    while (seenIndex > this.#replica.appliedIndex) {
      await this.#nextChange();
      check();
    }
  }

  #isBusy(): boolean {
    const isPlanning = this.#queue.commandCount > 0 || this.#planner.longCommandCount > 0;
    return isPlanning || this.#inFlight.size > 0 || !this.#barrier.isIdle;
  }

  #enqueue(request: Request): void {
    if (this.#failure !== undefined) request.fail(nodeFailed(this.#failure));
    else if (this.#isStopping) request.fail(nodeStopping());
    else if (this.#queue.offer(request)) this.#deferPump();
    else request.fail(queueFull());
  }

  /** Plans after the I/O events at hand, so that requests which arrived together travel together. */
  #deferPump(): void {
    if (this.#isPumpDeferred) return;
    this.#isPumpDeferred = true;
    this.#parts.scheduler.defer(() => {
      this.#isPumpDeferred = false;
      this.#pump();
    });
  }

  /** Lets the core and the planner do all they can now. Any exception ends the node. */
  #pump(): void {
    if (this.#failure !== undefined) return;
    try {
      this.#driver.pump();
      // One cycle for due timers, and for commands under way, is enough: what it leaves due is looked
      // at by the next timer, and the next step comes after the I/O events at hand.
      let isDue = this.#isTimerDue() || this.#planner.longCommandCount > 0;
      for (; this.#mayPlan(isDue); isDue = false) {
        this.#planCycle(this.#leaderClock);
        this.#driver.pump();
        // Not only what has an effect may take its time, and without one nothing is waited for.
        if (this.#planner.isCostly) break;
      }
      const isLeft = this.#planner.longCommandCount > 0 || this.#planner.isCostly;
      if (isLeft && this.#mayPlan(this.#planner.longCommandCount > 0)) this.#deferPump();
      this.#armDeadlines();
      this.#checkpoints.poll();
    } catch (error) {
      this.#fail(error);
    }
    this.#appendWatch.changed();
    for (const wake of this.#watchers.splice(0)) wake();
  }

  #mayPlan(isDue: boolean): boolean {
    if (!this.#isReadyToPlan() || this.#driver.isPersisting) return false;
    if (this.#inFlight.size >= this.#parts.limits.entriesInFlightMax) return false;
    return (
      this.#queue.commandCount > 0 ||
      this.#planner.hasWork(this.#parts.clock.monotonicUs()) ||
      this.#replica.engine.identity === undefined ||
      isDue
    );
  }

  /** The engine and what it contains: a leader's contains its whole log. */
  #checkpointSource(): CheckpointSource | undefined {
    if (!this.#replica.isCurrent) return undefined;
    const { engine, appliedIndex } = this.#replica;
    const isAhead = this.#leaderClock !== undefined;
    return { engine, index: isAhead ? this.#raft.status.lastIndex : appliedIndex };
  }

  /** A leader serves once it may plan; another member as soon as there is a leader. */
  #isServing(): boolean {
    return this.#soft.role === 'leader' ? this.#isReadyToPlan() : this.#soft.leaderId !== 0;
  }

  /** True once this node leads and its engine contains its whole log; starts the leader's clock. */
  #isReadyToPlan(): boolean {
    if (this.#leaderClock !== undefined) return true;
    if (this.#soft.role !== 'leader' || !this.#replica.isCurrent) return false;
    const { hasCommittedInTerm, lastIndex } = this.#raft.status;
    if (!hasCommittedInTerm || lastIndex !== this.#replica.appliedIndex) return false;
    const { clock } = this.#parts;
    const floorUs = this.#replica.engine.nowUs;
    this.#leaderClock = new LeaderClock(clock, { floorUs, logUs: this.#logTime.nowUs() });
    return true;
  }

  #planCycle(clock: LeaderClock | undefined): void {
    assert(clock !== undefined, 'planning without leadership');
    const { engine } = this.#replica;
    const monotonicUs = this.#parts.clock.monotonicUs();
    const index = this.#raft.status.lastIndex + 1;
    const { entry, settlements } = this.#planner.cycle(engine, {
      index,
      stampUs: clock.stampUs(),
      monotonicUs,
      genesis: engine.identity === undefined ? this.#parts.genesis : undefined,
    });
    if (entry === undefined) {
      this.#settleWithoutEntry(settlements);
      return;
    }
    const proposal = this.#raft.propose(entry);
    assert(proposal.ok, () => `entry ${index} was refused: ${JSON.stringify(proposal)}`);
    assert(proposal.index === index, () => `planned ${index}, proposed ${proposal.index}`);
    this.#entriesTotal += 1;
    this.#entryBytesTotal += entry.head.length + entry.payload.length;
    this.#inFlight.add({ index, term: proposal.term, payload: entry.payload, settlements });
  }

  /**
   * Answers without effect may rest on what is in flight: then they wait for the newest such entry,
   * whose commit also proves the leadership. Otherwise they wait for that proof alone.
   */
  #settleWithoutEntry(settlements: readonly Settlement[]): void {
    if (settlements.length === 0) return;
    const { newest } = this.#inFlight;
    if (newest !== undefined) {
      newest.settlements.push(...settlements);
      return;
    }
    this.#barrier.add(settlements);
    this.#barrier.start();
  }

  /** Parked pops want their empty answer: it needs the same proof as one that was just planned. */
  #parkedOver(pops: readonly PopRequest[]): void {
    const settlements: Settlement[] = [];
    for (const request of pops) {
      if (request.state === 'answered') continue;
      assert(request.lastEmpty !== undefined, 'a parked pop was tried before');
      request.state = 'planned';
      settlements.push({ request, outcome: request.lastEmpty });
    }
    this.#settleWithoutEntry(settlements);
  }

  #committed(entry: Entry): void {
    const planned = this.#inFlight.take(entry.index);
    assert(
      planned === undefined || planned.term === entry.term,
      () => `entry ${entry.index} of term ${planned?.term} became one of term ${entry.term}`,
    );
    this.#replica.commit(entry, planned !== undefined);
    this.#checkpoints.committed(entry);
    if (planned !== undefined) this.#answer(planned.settlements);
    this.#barrier.start();
    this.#readBarrier.start();
  }

  #roleChanged(state: SoftState): void {
    const leadsOn = state.role === 'leader' && state.term === this.#soft.term;
    this.#soft = state;
    if (leadsOn || this.#leaderClock === undefined) return;
    this.#logTime.know(this.#leaderClock.nowUs());
    this.#leaderClock = undefined;
    const open = this.#inFlight.drain().flatMap((entry) => entry.settlements);
    this.#checkpoints.leadershipLost(this.#replica.appliedIndex);
    const isAhead = open.length > 0 || this.#raft.status.lastIndex > this.#replica.appliedIndex;
    open.push(...this.#barrier.abort());
    for (const waiting of this.#readBarrier.abort()) waiting.reject(readLost());
    for (const request of [...open.map((it) => it.request), ...this.#planner.drain()]) {
      if (request.state !== 'answered') request.fail(inDoubt(request));
    }
    this.#unpark();
    // The tables contain entries that may never commit: only a rebuild leads back to what did.
    if (isAhead) this.#replica.rebuild(this.#replica.appliedIndex);
  }

  /** What parked pops were told rests on tables that may be thrown away: they start over. */
  #unpark(): void {
    for (const pop of this.#lot.expire(() => true)) {
      if (pop.state === 'answered') continue;
      pop.state = 'queued';
      if (!this.#queue.offer(pop)) pop.fail(queueFull());
    }
  }

  #answer(settlements: readonly Settlement[]): void {
    for (const { request, outcome } of settlements) {
      if (request.state !== 'answered') {
        request.answer(outcome);
        continue;
      }
      // The client left, or its time ran out, while the claim was on its way.
      const leaseId = claimOf(outcome);
      if (leaseId !== undefined) this.release(leaseId);
    }
  }

  #tick(): void {
    this.#cancelTick = this.#parts.scheduler.after(this.#parts.tickUs, () => this.#tick());
    if (this.#failure !== undefined) return;
    this.#raft.tick();
    this.#deadlines.expireRequests(this.#soft.leaderId !== 0);
    this.#planner.expire(this.#parts.clock.monotonicUs());
    this.#pump();
  }

  #isTimerDue(): boolean {
    const clock = this.#leaderClock;
    if (this.#lot.size === 0 || clock === undefined) return false;
    if (this.#planner.nextHoldEndUs <= this.#parts.clock.monotonicUs()) return true;
    return this.#replica.engine.nextTimerUs() <= clock.nowUs();
  }

  #armDeadlines(): void {
    const isFull = this.#inFlight.size >= this.#parts.limits.entriesInFlightMax;
    // What ends a persist or the wait for a commit looks at the engine's timers anyway.
    const clock = isFull || this.#driver.isPersisting ? undefined : this.#leaderClock;
    if (clock === undefined) {
      this.#deadlines.arm(Infinity);
      return;
    }
    const engineUs = clock.monotonicAtUs(this.#replica.engine.nextTimerUs());
    this.#deadlines.arm(Math.min(engineUs, this.#planner.nextHoldEndUs));
  }

  #nextChange(): Promise<void> {
    return new Promise((resolve) => {
      this.#watchers.push(resolve);
    });
  }

  #fail(cause: unknown): void {
    if (this.#failure !== undefined) return;
    const error = cause instanceof Error ? cause : new Error(String(cause));
    this.#failure = error;
    this.#cancelTick();
    this.#deadlines.cancel();
    this.#rejectAll((request) =>
      request.state === 'planned' ? inDoubt(request) : nodeFailed(error),
    );
    this.#parts.onFailure(error);
    for (const wake of this.#watchers.splice(0)) wake();
  }

  #rejectAll(reason: (request: Request) => Error): void {
    const planned = this.#inFlight.drain().flatMap((entry) => entry.settlements);
    const open = [
      ...[...planned, ...this.#barrier.abort()].map((settlement) => settlement.request),
      ...this.#planner.drain(),
      ...this.#queue.expire(() => true),
      ...this.#lot.expire(() => true),
    ];
    for (const request of open) {
      if (request.state !== 'answered') request.fail(reason(request));
    }
    for (const waiting of this.#readBarrier.abort()) waiting.reject(readLost());
  }
}
