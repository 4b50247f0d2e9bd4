// From a queued command to its answer while this node leads: plans what waits, proposes the entry, and
// answers once what an outcome rests on is committed.

import { assert } from '@queen-ts/base';
import type { Clock } from '@queen-ts/base';
import type { ClusterIdentity } from '@queen-ts/engine';
import type { Id128 } from '@queen-ts/protocol';
import type { Entry, RaftNode, ReadState } from '@queen-ts/raft';
import { CommandQueue } from './command-queue.ts';
import { Deadlines } from './deadlines.ts';
import type { InFlight } from './in-flight.ts';
import type { LeaderClock } from './leader-clock.ts';
import type { Leadership } from './leadership.ts';
import type { BrokerLimits } from './limits.ts';
import { ParkingLot } from './parking-lot.ts';
import { Planner } from './planner.ts';
import type { Settlement } from './planner.ts';
import { ReadBarrier } from './read-barrier.ts';
import { inDoubt, notLeading, queueFull } from './refusals.ts';
import type { Replica } from './replica.ts';
import { claimOf } from './request.ts';
import type { PopRequest, Request } from './request.ts';
import type { Scheduler } from './scheduler.ts';

/** Parts of the loop; all owned by the broker. */
export interface PlanLoopParts {
  readonly raft: RaftNode;
  readonly replica: Replica;
  readonly leadership: Leadership;
  readonly inFlight: InFlight;
  readonly clock: Clock;
  readonly scheduler: Scheduler;
  readonly limits: BrokerLimits;
  readonly genesis: ClusterIdentity;
  /** Called when parked pops should be tried again. */
  readonly pump: () => void;
  /** Whether a persist of the core runs: then what arrives waits for the next entry. */
  readonly isPersisting: () => boolean;
  /** Gives back a claim that nobody receives. */
  readonly release: (leaseId: Id128) => void;
}

/** Requests of one node and their plans. */
export class PlanLoop {
  readonly #parts: PlanLoopParts;
  readonly #queue: CommandQueue;
  readonly #lot = new ParkingLot();
  readonly #planner: Planner;
  readonly #barrier: ReadBarrier<Settlement>;
  readonly #deadlines: Deadlines;
  #entriesTotal = 0;
  #entryBytesTotal = 0;

  constructor(parts: PlanLoopParts) {
    this.#parts = parts;
    const { raft, clock, scheduler, limits, inFlight } = parts;
    const lot = this.#lot;
    const queue = new CommandQueue({
      commands: limits.queuedCommandsMax,
      bytes: limits.queuedBytesMax,
    });
    this.#queue = queue;
    this.#planner = new Planner({ queue, lot, limits });
    this.#barrier = new ReadBarrier(raft, 0);
    const onTimer = parts.pump;
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
  }

  /** What waits and what was planned, for the status. */
  counters(): {
    readonly parkedPops: number;
    readonly queuedCommands: number;
    readonly queuedBytes: number;
    readonly entriesTotal: number;
    readonly entryBytesTotal: number;
  } {
    return {
      parkedPops: this.#lot.size,
      queuedCommands: this.#queue.commandCount,
      queuedBytes: this.#queue.sizeBytes,
      entriesTotal: this.#entriesTotal,
      entryBytesTotal: this.#entryBytesTotal,
    };
  }

  /** Whether an answer is still to come that does not depend on new messages. */
  get isBusy(): boolean {
    const isPlanning = this.#queue.commandCount > 0 || this.#planner.longCommandCount > 0;
    return isPlanning || this.#parts.inFlight.size > 0 || !this.#barrier.isIdle;
  }

  /** Queues a request; false when its lane is full. */
  offer(request: Request): boolean {
    return this.#queue.offer(request);
  }

  /** A parked pop was answered from outside: it takes no room in the lot any more. */
  parkedPopAnswered(): void {
    this.#lot.expectAnswered(this.#parts.clock.monotonicUs());
    this.#armDeadlines();
  }

  /** Answers the parked pops with what they would answer at their deadline. */
  endParked(): void {
    this.#parkedOver(this.#lot.expire(() => true));
  }

  /**
   * Plans as long as something waits and the core takes entries; true when something is left that
   * may be planned after the I/O events at hand. `handOut` lets the core do what the plan calls for.
   */
  run(handOut: () => void): boolean {
    handOut();
    // One cycle for due timers, and for commands under way, is enough: what it leaves due is looked
    // at by the next timer, and the next step comes after the I/O events at hand.
    let isDue = this.#isTimerDue() || this.#planner.longCommandCount > 0;
    for (; this.#mayPlan(isDue); isDue = false) {
      this.#planCycle(this.#parts.leadership.clock);
      handOut();
      // Not only what has an effect may take its time, and without one nothing is waited for.
      if (this.#planner.isCostly) break;
    }
    this.#armDeadlines();
    const isLeft = this.#planner.longCommandCount > 0 || this.#planner.isCostly;
    return isLeft && this.#mayPlan(this.#planner.longCommandCount > 0);
  }

  /** An entry is committed: takes what was planned with it. Undefined when this node did not plan it. */
  take(entry: Entry): readonly Settlement[] | undefined {
    const planned = this.#parts.inFlight.take(entry.index);
    assert(
      planned === undefined || planned.term === entry.term,
      () => `entry ${entry.index} of term ${planned?.term} became one of term ${entry.term}`,
    );
    return planned?.settlements;
  }

  /** Answers what rests on committed entries only. */
  answer(settlements: readonly Settlement[]): void {
    for (const { request, outcome } of settlements) {
      if (request.state !== 'answered') {
        request.answer(outcome);
        continue;
      }
      // The client left, or its time ran out, while the claim was on its way.
      const leaseId = claimOf(outcome);
      if (leaseId !== undefined) this.#parts.release(leaseId);
    }
  }

  /** A round of confirmation ended: answers without effect go out. */
  confirmed(read: ReadState): void {
    this.answer(this.#barrier.confirm(read));
  }

  /** Starts the next round of confirmation if answers wait for one. */
  startBarrier(): void {
    this.#barrier.start();
  }

  /**
   * The leadership ended: what was planned is in doubt, parked pops start over. Returns whether the
   * tables were ahead of what is committed.
   */
  leadershipLost(): boolean {
    const { inFlight, raft, replica } = this.#parts;
    const open = inFlight.drain().flatMap((entry) => entry.settlements);
    const isAhead = open.length > 0 || raft.status.lastIndex > replica.appliedIndex;
    open.push(...this.#barrier.abort());
    for (const request of [...open.map((it) => it.request), ...this.#planner.drain()]) {
      if (request.state !== 'answered') request.fail(inDoubt(request));
    }
    this.#unpark();
    return isAhead;
  }

  /** Refuses what waits to be planned, parked pops included: another node leads. */
  handBack(): void {
    for (const request of [...this.#queue.expire(() => true), ...this.#lot.expire(() => true)]) {
      if (request.state !== 'answered') request.fail(notLeading());
    }
  }

  /** A tick: answers requests whose time is over. */
  expire(isLeaderKnown: boolean): void {
    this.#deadlines.expireRequests(isLeaderKnown);
    this.#planner.expire(this.#parts.clock.monotonicUs());
  }

  /** Cancels the timer. */
  cancelTimer(): void {
    this.#deadlines.cancel();
  }

  /** Refuses everything that has no answer yet. */
  rejectAll(reason: (request: Request) => Error): void {
    const planned = this.#parts.inFlight.drain().flatMap((entry) => entry.settlements);
    const open = [
      ...[...planned, ...this.#barrier.abort()].map((settlement) => settlement.request),
      ...this.#planner.drain(),
      ...this.#queue.expire(() => true),
      ...this.#lot.expire(() => true),
    ];
    for (const request of open) {
      if (request.state !== 'answered') request.fail(reason(request));
    }
  }

  #mayPlan(isDue: boolean): boolean {
    const { leadership, isPersisting, inFlight, limits, clock, replica } = this.#parts;
    if (!leadership.isReadyToPlan() || isPersisting() || leadership.isTransferring) return false;
    if (inFlight.size >= limits.entriesInFlightMax) return false;
    return (
      this.#queue.commandCount > 0 ||
      this.#planner.hasWork(clock.monotonicUs()) ||
      replica.engine.identity === undefined ||
      isDue
    );
  }

  #planCycle(clock: LeaderClock | undefined): void {
    assert(clock !== undefined, 'planning without leadership');
    const { raft, replica, inFlight, genesis } = this.#parts;
    const { engine } = replica;
    const monotonicUs = this.#parts.clock.monotonicUs();
    const index = raft.status.lastIndex + 1;
    const { entry, settlements } = this.#planner.cycle(engine, {
      index,
      stampUs: clock.stampUs(),
      monotonicUs,
      genesis: engine.identity === undefined ? genesis : undefined,
    });
    if (entry === undefined) {
      this.#settleWithoutEntry(settlements);
      return;
    }
    const proposal = raft.propose(entry);
    assert(proposal.ok, () => `entry ${index} was refused: ${JSON.stringify(proposal)}`);
    assert(proposal.index === index, () => `planned ${index}, proposed ${proposal.index}`);
    this.#entriesTotal += 1;
    this.#entryBytesTotal += entry.head.length + entry.payload.length;
    inFlight.add({ index, term: proposal.term, payload: entry.payload, settlements });
  }

  /**
   * Answers without effect may rest on what is in flight: then they wait for the newest such entry,
   * whose commit also proves the leadership. Otherwise they wait for that proof alone.
   */
  #settleWithoutEntry(settlements: readonly Settlement[]): void {
    if (settlements.length === 0) return;
    const { newest } = this.#parts.inFlight;
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

  /** What parked pops were told rests on tables that may be thrown away: they start over. */
  #unpark(): void {
    for (const pop of this.#lot.expire(() => true)) {
      if (pop.state === 'answered') continue;
      pop.state = 'queued';
      if (!this.#queue.offer(pop)) pop.fail(queueFull());
    }
  }

  #isTimerDue(): boolean {
    const { leadership, replica } = this.#parts;
    const { clock } = leadership;
    if (this.#lot.size === 0 || clock === undefined) return false;
    if (this.#planner.nextHoldEndUs <= this.#parts.clock.monotonicUs()) return true;
    return replica.engine.nextTimerUs() <= clock.nowUs();
  }

  #armDeadlines(): void {
    const { inFlight, limits, leadership, replica, isPersisting } = this.#parts;
    const isFull = inFlight.size >= limits.entriesInFlightMax;
    const isHeldUp = isFull || isPersisting() || leadership.isTransferring;
    // What ends a persist, a transfer or the wait for a commit looks at the engine's timers anyway.
    const clock = isHeldUp ? undefined : leadership.clock;
    if (clock === undefined) {
      this.#deadlines.arm(Infinity);
      return;
    }
    const engineUs = clock.monotonicAtUs(replica.engine.nextTimerUs());
    this.#deadlines.arm(Math.min(engineUs, this.#planner.nextHoldEndUs));
  }
}
