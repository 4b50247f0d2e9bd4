// One node's broker: takes requests, lets the core and the planner do what they can, and answers once
// it is committed. Owns the life cycle. A single thread owns everything here; no await separates a read
// of shared state from the write that depends on it.

import { assert } from '@queen-ts/base';
import type { Clock, Rng } from '@queen-ts/base';
import type { ClusterIdentity, Engine, EngineView, Read } from '@queen-ts/engine';
import type { Id128, Outcome, PayloadReader, PopCommand } from '@queen-ts/protocol';
import type {
  CheckpointStore,
  Entry,
  MembershipChange,
  MembershipResult,
  Message,
  NodeId,
  RaftNode,
  RaftStatus,
  SnapshotMeta,
  ReadState,
  SoftState,
  TransferResult,
} from '@queen-ts/raft';
import { encodeMembership, votersOf } from '@queen-ts/raft';
import { AppendWatch } from './append-watch.ts';
import type { AppendMark, WaitOptions } from './append-watch.ts';
import type {
  BrokerStatus,
  PopOptions,
  ReadOptions,
  RequestOptions,
  WriteCommand,
} from './broker.ts';
import { CheckpointJob, sizeOfEntry } from './checkpoint-job.ts';
import type { CheckpointJobStart, CheckpointSource } from './checkpoint-job.ts';
import { isGrowth } from './disk-gate.ts';
import type { DiskGate } from './disk-gate.ts';
import type { InFlight } from './in-flight.ts';
import { Leadership } from './leadership.ts';
import type { BrokerLimits } from './limits.ts';
import type { LogLimits } from './log-upkeep/limits.ts';
import { LogUpkeep } from './log-upkeep/log-upkeep.ts';
import type { SnapshotParts } from './log-upkeep/log-upkeep.ts';
import type { NodeBroker } from './node-broker.ts';
import { PlanLoop } from './plan-loop.ts';
import { RaftDriver } from './raft-driver.ts';
import type { RaftDriverParts } from './raft-driver.ts';
import {
  clientLeft,
  inDoubt,
  nodeFailed,
  nodeStopping,
  outcomeUnknown,
  queueFull,
  storageFull,
} from './refusals.ts';
import { Replica } from './replica.ts';
import type { EngineState, ReplicaView } from './replica.ts';
import { PopRequest, Request } from './request.ts';
import type { Scheduler } from './scheduler.ts';
import { StateReads } from './state-reads.ts';

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
  /** Refuses growth while it is closed; absent: growth is never refused. */
  readonly diskGate?: DiskGate | undefined;
  readonly limits: BrokerLimits;
  readonly logLimits: LogLimits;
  /** Absent: nobody is brought up to date by a snapshot. */
  readonly snapshots: SnapshotParts | undefined;
  readonly rng: Rng;
  /** Period of the core's logical clock, in microseconds. */
  readonly tickUs: number;
  /** Id and hash key for a cluster that has none yet; used once, by its first leader. */
  readonly genesis: ClusterIdentity;
  /** Called once when the node cannot go on; the process must end with a non-zero code. */
  readonly onFailure: (error: Error) => void;
  /** Called after role, leader or members changed. */
  readonly onChange?: (() => void) | undefined;
}

/** A broker on top of one RaftNode. */
export class LocalBroker implements NodeBroker {
  readonly #parts: LocalBrokerParts;
  readonly #raft: RaftNode;
  readonly #replica: Replica;
  readonly #leadership: Leadership;
  readonly #plans: PlanLoop;
  readonly #reads: StateReads;
  readonly #driver: RaftDriver;
  readonly #appendWatch: AppendWatch;
  readonly #checkpoints: CheckpointJob;
  readonly #log: LogUpkeep;
  /** Set once the broker has started. */
  #hashKey: Uint32Array | undefined;
  #failure: Error | undefined;
  /** Takes no requests any more. */
  #isStopping = false;
  /** Takes no messages any more. */
  #isStopped = false;
  #isPumpDeferred = false;
  #ticket = 0;
  #cancelTick: () => void = () => {};
  readonly #watchers: (() => void)[] = [];

  /** @param initial the state that opening the log arrived at. */
  constructor(parts: LocalBrokerParts, initial: EngineState & CheckpointJobStart) {
    const { raft, limits, clock, scheduler, log, createEngine, loadState } = parts;
    this.#parts = parts;
    this.#raft = raft;
    const onFailure = (error: unknown): void => this.#fail(error);
    const pump = (): void => this.#pump();
    this.#replica = new Replica(
      { createEngine, loadState, log, scheduler, onRebuilt: pump, onFailure },
      initial,
    );
    this.#leadership = new Leadership({ raft, replica: this.#replica, clock });
    const source = (): CheckpointSource | undefined => this.#checkpointSource();
    const store = parts.checkpoints;
    this.#checkpoints = new CheckpointJob(
      { store, clock, scheduler, limits, source, onFailure },
      initial,
    );
    const state = source;
    const deferPump = (): void => this.#deferPump();
    const snapshotArrived = (message: Message): void => this.#leadership.arrived(message);
    this.#log = new LogUpkeep(
      { ...parts, limits: parts.logLimits, state, snapshotArrived, deferPump, onFailure },
      initial.committedIndex,
    );
    const shared = { ...parts, replica: this.#replica, leadership: this.#leadership };
    this.#plans = new PlanLoop({
      ...shared,
      pump,
      isPersisting: () => this.#driver.isPersisting,
      release: (leaseId) => this.release(leaseId),
    });
    this.#reads = new StateReads({
      ...shared,
      failure: () => this.#failure,
      deferPump,
      nextChange: () => this.#nextChange(),
    });
    const view = (): EngineView | undefined =>
      this.#reads.isReadable ? this.#leadership.view() : undefined;
    this.#appendWatch = new AppendWatch({ scheduler, limits, view });
    this.#driver = new RaftDriver(parts, {
      committed: (entry) => this.#committed(entry),
      readConfirmed: (read) => this.#readConfirmed(read),
      roleChanged: (soft) => this.#roleChanged(soft),
      snapshotWanted: (request) => this.#log.snapshotWanted(request),
      installing: (snapshot) => this.#installing(snapshot),
      installed: (snapshot) => this.#installed(snapshot),
      persisted: pump,
      failed: onFailure,
    });
  }

  /** Starts the timers; resolves once this node knows the cluster's identity and can serve. */
  async start(): Promise<void> {
    // An only voter need not wait for an election timeout: there is nobody to ask.
    const { id, membership } = this.#raft.status;
    const voters = votersOf(membership);
    if (voters.length === 1 && voters[0] === id) this.#raft.campaign();
    this.#tick();
    this.#log.start();
    while (
      this.#replica.engine.identity === undefined ||
      this.#parts.inFlight.size > 0 ||
      !this.#leadership.isServing
    ) {
      if (this.#failure !== undefined) throw this.#failure;
      await this.#nextChange();
    }
    // Committed, so it holds while the engine is rebuilt, too.
    this.#hashKey = this.#replica.engine.identity.hashKey;
  }

  get replica(): ReplicaView {
    return this.#replica;
  }

  get leaderId(): NodeId | 0 {
    return this.#leadership.leaderId;
  }

  get isLeader(): boolean {
    return this.#leadership.isLeader && this.#failure === undefined;
  }

  get failure(): Error | undefined {
    return this.#failure;
  }

  get raftStatus(): RaftStatus {
    return this.#raft.status;
  }

  quorumAgeUs(): number | undefined {
    return this.#leadership.quorumAgeUs(this.#parts.tickUs);
  }

  get payloads(): PayloadReader {
    return this.#parts.inFlight;
  }

  payloadsOf(): PayloadReader {
    return this.#parts.inFlight;
  }

  get hashKey(): Uint32Array {
    assert(this.#hashKey !== undefined, 'the cluster has no identity yet');
    return this.#hashKey;
  }

  receiveSnapshot(from: NodeId, bytes: Uint8Array): Promise<Uint8Array> {
    if (this.#failure !== undefined) return Promise.reject(nodeFailed(this.#failure));
    return this.#log.serve(from, bytes);
  }

  receive(message: Message): void {
    if (this.#failure !== undefined || this.#isStopped) return;
    this.#leadership.arrived(message);
    this.#raft.step(message);
    this.#deferPump();
  }

  unreachable(to: NodeId): void {
    if (this.#failure !== undefined || this.#isStopped) return;
    this.#raft.reportUnreachable(to);
    this.#deferPump();
  }

  handBack(): void {
    this.#plans.handBack();
  }

  confirmedIndex(deadlineUs: number): Promise<number> {
    return this.#reads.confirmedIndex(deadlineUs);
  }

  applied(index: number, deadlineUs: number): Promise<boolean> {
    const { clock, scheduler } = this.#parts;
    if (this.#reads.hasApplied(index)) return Promise.resolve(true);
    const waitUs = deadlineUs - clock.monotonicUs();
    if (waitUs <= 0) return Promise.resolve(false);
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const cancel = scheduler.after(waitUs, () => resolve(false));
    const look = (): void => {
      if (this.#reads.hasApplied(index) || this.#failure !== undefined || this.#isStopped) {
        cancel();
        resolve(this.#reads.hasApplied(index));
      } else if (clock.monotonicUs() < deadlineUs) this.#watchers.push(look);
    };
    this.#watchers.push(look);
    return promise;
  }

  async commitMembers(change: MembershipChange, deadlineUs: number): Promise<MembershipResult> {
    const result = this.changeMembers(change);
    if (!result.ok) return result;
    const { index, term } = result;
    while (this.#replica.appliedIndex < index) {
      if (!this.#isLeaderOf(term)) throw outcomeUnknown('the leader changed');
      if (this.#parts.clock.monotonicUs() >= deadlineUs) {
        throw outcomeUnknown('the change was not committed before the deadline');
      }
      await this.#nextChange();
    }
    return result;
  }

  async transferLeadership(to: NodeId, deadlineUs: number): Promise<TransferResult> {
    const result = this.#raft.transferLeadership(to);
    if (!result.ok) return result;
    this.#leadership.transferring();
    this.#deferPump();
    const { term } = this.#raft.status;
    while (this.#isLeaderOf(term) && this.#raft.status.transferTarget !== 0) {
      if (this.#parts.clock.monotonicUs() >= deadlineUs) break;
      await this.#nextChange();
    }
    if (this.#isLeaderOf(term)) throw outcomeUnknown('the other node did not take over in time');
    return result;
  }

  changeMembers(change: MembershipChange): MembershipResult {
    const isOver = this.#failure !== undefined || this.#isStopping;
    if (isOver) return { ok: false, refusal: 'notLeader' };
    const result = this.#raft.proposeMembership(change);
    this.#deferPump();
    return result;
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

  read<T>(read: (view: EngineView) => Read<T>, options: ReadOptions): Promise<T> {
    return this.#reads.read(read, options);
  }

  waitForAppends(marks: readonly AppendMark[], options: WaitOptions): Promise<boolean> {
    if (this.#failure !== undefined || this.#isStopping) return Promise.resolve(false);
    return this.#appendWatch.wait(marks, options);
  }

  encrypts(queue: string): boolean {
    return this.#replica.engine.encrypts(queue);
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
      ...this.#plans.counters(),
      syncsTotal: this.#driver.syncsTotal,
      queues,
      partitions,
      cursors,
      deadLetters,
      checkpoints: this.#checkpoints.status,
      log: this.#log.counters(),
    };
  }

  async stop(): Promise<void> {
    if (this.#isStopping) return;
    this.#isStopping = true;
    const { clock, limits, log, hardState } = this.#parts;
    const giveUpUs = clock.monotonicUs() + limits.stopUs;
    this.#plans.endParked();
    this.#appendWatch.endAll();
    this.#pump();
    while (this.#plans.isBusy && this.#failure === undefined && clock.monotonicUs() < giveUpUs) {
      await this.#nextChange();
    }
    this.#isStopped = true;
    this.#cancelTick();
    this.#plans.cancelTimer();
    await this.#driver.settled();
    this.#rejectAll((request) => (request.state === 'planned' ? inDoubt(request) : nodeStopping()));
    this.#reads.close(nodeStopping());
    if (this.#failure === undefined) {
      // The commit index rides along, so that the next start need not wait to learn it.
      await hardState.save({ ...hardState.current, commitIndex: this.#raft.status.commitIndex });
      await this.#checkpoints.stop(giveUpUs);
    }
    await this.#log.stop();
    await log.close();
  }

  /** The client is gone: nothing is claimed for it any more, and it takes no room in the lot. */
  #abandon(pop: PopRequest): void {
    if (pop.state === 'answered') return;
    const isParked = pop.state === 'parked';
    pop.fail(clientLeft());
    if (isParked) this.#plans.parkedPopAnswered();
  }

  #enqueue(request: Request): void {
    if (this.#failure !== undefined) request.fail(nodeFailed(this.#failure));
    else if (this.#isStopping) request.fail(nodeStopping());
    else if (this.#isRefusedGrowth(request)) request.fail(storageFull());
    else if (this.#plans.offer(request)) this.#deferPump();
    else request.fail(queueFull());
  }

  /** A repeat of what was done before the disks filled up grows nothing, and must get its answer. */
  #isRefusedGrowth({ command, id }: Request): boolean {
    if (this.#parts.diskGate?.isClosed !== true || !isGrowth(command)) return false;
    return id === undefined || !this.#replica.engine.remembers(id);
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
      if (this.#plans.run(() => this.#driver.pump())) this.#deferPump();
      this.#checkpoints.poll();
      this.#log.poll();
    } catch (error) {
      this.#fail(error);
    }
    this.#appendWatch.changed();
    this.#wakeWatchers();
  }

  /** The engine and what it contains: a leader's contains its whole log. */
  #checkpointSource(): CheckpointSource | undefined {
    if (!this.#replica.isCurrent) return undefined;
    const { engine, appliedIndex } = this.#replica;
    const isAhead = this.#leadership.clock !== undefined;
    return { engine, index: isAhead ? this.#raft.status.lastIndex : appliedIndex };
  }

  #committed(entry: Entry): void {
    const settlements = this.#plans.take(entry);
    this.#replica.commit(entry, settlements !== undefined);
    this.#checkpoints.committed(entry);
    this.#log.committed(entry, sizeOfEntry(entry));
    if (settlements !== undefined) this.#plans.answer(settlements);
    if (entry.type === 'membership') this.#parts.onChange?.();
    this.#startBarriers();
  }

  #readConfirmed(read: ReadState): void {
    this.#plans.confirmed(read);
    this.#reads.confirmed(read);
    // What came while this round ran is confirmed by the next one.
    this.#startBarriers();
  }

  #startBarriers(): void {
    this.#plans.startBarrier();
    this.#reads.start();
  }

  #roleChanged(state: SoftState): void {
    const wasLost = this.#leadership.changed(state);
    if (wasLost) this.#leadershipLost();
    this.#parts.onChange?.();
  }

  #leadershipLost(): void {
    this.#checkpoints.leadershipLost(this.#replica.appliedIndex);
    this.#log.leadershipLost();
    const isAhead = this.#plans.leadershipLost();
    this.#reads.abort();
    // The tables contain entries that may never commit: only a rebuild leads back to what did.
    if (!isAhead) return;
    this.#log.stateLost();
    this.#replica.rebuild(this.#replica.appliedIndex);
  }

  /** All state is about to be replaced: from now on there is none, and nothing touches the log. */
  async #installing({ index }: SnapshotMeta): Promise<void> {
    this.#replica.suspend(index);
    await Promise.all([this.#checkpoints.suspend(), this.#log.beforeInstall()]);
  }

  async #installed({ index, membership }: SnapshotMeta): Promise<void> {
    const head = encodeMembership(membership);
    this.#checkpoints.resume({ committedIndex: index, membership: head, grownBytes: 0 });
    this.#replica.resume();
    await this.#log.installed(index);
    this.#parts.onChange?.();
  }

  #tick(): void {
    this.#cancelTick = this.#parts.scheduler.after(this.#parts.tickUs, () => this.#tick());
    if (this.#failure !== undefined) return;
    this.#raft.tick();
    this.#plans.expire(this.#leadership.leaderId !== 0);
    this.#pump();
  }

  #isLeaderOf(term: number): boolean {
    const { role, term: current } = this.#raft.status;
    return this.#failure === undefined && role === 'leader' && current === term;
  }

  #nextChange(): Promise<void> {
    return new Promise((resolve) => {
      this.#watchers.push(resolve);
    });
  }

  #wakeWatchers(): void {
    for (const wake of this.#watchers.splice(0)) wake();
  }

  #fail(cause: unknown): void {
    if (this.#failure !== undefined) return;
    const error = cause instanceof Error ? cause : new Error(String(cause));
    this.#failure = error;
    this.#cancelTick();
    this.#plans.cancelTimer();
    this.#rejectAll((request) =>
      request.state === 'planned' ? inDoubt(request) : nodeFailed(error),
    );
    this.#parts.onFailure(error);
    this.#wakeWatchers();
  }

  #rejectAll(reason: (request: Request) => Error): void {
    this.#plans.rejectAll(reason);
    this.#reads.abort();
  }
}
