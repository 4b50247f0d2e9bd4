// Pops that found nothing and wait. An append or a freed lease names the partitions that became
// claimable; only the pops that could claim there are tried again, oldest first, and as many as
// claim something, never all of them (design §4, §10).

import { assert } from '@queen-ts/base';
import { Fifo } from './fifo.ts';
import type { PopRequest } from './request.ts';

/** Pops of one (queue, group). */
interface GroupWaiters {
  /** Pops that take any partition. */
  readonly anyPartition: Fifo<PopRequest>;
  /** Pops of one partition, by its name. */
  readonly pinned: Map<string, Fifo<PopRequest>>;
}

/** Labels of a queue, as a discovery pop matches them. */
export interface QueueLabels {
  readonly namespace: string;
  readonly task: string;
}

/** What became claimable in one queue since the last look. */
export interface Claimable {
  readonly queue: string;
  readonly labels: QueueLabels;
  /** The groups that may claim; undefined means all (something was appended). */
  readonly groups: ReadonlySet<string> | undefined;
  /** Names of the partitions; only read when somebody waits for a single partition. */
  readonly partitions: () => Iterable<string> | 'all';
}

/** Parked pops of this node, bounded by its owner. */
export class ParkingLot {
  readonly #queues = new Map<string, Map<string, GroupWaiters>>();
  /** Discovery pops, in arrival order. */
  #discovery: PopRequest[] = [];
  #size = 0;
  #nextDeadlineUs = Infinity;

  /** No parked pop is due before this monotonic time; Infinity when none is parked. */
  get nextDeadlineUs(): number {
    return this.#nextDeadlineUs;
  }

  /** Number of parked pops. */
  get size(): number {
    return this.#size;
  }

  /** Parks a pop behind the older ones of its scope. */
  park(pop: PopRequest): void {
    assert(pop.state === 'queued', () => `a ${pop.state} pop cannot park`);
    pop.state = 'parked';
    this.#size += 1;
    this.#nextDeadlineUs = Math.min(this.#nextDeadlineUs, pop.deadlineUs);
    const { scope, group } = pop.command;
    if (scope.kind === 'labels') {
      this.#discovery.push(pop);
      return;
    }
    const waiters = this.#groupWaiters(scope.queue, group);
    if (scope.kind === 'queue') {
      waiters.anyPartition.push(pop);
      return;
    }
    let lane = waiters.pinned.get(scope.partition);
    if (lane === undefined) {
      lane = new Fifo();
      waiters.pinned.set(scope.partition, lane);
    }
    lane.push(pop);
  }

  /**
   * Says that some parked pops were answered elsewhere: they leave with the next {@link expire}, which
   * is due now. One sweep for all of them keeps a mass of leaving clients cheap.
   */
  expectAnswered(nowUs: number): void {
    this.#nextDeadlineUs = Math.min(this.#nextDeadlineUs, nowUs);
  }

  /** True when anybody waits on the queue or by labels: spares the callers work on the hot path. */
  mayWake(queue: string): boolean {
    return this.#discovery.length > 0 || this.#queues.has(queue);
  }

  /**
   * Tries the pops that `claimable` may serve, oldest first within a lane. `attempt` returns true
   * when the pop is done (it claimed something, or is over) and leaves the lot; at the first false
   * the lane stops: what was claimable there is gone.
   */
  wake(claimable: Claimable, attempt: (pop: PopRequest) => boolean): void {
    const groups = this.#queues.get(claimable.queue);
    if (groups !== undefined) this.#wakeGroups(groups, claimable, attempt);
    if (this.#discovery.length > 0) this.#wakeDiscovery(claimable, attempt);
  }

  /** Takes out one pop that was answered elsewhere. */
  remove(pop: PopRequest): void {
    const { scope, group } = pop.command;
    const before = this.#size;
    const keep = (other: PopRequest): boolean => {
      if (other !== pop) return true;
      this.#size -= 1;
      return false;
    };
    if (scope.kind === 'labels') this.#discovery = this.#discovery.filter(keep);
    else {
      const groups = this.#queues.get(scope.queue);
      const waiters = groups?.get(group);
      if (groups === undefined || waiters === undefined) return;
      retainWaiters(waiters, keep);
      if (isIdle(waiters)) groups.delete(group);
      if (groups.size === 0) this.#queues.delete(scope.queue);
    }
    assert(this.#size === before - 1, 'a pop that was not parked');
  }

  /** Takes out the pops for which `isOver` holds, oldest first. */
  expire(isOver: (pop: PopRequest) => boolean): PopRequest[] {
    const over: PopRequest[] = [];
    let nextDeadlineUs = Infinity;
    const keep = (pop: PopRequest): boolean => {
      if (isOver(pop)) {
        over.push(pop);
        return false;
      }
      nextDeadlineUs = Math.min(nextDeadlineUs, pop.deadlineUs);
      return true;
    };
    for (const [queue, groups] of this.#queues) {
      for (const [group, waiters] of groups) {
        retainWaiters(waiters, keep);
        if (isIdle(waiters)) groups.delete(group);
      }
      if (groups.size === 0) this.#queues.delete(queue);
    }
    this.#discovery = this.#discovery.filter(keep);
    this.#size -= over.length;
    this.#nextDeadlineUs = nextDeadlineUs;
    return over.sort(byTicket);
  }

  #groupWaiters(queue: string, group: string): GroupWaiters {
    let groups = this.#queues.get(queue);
    if (groups === undefined) {
      groups = new Map();
      this.#queues.set(queue, groups);
    }
    let waiters = groups.get(group);
    if (waiters === undefined) {
      waiters = { anyPartition: new Fifo(), pinned: new Map() };
      groups.set(group, waiters);
    }
    return waiters;
  }

  #wakeGroups(
    groups: Map<string, GroupWaiters>,
    claimable: Claimable,
    attempt: (pop: PopRequest) => boolean,
  ): void {
    for (const [group, waiters] of groups) {
      if (claimable.groups?.has(group) === false) continue;
      // A pop that can only be served here goes before those that can be served elsewhere too.
      if (waiters.pinned.size > 0) this.#wakePinned(waiters, claimable.partitions(), attempt);
      this.#wakeLane(waiters.anyPartition, attempt);
      if (isIdle(waiters)) groups.delete(group);
    }
    if (groups.size === 0) this.#queues.delete(claimable.queue);
  }

  #wakePinned(
    waiters: GroupWaiters,
    partitions: Iterable<string> | 'all',
    attempt: (pop: PopRequest) => boolean,
  ): void {
    const names = partitions === 'all' ? [...waiters.pinned.keys()] : partitions;
    for (const partition of names) {
      const lane = waiters.pinned.get(partition);
      if (lane === undefined) continue;
      this.#wakeLane(lane, attempt);
      if (lane.size === 0) waiters.pinned.delete(partition);
    }
  }

  #wakeLane(lane: Fifo<PopRequest>, attempt: (pop: PopRequest) => boolean): void {
    for (let pop = lane.peek(); pop !== undefined; pop = lane.peek()) {
      if (!attempt(pop)) return;
      lane.shift();
      this.#size -= 1;
    }
  }

  #wakeDiscovery(claimable: Claimable, attempt: (pop: PopRequest) => boolean): void {
    const exhausted = new Set<string>();
    this.#discovery = this.#discovery.filter((pop) => {
      const { scope, group } = pop.command;
      assert(scope.kind === 'labels', 'a discovery pop has labels');
      const matches =
        claimable.groups?.has(group) !== false &&
        (scope.namespace === '' || scope.namespace === claimable.labels.namespace) &&
        (scope.task === '' || scope.task === claimable.labels.task);
      if (!matches || exhausted.has(group)) return true;
      if (attempt(pop)) {
        this.#size -= 1;
        return false;
      }
      exhausted.add(group);
      return true;
    });
  }
}

function retainWaiters(waiters: GroupWaiters, keep: (pop: PopRequest) => boolean): void {
  waiters.anyPartition.retain(keep);
  for (const [partition, lane] of waiters.pinned) {
    lane.retain(keep);
    if (lane.size === 0) waiters.pinned.delete(partition);
  }
}

function isIdle(waiters: GroupWaiters): boolean {
  return waiters.anyPartition.size === 0 && waiters.pinned.size === 0;
}

function byTicket(a: PopRequest, b: PopRequest): number {
  return a.ticket - b.ticket;
}
