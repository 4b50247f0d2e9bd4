// One node's broker: queues commands, plans them while this node leads, proposes the entries, and
// answers once they are committed. A single thread owns everything here; no await separates a read
// of shared state from the write that depends on it.

import { assert } from '@queen-ts/base';
import type { Clock } from '@queen-ts/base';
import type { ClusterIdentity, Engine, QueueFilter, QueueList } from '@queen-ts/engine';
import type { Id128, Outcome, PayloadReader, PopCommand } from '@queen-ts/protocol';
import type { Entry, RaftNode, SoftState } from '@queen-ts/raft';
import type { Broker, BrokerStatus, PopOptions, RequestOptions, WriteCommand } from './broker.ts';
import { CommandQueue } from './command-queue.ts';
import type { InFlight } from './in-flight.ts';
import { LeaderClock } from './leader-clock.ts';
import type { BrokerLimits } from './limits.ts';
import { ParkingLot } from './parking-lot.ts';
import { Planner } from './planner.ts';
import type { Settlement } from './planner.ts';
import { RaftDriver } from './raft-driver.ts';
import type { RaftDriverParts } from './raft-driver.ts';
import {
  clientLeft,
  inDoubt,
  nodeFailed,
  nodeStopping,
  notPlanned,
  queueFull,
} from './refusals.ts';
import { hasClaims, PopRequest, Request } from './request.ts';
import type { Scheduler } from './scheduler.ts';

/** Parts of a broker. */
export interface LocalBrokerParts extends RaftDriverParts {
  readonly engine: Engine;
  /** The reader that the engine was built with: it must see planned entries. */
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
  readonly #engine: Engine;
  readonly #inFlight: InFlight;
  readonly #queue: CommandQueue;
  readonly #lot = new ParkingLot();
  readonly #planner: Planner;
  readonly #driver: RaftDriver;
  #soft: SoftState;
  /** Set while this node leads and has applied everything before its term: it may plan. */
  #leaderClock: LeaderClock | undefined;
  #appliedIndex: number;
  #failure: Error | undefined;
  #isStopping = false;
  #isPumpDeferred = false;
  #ticket = 0;
  #entriesTotal = 0;
  #entryBytesTotal = 0;
  #cancelTick: () => void = () => {};
  #cancelTimer: () => void = () => {};
  readonly #idle: (() => void)[] = [];

  /** @param appliedIndex the index up to which `engine` has applied the log already. */
  constructor(parts: LocalBrokerParts, appliedIndex: number) {
    this.#parts = parts;
    this.#raft = parts.raft;
    this.#engine = parts.engine;
    this.#inFlight = parts.inFlight;
    this.#appliedIndex = appliedIndex;
    const { term, leaderId, role, isIdentityRefused } = parts.raft.status;
    this.#soft = { role, leaderId, term, isIdentityRefused };
    const { limits, engine } = parts;
    this.#queue = new CommandQueue({
      commands: limits.queuedCommandsMax,
      bytes: limits.queuedBytesMax,
    });
    this.#planner = new Planner({ engine, queue: this.#queue, lot: this.#lot, limits });
    this.#driver = new RaftDriver(parts, {
      committed: (entry) => this.#committed(entry),
      roleChanged: (state) => this.#roleChanged(state),
      persisted: () => this.#pump(),
      failed: (error) => this.#fail(error),
    });
  }

  /** Starts the timers; resolves once this node knows the cluster's identity. */
  async start(): Promise<void> {
    this.#tick();
    this.#pump();
    while (this.#engine.identity === undefined || this.#inFlight.size > 0) {
      if (this.#failure !== undefined) throw this.#failure;
      await this.#nextChange();
    }
  }

  get payloads(): PayloadReader {
    return this.#inFlight;
  }

  get hashKey(): Uint32Array {
    const { identity } = this.#engine;
    assert(identity !== undefined, 'the cluster has no identity yet');
    return identity.hashKey;
  }

  submit(command: WriteCommand, options: RequestOptions): Promise<Outcome> {
    const request = new Request(command, options.deadlineUs);
    this.#enqueue(request);
    return request.outcome;
  }

  pop(command: PopCommand, options: PopOptions): Promise<Outcome> {
    this.#ticket += 1;
    const { deadlineUs, wait, signal } = options;
    const pop = new PopRequest(command, { deadlineUs, wait, ticket: this.#ticket });
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
    // Without room the lease ends by itself when its time is over, so the refusal is no loss.
    request.outcome.catch(() => {});
    this.#enqueue(request);
  }

  async listQueues(filter: QueueFilter): Promise<QueueList> {
    if (this.#failure !== undefined) throw nodeFailed(this.#failure);
    const nowUs = this.#leaderClock?.nowUs() ?? this.#engine.nowUs;
    const list = this.#engine.listQueues({ ...filter, nowUs });
    // What was just read may rest on entries that are not committed yet.
    const seen = this.#inFlight.newest;
    while (seen !== undefined && seen.index > this.#appliedIndex) {
      await this.#nextChange();
      if (this.#failure !== undefined) throw nodeFailed(this.#failure);
    }
    return list;
  }

  status(): BrokerStatus {
    const raft = this.#raft.status;
    const counters = this.#engine.counters();
    return {
      nodeId: raft.id,
      role: raft.role,
      leaderId: raft.leaderId,
      term: raft.term,
      lastIndex: raft.lastIndex,
      commitIndex: raft.commitIndex,
      appliedIndex: this.#appliedIndex,
      failure: this.#failure?.message,
      parkedPops: this.#lot.size,
      queuedCommands: this.#queue.commandCount,
      queuedBytes: this.#queue.sizeBytes,
      entriesTotal: this.#entriesTotal,
      entryBytesTotal: this.#entryBytesTotal,
      syncsTotal: this.#driver.syncsTotal,
      queues: counters.queues,
      partitions: counters.partitions,
      cursors: counters.cursors,
      deadLetters: counters.deadLetters,
    };
  }

  async stop(): Promise<void> {
    if (this.#isStopping) return;
    this.#isStopping = true;
    const { clock, limits, log, hardState } = this.#parts;
    const giveUpUs = clock.monotonicUs() + limits.stopUs;
    for (const pop of this.#lot.expire(() => true)) this.#answerParked(pop);
    this.#pump();
    while (this.#isBusy() && this.#failure === undefined && clock.monotonicUs() < giveUpUs) {
      await this.#nextChange();
    }
    this.#cancelTick();
    this.#cancelTimer();
    await this.#driver.settled();
    this.#rejectAll(nodeStopping);
    if (this.#failure === undefined) {
      const { commitIndex } = this.#raft.status;
      // The commit index rides along, so that the next start need not wait to learn it.
      await hardState.save({ ...hardState.current, commitIndex });
    }
    await log.close();
  }

  #isBusy(): boolean {
    return this.#queue.commandCount > 0 || this.#inFlight.size > 0;
  }

  #enqueue(request: Request): void {
    if (this.#failure !== undefined) {
      request.fail(nodeFailed(this.#failure));
    } else if (this.#isStopping) {
      request.fail(nodeStopping());
    } else if (this.#queue.offer(request)) {
      this.#deferPump();
    } else {
      request.fail(queueFull());
    }
  }

  /** Plans after the I/O events at hand, so that requests which arrived together travel together. */
  #deferPump(): void {
    if (this.#isPumpDeferred || this.#driver.isPersisting) return;
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
      // One cycle for due timers is enough; what it leaves due is looked at by the next timer.
      for (let timerDue = this.#isTimerDue(); this.#mayPlan(timerDue); timerDue = false) {
        this.#planCycle();
        this.#driver.pump();
      }
      this.#armTimer();
    } catch (error) {
      this.#fail(error);
    }
    for (const wake of this.#idle.splice(0)) wake();
  }

  #mayPlan(isTimerDue: boolean): boolean {
    if (this.#leaderClock === undefined || this.#driver.isPersisting) return false;
    if (this.#inFlight.size >= this.#parts.limits.entriesInFlightMax) return false;
    return (
      this.#queue.commandCount > 0 ||
      this.#planner.hasWork ||
      this.#engine.identity === undefined ||
      isTimerDue
    );
  }

  #planCycle(): void {
    const clock = this.#leaderClock;
    assert(clock !== undefined, 'planning without leadership');
    const monotonicUs = this.#parts.clock.monotonicUs();
    const index = this.#raft.status.lastIndex + 1;
    const { entry, settlements } = this.#planner.cycle({
      index,
      stampUs: clock.stampUs(),
      monotonicUs,
      genesis: this.#engine.identity === undefined ? this.#parts.genesis : undefined,
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
    const { term } = proposal;
    const { payload } = entry;
    this.#inFlight.add({ index, term, payload, plannedAtUs: monotonicUs, settlements });
  }

  /** Answers without effect may rest on what is in flight: they wait for the newest such entry. */
  #settleWithoutEntry(settlements: readonly Settlement[]): void {
    const { newest } = this.#inFlight;
    if (newest !== undefined) newest.settlements.push(...settlements);
    else this.#answer(settlements);
  }

  #committed(entry: Entry): void {
    const planned = this.#inFlight.take(entry.index);
    if (planned !== undefined) {
      const isOurs = planned.term === entry.term;
      assert(isOurs, () => `entry ${entry.index} of term ${planned.term} became ${entry.term}`);
      this.#answer(planned.settlements);
    } else if (entry.type === 'command') {
      this.#engine.apply(entry);
    }
    this.#appliedIndex = entry.index;
    const leads = this.#soft.role === 'leader' && entry.term === this.#soft.term;
    if (leads && this.#leaderClock === undefined) this.#startPlanning();
  }

  #startPlanning(): void {
    const { lastIndex } = this.#raft.status;
    assert(lastIndex === this.#appliedIndex, () => `log ${lastIndex}, state ${this.#appliedIndex}`);
    this.#leaderClock = new LeaderClock(this.#parts.clock, this.#engine.nowUs);
  }

  #roleChanged(state: SoftState): void {
    const leadsOn = state.role === 'leader' && state.term === this.#soft.term;
    this.#soft = state;
    if (leadsOn || this.#leaderClock === undefined) return;
    this.#leaderClock = undefined;
    // The tables are ahead of the log now: only a restart can bring them back to what is committed.
    assert(
      this.#inFlight.size === 0,
      () => `deposed with ${this.#inFlight.size} entries in flight`,
    );
  }

  #answer(settlements: readonly Settlement[]): void {
    for (const { request, outcome } of settlements) {
      if (request.state === 'answered') this.#takeBack(request, outcome);
      else request.answer(outcome);
    }
  }

  /** The client left, or its time ran out, while the claim was on its way. */
  #takeBack(request: Request, outcome: Outcome): void {
    if (!hasClaims(outcome) || outcome.kind !== 'pop' || outcome.autoAck) return;
    this.release(outcome.leaseId);
  }

  #answerParked(pop: PopRequest): void {
    if (pop.state === 'answered') return;
    assert(pop.lastEmpty !== undefined, 'a parked pop was tried before');
    pop.answer(pop.lastEmpty);
  }

  #abandon(pop: PopRequest): void {
    if (pop.state === 'answered') return;
    pop.fail(clientLeft());
  }

  #tick(): void {
    this.#cancelTick = this.#parts.scheduler.after(this.#parts.tickUs, () => this.#tick());
    if (this.#failure !== undefined) return;
    this.#raft.tick();
    this.#expireRequests();
    this.#pump();
  }

  /** Answers requests whose time is over: nothing of theirs is planned after that. */
  #expireRequests(): void {
    const nowUs = this.#parts.clock.monotonicUs();
    const isOver = (request: Request): boolean =>
      request.state === 'answered' || request.deadlineUs <= nowUs;
    for (const request of this.#queue.expire(isOver)) {
      if (request.state !== 'answered') request.fail(notPlanned(this.#soft.leaderId !== 0));
    }
    const { oldest } = this.#inFlight;
    if (oldest === undefined) return;
    for (const { request } of oldest.settlements) {
      if (request.state !== 'answered' && request.deadlineUs <= nowUs)
        request.fail(inDoubt(request));
    }
  }

  #isTimerDue(): boolean {
    const clock = this.#leaderClock;
    return this.#lot.size > 0 && clock !== undefined && this.#engine.nextTimerUs() <= clock.nowUs();
  }

  /** One timer for the engine's next due time and the parked pops' next deadline. */
  #armTimer(): void {
    this.#cancelTimer();
    if (this.#lot.size === 0) return;
    const { clock, limits, scheduler } = this.#parts;
    const engineUs = this.#leaderClock?.monotonicAtUs(this.#engine.nextTimerUs()) ?? Infinity;
    const deadlineUs = this.#lot.nextDeadlineUs + limits.deadlineResolutionUs / 2;
    const delayUs = Math.max(0, Math.min(engineUs, deadlineUs) - clock.monotonicUs());
    this.#cancelTimer = scheduler.after(delayUs, () => {
      this.#expireParked();
      this.#pump();
    });
  }

  #expireParked(): void {
    const nowUs = this.#parts.clock.monotonicUs();
    if (this.#lot.nextDeadlineUs > nowUs) return;
    const over = this.#lot.expire((pop) => pop.state === 'answered' || pop.deadlineUs <= nowUs);
    for (const pop of over) this.#answerParked(pop);
  }

  #nextChange(): Promise<void> {
    return new Promise((resolve) => {
      this.#idle.push(resolve);
    });
  }

  #fail(cause: unknown): void {
    if (this.#failure !== undefined) return;
    const error = cause instanceof Error ? cause : new Error(String(cause));
    this.#failure = error;
    this.#cancelTick();
    this.#cancelTimer();
    this.#rejectAll((request) =>
      request.state === 'planned' ? inDoubt(request) : nodeFailed(error),
    );
    this.#parts.onFailure(error);
    for (const wake of this.#idle.splice(0)) wake();
  }

  #rejectAll(reason: (request: Request) => Error): void {
    const planned = this.#inFlight.drain().flatMap((entry) => entry.settlements);
    const open = [
      ...planned.map((settlement) => settlement.request),
      ...this.#queue.expire(() => true),
      ...this.#lot.expire(() => true),
    ];
    for (const request of open) {
      if (request.state !== 'answered') request.fail(reason(request));
    }
  }
}
