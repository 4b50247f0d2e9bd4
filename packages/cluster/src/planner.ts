// One planning cycle: takes what waits, in the order that lets nothing starve (what settles leases,
// then pops, then what stores messages), lets the engine decide, and tries the parked pops that the
// cycle made claimable, so that a push and the pop it wakes travel in the same entry.

import { assert } from '@queen-ts/base';
import type { ClusterIdentity, Engine, EntryParts } from '@queen-ts/engine';
import type { Outcome } from '@queen-ts/protocol';
import type { CommandQueue, Lane } from './command-queue.ts';
import type { BrokerLimits } from './limits.ts';
import { LongCommands } from './long-commands.ts';
import type { ParkingLot } from './parking-lot.ts';
import { lotFull, notPlanned } from './refusals.ts';
import { emptyOutcome, isEmptyPop, PopRequest } from './request.ts';
import type { Request } from './request.ts';
import { Upkeep } from './upkeep.ts';

/** A request and what was planned for it; answered once the cycle's entry is committed. */
export interface Settlement {
  readonly request: Request;
  readonly outcome: Outcome;
}

/** Result of one cycle. */
export interface PlannedCycle {
  /** The entry to propose; undefined when nothing had an effect. */
  readonly entry: EntryParts | undefined;
  readonly settlements: Settlement[];
}

/** Rounds of wake-ups in one cycle; what is still claimable then waits for the next cycle. */
const WAKE_ROUNDS_MAX = 4;

/** When a cycle happens. */
export interface CycleTime {
  /** Log index of the entry to come. */
  readonly index: number;
  /** Its time stamp. */
  readonly stampUs: number;
  /** Monotonic time now, for deadlines. */
  readonly monotonicUs: number;
  /** Given while the cluster has no identity: the cycle fixes it first. */
  readonly genesis: ClusterIdentity | undefined;
}

/** Parts of a planner; all owned by the broker. */
export interface PlannerParts {
  readonly queue: CommandQueue;
  readonly lot: ParkingLot;
  readonly limits: BrokerLimits;
}

/** What the signals of one queue add up to. */
interface QueueSignals {
  groups: Set<string> | undefined;
  readonly partitions: Set<number>;
}

/** Plans cycles. Synchronous: nothing else touches the engine while one runs. */
export class Planner {
  readonly #parts: PlannerParts;
  #cycleEngine: Engine | undefined;
  #settlements: Settlement[] = [];
  #monotonicUs = 0;
  readonly #upkeep: Upkeep;
  readonly #long: LongCommands;
  #hasWakes = false;
  #isCostly = false;
  /** Parked pops that could claim something and wait for more. */
  readonly #held = new Set<PopRequest>();
  /** None of them is over before this. */
  #nextHoldEndUs = Infinity;

  constructor(parts: PlannerParts) {
    this.#parts = parts;
    this.#upkeep = new Upkeep(parts.limits);
    this.#long = new LongCommands(parts.limits.longCommandsMax);
  }

  /** True when a cycle at this monotonic time has something to do although no request waits. */
  hasWork(nowUs: number): boolean {
    return this.#hasWakes || this.#upkeep.isDue(nowUs) || this.nextHoldEndUs <= nowUs;
  }

  /** When a pop stops waiting for a fuller batch, in monotonic time; Infinity when none does. */
  get nextHoldEndUs(): number {
    return this.#nextHoldEndUs;
  }

  /**
   * Commands that wait for their next step. A step may turn out to have no effect, so cycles for them
   * alone must leave room for other events.
   */
  get longCommandCount(): number {
    return this.#long.size;
  }

  /** Whether the last cycle took so long that other events should come before the next one. */
  get isCostly(): boolean {
    return this.#isCostly;
  }

  /** Answers requests between two steps whose deadline is before `nowUs`. */
  expire(nowUs: number): void {
    this.#long.expire(nowUs);
  }

  /** Takes every request between two steps: the leadership or the node has ended. */
  drain(): Request[] {
    return this.#long.drain();
  }

  /** Runs one cycle on the engine. */
  cycle(engine: Engine, time: CycleTime): PlannedCycle {
    const { queue, limits } = this.#parts;
    this.#cycleEngine = engine;
    this.#settlements = [];
    this.#monotonicUs = time.monotonicUs;
    this.#isCostly = false;
    const payloadSizeHint = Math.min(queue.sizeBytes, limits.cycleBytesMax);
    engine.openCycle({ index: time.index, nowUs: time.stampUs, payloadSizeHint });
    if (time.genesis !== undefined) engine.planGenesis(time.genesis);
    engine.advanceTo(time.stampUs);
    this.#long.advance(
      (command, request) => engine.plan(command, request.id),
      (request, outcome) => this.#settle(request, outcome),
      () => engine.cycleCostBytes >= limits.laneCostBytesMax,
    );
    this.#planLane('settle');
    this.#releaseHeld();
    // Older pops go first: what the acks freed is offered to the parked ones before the new ones.
    this.#wakeParked();
    this.#planLane('pop');
    this.#planLane('store');
    this.#wakeParked();
    this.#upkeep.run(engine, time.monotonicUs);
    this.#cycleEngine = undefined;
    return { entry: engine.closeCycle(), settlements: this.#settlements };
  }

  get #engine(): Engine {
    assert(this.#cycleEngine !== undefined, 'planning outside a cycle');
    return this.#cycleEngine;
  }

  #planLane(lane: Lane): void {
    const { queue, limits } = this.#parts;
    const costEnd = this.#engine.cycleCostBytes + limits.laneCostBytesMax;
    let bytes = 0;
    for (let count = 0; count < limits.cycleCommandsMax; count += 1) {
      if (bytes > 0 && bytes + queue.nextSizeBytes(lane) > limits.cycleBytesMax) return;
      const request = queue.take(lane);
      if (request === undefined) return;
      bytes += request.sizeBytes;
      this.#planRequest(request);
      if (this.#engine.cycleCostBytes < costEnd) continue;
      this.#isCostly = true;
      return;
    }
  }

  #planRequest(request: Request): void {
    if (request.state === 'answered') return;
    if (request.deadlineUs <= this.#monotonicUs) {
      request.fail(notPlanned(true));
      return;
    }
    if (this.#long.refuse(request)) return;
    if (request instanceof PopRequest && this.#isHeld(request)) {
      this.#park(request, emptyOutcome(request.command));
      return;
    }
    const outcome = this.#engine.plan(request.command, request.id);
    if (outcome.kind === 'deleteQueue') this.#upkeep.noteDeletion();
    if (request instanceof PopRequest && request.wait && isEmptyPop(outcome)) {
      this.#park(request, outcome);
      return;
    }
    if (!this.#long.keep(request, outcome)) this.#settle(request, outcome);
  }

  #park(pop: PopRequest, outcome: Outcome): void {
    const { lot, limits } = this.#parts;
    if (lot.size >= limits.parkedPopsMax) {
      pop.fail(lotFull(limits.parkedPopsMax));
      return;
    }
    pop.lastEmpty = outcome;
    pop.anchorAt(this.#engine.nowUs);
    lot.park(pop);
  }

  #settle(request: Request, outcome: Outcome): void {
    if (request.state !== 'answered') request.state = 'planned';
    this.#settlements.push({ request, outcome });
  }

  /** Offers what became claimable to the parked pops; their claims may make more claimable. */
  #wakeParked(): void {
    for (let round = 0; round < WAKE_ROUNDS_MAX; round += 1) {
      const signals = this.#takeSignals();
      this.#hasWakes = signals.size > 0;
      if (!this.#hasWakes) return;
      for (const [queueNumber, signal] of signals) this.#wakeQueue(queueNumber, signal);
    }
  }

  #wakeQueue(queueNumber: number, signal: QueueSignals): void {
    const { lot } = this.#parts;
    const engine = this.#engine;
    const queue = engine.queueName(queueNumber);
    const labels = engine.queueLabels(queueNumber);
    if (queue === undefined || labels === undefined || !lot.mayWake(queue)) return;
    const isWhole = signal.partitions.has(0);
    const partitions = (): Iterable<string> | 'all' =>
      isWhole ? 'all' : this.#partitionNames(signal.partitions);
    lot.wake({ queue, labels, groups: signal.groups, partitions }, (pop) => this.#attempt(pop));
  }

  #takeSignals(): ReadonlyMap<number, QueueSignals> {
    const signals = new Map<number, QueueSignals>();
    const isWanted = this.#parts.lot.size > 0;
    const signalOf = (queueNumber: number): QueueSignals => {
      let signal = signals.get(queueNumber);
      if (signal === undefined) {
        signal = { groups: new Set(), partitions: new Set() };
        signals.set(queueNumber, signal);
      }
      return signal;
    };
    this.#engine.drainSignals({
      appended: (queueNumber, partitionNumber) => {
        if (!isWanted) return;
        const signal = signalOf(queueNumber);
        signal.groups = undefined;
        signal.partitions.add(partitionNumber);
      },
      armed: (queueNumber, group, partitionNumber) => {
        if (!isWanted) return;
        const signal = signalOf(queueNumber);
        signal.groups?.add(group);
        signal.partitions.add(partitionNumber);
      },
    });
    return signals;
  }

  *#partitionNames(partitions: ReadonlySet<number>): Iterable<string> {
    for (const partitionNumber of partitions) {
      const name = this.#engine.partitionName(partitionNumber);
      if (name !== undefined) yield name;
    }
  }

  /**
   * Whether a waiting pop should wait for a fuller batch (`minPopWaitTime`). The time starts when it
   * first could have claimed something, and never outlives the pop.
   */
  #isHeld(pop: PopRequest): boolean {
    const holdUs = pop.wait ? this.#engine.holdUs(pop.command) : 0;
    if (holdUs === 0) {
      pop.heldUntilUs = undefined;
      this.#held.delete(pop);
      return false;
    }
    // Twice the margin: the attempt at the end must still find time to claim.
    const latestUs = pop.deadlineUs - 2 * this.#parts.limits.popReplyMarginUs;
    pop.heldUntilUs ??= Math.min(this.#monotonicUs + holdUs, latestUs);
    const isHeld = pop.heldUntilUs > this.#monotonicUs;
    if (isHeld) {
      this.#held.add(pop);
      this.#nextHoldEndUs = Math.min(this.#nextHoldEndUs, pop.heldUntilUs);
    } else this.#held.delete(pop);
    return isHeld;
  }

  /** Tries the held pops whose time is over. */
  #releaseHeld(): void {
    if (this.#nextHoldEndUs > this.#monotonicUs) return;
    this.#nextHoldEndUs = Infinity;
    for (const pop of this.#held) {
      const endUs = pop.heldUntilUs ?? 0;
      if (pop.state !== 'parked') this.#held.delete(pop);
      else if (endUs > this.#monotonicUs) {
        this.#nextHoldEndUs = Math.min(this.#nextHoldEndUs, endUs);
      } else if (this.#attempt(pop)) {
        this.#held.delete(pop);
        this.#parts.lot.remove(pop);
      }
    }
  }

  /** Tries a parked pop again; true when it leaves the lot. */
  #attempt(pop: PopRequest): boolean {
    if (pop.state === 'answered') return true;
    // Its time is nearly over: the sweep of deadlines answers it, another pop gets the messages.
    if (pop.deadlineUs - this.#parts.limits.popReplyMarginUs <= this.#monotonicUs) {
      this.#settle(pop, pop.lastEmpty as Outcome);
      return true;
    }
    if (this.#isHeld(pop)) return false;
    const outcome = this.#engine.plan(pop.command, pop.id);
    if (isEmptyPop(outcome)) {
      pop.lastEmpty = outcome;
      return false;
    }
    this.#settle(pop, outcome);
    return true;
  }
}
