// One run: found the cluster, let clients work under faults, heal, and demand that everything comes to
// a good end. Equal seeds give equal runs.

import type { CheckCounts } from './invariants/suite.ts';
import { Client } from './clients/client.ts';
import { Drain } from './clients/drain.ts';
import { Nemesis } from './faults/nemesis.ts';
import { Cluster } from './nodes/cluster.ts';
import type { Mutant } from './mutants/mutant.ts';
import { NO_DISK_BUGS } from './nodes/disk-bugs.ts';
import { profileOf } from './world/profile.ts';
import type { Profile } from './world/profile.ts';
import type { EventCounts } from './world/virtual-time.ts';
import { World } from './world/world.ts';
import type { Violation } from './world/world.ts';

/** How a run is made. */
export interface RunOptions {
  readonly seed: number;
  readonly isTraced?: boolean;
  /** A planted bug. */
  readonly mutant?: Mutant | undefined;
  /** Instead of the seed's own profile. */
  readonly profile?: Profile;
}

/** What a run came to. */
export interface RunResult {
  readonly seed: number;
  readonly violation: Violation | undefined;
  /** Equal for equal histories. */
  readonly fingerprint: number;
  readonly events: EventCounts;
  readonly faults: ReadonlyMap<string, number>;
  readonly checks: CheckCounts;
  readonly acknowledgedCount: number;
  readonly committedCount: number;
  readonly trace: readonly string[];
}

/** A healed cluster must elect a leader and store a message in this many election timeouts. */
const RECOVERY_ELECTION_TIMEOUTS = 10;

/** What the recovery may take on top: retries of the client and the way to it. */
const RECOVERY_US_MIN = 3_000_000;

/** Time for everything else after the recovery: leases that must run out, and the draining. */
const DRAIN_US = 60_000_000;

/** Founding needs every node, and nothing disturbs it. */
const FOUNDING_US = 60_000_000;

/** Runs one seed. */
export async function runSeed(options: RunOptions): Promise<RunResult> {
  const { seed } = options;
  const profile = options.profile ?? profileOf(seed);
  const world = new World({ seed, profile, isTraced: options.isTraced ?? false });
  const { mutant } = options;
  const takeOut = mutant?.install?.();
  // What the product does not await, it must not lose either: its process would end.
  const onUnhandled = (error: unknown): void => {
    world.violate('nodes stop for a reason', `a promise was left rejected: ${String(error)}`);
  };
  process.on('unhandledRejection', onUnhandled);
  try {
    const cluster = new Cluster(world, { ...NO_DISK_BUGS, ...mutant?.disk });
    const run = new Run(world, cluster);
    await run.play();
    return run.result;
  } finally {
    process.off('unhandledRejection', onUnhandled);
    takeOut?.();
  }
}

class Run {
  readonly #world: World;
  readonly #cluster: Cluster;
  readonly #clients: Client[] = [];
  #value = 0;

  constructor(world: World, cluster: Cluster) {
    this.#world = world;
    this.#cluster = cluster;
    const { clients, readers } = world.profile.workload;
    for (let number = 0; number < clients + readers; number += 1) {
      const role = number < clients ? 'any' : 'reader';
      this.#clients.push(new Client(cluster, this, { number, role }));
    }
  }

  nextValue(): number {
    this.#value += 1;
    return this.#value;
  }

  get result(): RunResult {
    const { seed, violation, time, faults, trace } = this.#world;
    const { suite, history, committed } = this.#cluster.observer;
    return {
      seed,
      violation,
      fingerprint: time.fingerprint,
      events: time.counts,
      faults,
      checks: suite.counts,
      acknowledgedCount: history.acknowledged.size,
      committedCount: committed.lastIndex,
      trace: trace.lines,
    };
  }

  async play(): Promise<void> {
    const world = this.#world;
    const { foundsInPeace, safetyUs } = world.profile;
    const cluster = this.#cluster;
    cluster.start();
    if (foundsInPeace) await this.#until('the cluster is founded', FOUNDING_US, this.#isFounded);
    const nemesis = new Nemesis(cluster);
    nemesis.start();
    for (const client of this.#clients) client.start();
    await cluster.run(world.time.nowUs + safetyUs);
    if (world.violation !== undefined) return;
    nemesis.heal();
    await this.#recover();
    nemesis.restore();
    await this.#drain();
    await this.#agree();
    if (world.violation === undefined) cluster.observer.suite.tell('finished');
  }

  readonly #isFounded = (): boolean => this.#cluster.isFounded;

  /** A leader is elected and takes what the clients still have to say. */
  async #recover(): Promise<void> {
    const { electionMs } = this.#world.profile;
    const withinUs = RECOVERY_ELECTION_TIMEOUTS * electionMs * 1000 + RECOVERY_US_MIN;
    for (const client of this.#clients) client.retryOnly();
    const { committed } = this.#cluster.observer;
    const committedBefore = committed.lastIndex;
    const openCount = (): number =>
      this.#clients.reduce((sum, client) => sum + client.openPushes.length, 0);
    const openBefore = openCount();
    await this.#until('a push gets through', withinUs, () => {
      return openBefore === 0 || openCount() < openBefore || committed.lastIndex > committedBefore;
    });
    // What is still on its way may be stored after a group was found empty.
    await this.#until('every push gets through', DRAIN_US, () => {
      return this.#clients.every((client) => !client.isBusy);
    });
  }

  /** Every group gets what is left for it. */
  async #drain(): Promise<void> {
    const { queues, groups } = this.#world.profile.workload;
    const drains: Drain[] = [];
    for (let q = 1; q <= queues; q += 1) {
      const names = Array.from({ length: groups }, (_, i) => `g${i + 1}`);
      this.#cluster.observer.history.groups.set(`q${q}`, names);
      for (const group of names) {
        drains.push(new Drain(this.#cluster, { queue: `q${q}`, group, number: drains.length }));
      }
    }
    for (const drain of drains) drain.start();
    await this.#until('every group is drained', DRAIN_US, () =>
      drains.every(({ isDone }) => isDone),
    );
  }

  /** Every node that can run has applied everything. */
  async #agree(): Promise<void> {
    const { observer } = this.#cluster;
    const { memberships } = observer;
    await this.#until('every member applies everything', DRAIN_US, () => {
      return memberships.members().every((node) => {
        if (node.isLost) return false;
        const replica = node.running?.broker?.replica;
        return replica?.isCurrent === true && replica.appliedIndex === observer.committed.lastIndex;
      });
    });
  }

  async #until(what: string, withinUs: number, isTrue: () => boolean): Promise<void> {
    const { time } = this.#world;
    await this.#cluster.run(time.nowUs + withinUs, isTrue);
    if (this.#world.violation !== undefined || isTrue()) return;
    const states = this.#cluster.nodes.map((node) => {
      const status = node.running?.broker?.status();
      if (status === undefined) return `node ${node.id} is not running`;
      const { role, term, leaderId, commitIndex, appliedIndex, lastIndex } = status;
      return `node ${node.id} ${role} t${term} leader ${leaderId} applied ${appliedIndex} commit ${commitIndex} last ${lastIndex}`;
    });
    this.#world.violate('liveness', `not within ${withinUs} us: ${what}\n  ${states.join('\n  ')}`);
  }
}
