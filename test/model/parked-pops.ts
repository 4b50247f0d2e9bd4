// Long polls as the broker keeps them: a pop that found nothing waits and is tried again only when a
// signal names its queue, group and partition. No wake-up may get lost: once the signals are served,
// nothing may be claimable for a pop that still waits, and the next timer may not be later than the
// moment at which time alone gives it something.

import { ok } from 'node:assert/strict';
import type { Engine } from '@queen-ts/engine';
import type { PopCommand } from '@queen-ts/protocol';
import { modelPop } from './pop.ts';
import { SECOND_US } from './state.ts';
import type { ModelQueue, ModelQueues } from './state.ts';
import { isClaimable, knownPairs, nextClaimableUs, TICK_US } from './visibility.ts';
import type { KnownPair } from './visibility.ts';

interface ParkedPop {
  readonly pop: PopCommand;
  readonly deadlineUs: number;
}

/** Rounds of wake-ups in one cycle; claims of one round may make more claimable. */
const ROUNDS_MAX = 32;

/** All parked pops, oldest first. */
export class ParkedPops {
  readonly #queues: ModelQueues;
  #parked: ParkedPop[] = [];

  constructor(queues: ModelQueues) {
    this.#queues = queues;
  }

  /** Parks a pop that found nothing. */
  park(pop: PopCommand, deadlineUs: number): void {
    this.#parked.push({ pop, deadlineUs });
  }

  /** Answers the pops whose time is over. */
  expire(nowUs: number): void {
    this.#parked = this.#parked.filter(({ deadlineUs }) => deadlineUs > nowUs);
  }

  /** A deleted group starts anew with its next pop; those that wait are not told. */
  dropGroup(group: string): void {
    this.#parked = this.#parked.filter(({ pop }) => pop.group !== group);
  }

  /** A new leader starts with nobody waiting: the clients come again. */
  clear(engine: Engine): void {
    this.#parked = [];
    engine.drainSignals({ appended: () => undefined, armed: () => undefined });
  }

  /** Serves the signals; `attempt` plans a pop again and says whether it got something. */
  wake(engine: Engine, attempt: (pop: PopCommand) => boolean): void {
    for (let round = 0; round < ROUNDS_MAX; round += 1) {
      const signals = takeSignals(engine);
      if (signals.length === 0) return;
      const woken = this.#parked.filter(({ pop }) => signals.some((it) => this.#names(it, pop)));
      for (const parked of woken) {
        if (attempt(parked.pop)) this.#parked = this.#parked.filter((it) => it !== parked);
      }
    }
    ok(takeSignals(engine).length === 0, `signals do not end after ${ROUNDS_MAX} rounds`);
  }

  /** Expects that nobody waits for something claimable, nor longer than until it becomes so. */
  check(engine: Engine, nowUs: number): void {
    const timerUs = engine.nextTimerUs();
    for (const pair of knownPairs(this.#queues.values())) {
      if (!this.#parked.some(({ pop }) => this.#covers(pop, pair))) continue;
      const where = `${pair.queue.name}/${pair.partition.name} for ${pair.group}`;
      // What time alone made claimable within the last tick may still wait for its timer.
      const isOverdue = isClaimable(pair, nowUs) && isClaimable(pair, nowUs - TICK_US);
      ok(!isOverdue, `lost wake-up: a parked pop does not hear of ${where}`);
      const dueUs = isClaimable(pair, nowUs) ? nowUs : nextClaimableUs(pair, nowUs);
      ok(
        timerUs <= dueUs + TICK_US,
        `late timer: ${where} is due in ${dueUs - nowUs} us, the next timer in ${timerUs - nowUs}`,
      );
    }
    for (const parked of this.#parked) this.#checkUnknown(parked, engine, nowUs);
  }

  /**
   * A pop whose group is not known where it looks (not registered, or no cursor yet) is tried on a
   * copy of the model: it would make its group known by that.
   */
  #checkUnknown({ pop }: ParkedPop, engine: Engine, nowUs: number): void {
    const queues = [...this.#queues.values()].filter(({ name }) => this.#isInScope(pop, name));
    const unknown = queues.filter((queue) => !isKnown(queue, pop));
    const where = JSON.stringify({ ...pop.scope, group: pop.group });
    for (const queue of unknown) {
      const wouldClaim = (atUs: number): boolean => tryOnCopy(queue, pop, atUs);
      const isOverdue = wouldClaim(nowUs) && wouldClaim(nowUs - TICK_US);
      ok(!isOverdue, `lost wake-up: a parked pop of an unknown group does not hear of ${where}`);
      const dueUs = momentsAfter(queue, nowUs).find(wouldClaim) ?? Infinity;
      const isLate = engine.nextTimerUs() > dueUs + TICK_US;
      ok(!isLate, `late timer for an unknown group: ${where} is due in ${dueUs - nowUs} us`);
    }
  }

  #covers(pop: PopCommand, { queue, partition, group }: KnownPair): boolean {
    if (pop.group !== group || !this.#isInScope(pop, queue.name)) return false;
    return pop.scope.kind !== 'partition' || pop.scope.partition === partition.name;
  }

  #isInScope({ scope }: PopCommand, name: string): boolean {
    if (scope.kind !== 'labels') return scope.queue === name;
    const options = this.#queues.get(name)?.options;
    return (
      options !== undefined &&
      (scope.namespace === '' || scope.namespace === options.namespace) &&
      (scope.task === '' || scope.task === options.task)
    );
  }

  #names(signal: Signal, pop: PopCommand): boolean {
    if (!this.#isInScope(pop, signal.queue)) return false;
    if (signal.group !== undefined && signal.group !== pop.group) return false;
    if (pop.scope.kind !== 'partition' || signal.partition === undefined) return true;
    return signal.partition === pop.scope.partition;
  }
}

/** What became claimable; without a group for all, without a partition anywhere in the queue. */
interface Signal {
  readonly queue: string;
  readonly group: string | undefined;
  readonly partition: string | undefined;
}

function takeSignals(engine: Engine): Signal[] {
  const taken: { queue: number; group: string | undefined; partition: number }[] = [];
  engine.drainSignals({
    appended: (queue, partition) => taken.push({ queue, group: undefined, partition }),
    armed: (queue, group, partition) => taken.push({ queue, group, partition }),
  });
  return taken.flatMap((it) => {
    const queue = engine.queueName(it.queue);
    if (queue === undefined) return [];
    return [{ queue, group: it.group, partition: engine.partitionName(it.partition) }];
  });
}

/** True when the group's place is decided wherever the pop looks. */
function isKnown(queue: ModelQueue, { scope, group }: PopCommand): boolean {
  if (queue.groups.get(group)?.registration !== undefined) return true;
  if (scope.kind !== 'partition') return false;
  return queue.partitions.get(scope.partition)?.cursors.has(group) === true;
}

function tryOnCopy(queue: ModelQueue, pop: PopCommand, nowUs: number): boolean {
  const copy: ModelQueues = new Map([[queue.name, structuredClone(queue)]]);
  const choices = { nowUs, leaseId: '', visited: [], mayStopEarly: false };
  return modelPop(copy, pop, choices).claims.length > 0;
}

/** Moments after `nowUs` at which a delay or a window of the queue ends, in order. */
function momentsAfter(queue: ModelQueue, nowUs: number): number[] {
  const { delayedProcessing, windowBuffer } = queue.options;
  const appends = [...queue.partitions.values()].flatMap((partition) => partition.appends);
  const ends = appends.flatMap(({ createdUs }) => [
    createdUs + delayedProcessing * SECOND_US,
    createdUs + windowBuffer * SECOND_US,
  ]);
  return ends.filter((endUs) => endUs > nowUs).sort((a, b) => a - b);
}
