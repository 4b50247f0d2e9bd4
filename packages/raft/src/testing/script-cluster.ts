// The cluster that script tests command: nodes, disks, links and a network whose messages move only
// when told to. Every command adds lines to the trace; scripts.test.ts has the list of commands.

import { assert } from '@queen-ts/base';
import { describeEntry, describeMessage, describeReady, describeStatus } from '../describe.ts';
import type { Message, SnapshotMeta } from '../messages.ts';
import { toNodeId } from '../node-id.ts';
import type { NodeId } from '../node-id.ts';
import { InvariantChecker } from './invariants.ts';
import { SimNode } from './sim-node.ts';
import type { AppliedState, SimOptions } from './sim-node.ts';

const SETTLE_ROUND_COUNT_MAX = 100;

/** What a script may set for its nodes; the rest is the same everywhere. */
export type ScriptClusterOptions = Pick<SimOptions, 'voters' | 'learners' | 'foundingVotes'> & {
  readonly limits: SimOptions['limits'];
};

/** A directed link, or every link if both ends are 0. */
export interface Link {
  readonly from: number;
  readonly to: number;
}

/** Nodes by id, a network in order of sending, and the trace. */
export class ScriptCluster {
  readonly trace: string[] = [];
  readonly #options: ScriptClusterOptions;
  readonly #nodes = new Map<number, SimNode>();
  readonly #snapshots = new WeakMap<SnapshotMeta, AppliedState>();
  readonly #checker = new InvariantChecker();
  readonly #cuts = new Set<string>();
  readonly #heldDisks = new Set<number>();
  #network: Message[] = [];
  readonly #saved: Message[] = [];

  constructor(options: ScriptClusterOptions) {
    this.#options = options;
    for (const id of [...options.voters, ...options.learners]) this.spawn(id);
  }

  /** Creates a node; it knows the founding members, itself among them or not. */
  spawn(id: NodeId): void {
    assert(!this.#nodes.has(id), () => `node ${id} exists`);
    const options = {
      ...this.#options,
      id,
      incarnation: id * 100,
      electionTicks: 10,
      heartbeatTicks: 2,
      seed: id,
    };
    this.#nodes.set(id, new SimNode(options, this.#snapshots));
  }

  get ids(): number[] {
    return [...this.#nodes.keys()].sort((a, b) => a - b);
  }

  isUp(id: number): boolean {
    return this.#nodes.get(id)?.isDown === false;
  }

  /** The node `id`, which must be up. */
  node(id: number): SimNode {
    const sim = this.#nodes.get(id);
    assert(sim !== undefined && !sim.isDown, () => `node ${id} is not up`);
    return sim;
  }

  /** Adds an indented line to the trace. */
  say(line: string): void {
    this.trace.push(`  ${line}`);
  }

  /** Handles the batches of a node until it has none, with its disk as fast as it is allowed to be. */
  run(id: number): boolean {
    const sim = this.#nodes.get(id);
    if (sim === undefined || sim.isDown) return false;
    let didWork = false;
    for (;;) {
      const ready = sim.takeReady();
      const isPersistDone = !this.#heldDisks.has(id) && sim.persisting !== undefined;
      if (ready === undefined && !isPersistDone) return didWork;
      didWork = true;
      if (ready !== undefined) {
        this.trace.push(...describeReady(ready).map((line) => `  ${id} ${line}`));
        this.#network.push(...ready.messages);
      }
      if (isPersistDone) this.#network.push(...sim.finishPersist());
      this.#checker.check(sim);
    }
  }

  /** Delivers what is on a link now, in order; a cut link loses it. Returns how many moved. */
  deliver({ from, to }: Link, kind?: string): number {
    const isMoving = (message: Message): boolean =>
      (from === 0 || (message.from === from && message.to === to)) &&
      (kind === undefined || message.kind === kind);
    const moving = this.#network.filter(isMoving);
    this.#network = this.#network.filter((message) => !isMoving(message));
    for (const message of moving) this.#deliverOne(message);
    return moving.length;
  }

  /** Loses what is on a link now. */
  drop({ from, to }: Link, kind?: string): void {
    this.#network = this.#network.filter((message) => {
      const isOnLink = from === 0 || (message.from === from && message.to === to);
      const isLost = isOnLink && (kind === undefined || message.kind === kind);
      if (isLost) this.say(`lost ${describeMessage(message)}`);
      return !isLost;
    });
  }

  /** Puts a second copy of what is on a link at the end of the network. */
  duplicate({ from, to }: Link): void {
    this.#network.push(...this.#network.filter((m) => m.from === from && m.to === to));
  }

  /** Keeps a copy of what is on a link, for `resend`. */
  save({ from, to }: Link): void {
    this.#saved.push(...this.#network.filter((m) => m.from === from && m.to === to));
  }

  /** Puts what was saved on the network: messages that were delayed for long. */
  resend(): void {
    for (const message of this.#saved) this.say(`late ${describeMessage(message)}`);
    this.#network.push(...this.#saved.splice(0));
  }

  /** Turns the order of everything on the network around. */
  reverse(): void {
    this.#network.reverse();
  }

  /** Prints what is on the network. */
  pending(): void {
    for (const message of this.#network) this.say(describeMessage(message));
  }

  /** Runs nodes and delivers messages until nothing moves any more. */
  settle(): void {
    for (let round = 0; round < SETTLE_ROUND_COUNT_MAX; round++) {
      const busy = this.ids.filter((id) => this.run(id));
      const movedCount = this.deliver({ from: 0, to: 0 });
      if (busy.length === 0 && movedCount === 0) return;
    }
    this.say('does not settle');
  }

  /** Runs every node once and delivers what is on the network. */
  round(): void {
    for (const id of this.ids) this.run(id);
    this.deliver({ from: 0, to: 0 });
  }

  /** Settles and keeps of the trace only the changes of role that end or begin a leadership. */
  settleQuietly(): void {
    const from = this.trace.length;
    this.settle();
    const kept = this.trace
      .splice(from)
      .filter((line) => /(leader|follower) t\d+ leader=/.test(line));
    this.trace.push(...kept);
  }

  cut({ from, to }: Link): void {
    this.#cuts.add(`${from}->${to}`);
  }

  heal(): void {
    this.#cuts.clear();
  }

  holdDisk(id: number): void {
    this.#heldDisks.add(id);
  }

  releaseDisk(id: number): void {
    this.#heldDisks.delete(id);
  }

  crash(id: number): void {
    this.node(id).crash();
    this.#network = this.#network.filter(({ to }) => to !== id);
  }

  restart(id: number): void {
    this.#nodes.get(id)?.restart();
  }

  /** Gives a stopped node an empty disk. */
  wipe(id: number): void {
    this.#nodes.get(id)?.wipe(id * 100 + 1);
  }

  /** Puts a snapshot of what `from` applied on the network. */
  sendSnapshot({ from, to }: Link): void {
    const sim = this.node(from);
    this.#network.push(sim.snapshotMessage(toNodeId(to), sim.node.status.term));
  }

  printStatus(id: number): void {
    if (!this.isUp(id)) return this.say(`${id} down`);
    for (const line of describeStatus(this.node(id).node.status)) this.say(line);
  }

  /** Prints what the disk of a node holds. */
  printLog(id: number): void {
    if (!this.isUp(id)) return this.say(`${id} down`);
    const { log, state } = this.node(id);
    const { firstIndex, lastIndex } = log;
    const range = { from: firstIndex, toExclusive: lastIndex + 1, maxBytes: 1 << 20 };
    const entries = lastIndex < firstIndex ? [] : log.entries(range);
    this.say(`${id} log ${entries.map(describeEntry).join(', ')} applied=${state.index}`);
  }

  /** Ids of the nodes that lead, highest term first. */
  get leaders(): number[] {
    return [...this.#nodes.values()]
      .filter((sim) => !sim.isDown && sim.node.status.role === 'leader')
      .sort((a, b) => b.node.status.term - a.node.status.term)
      .map(({ id }) => id);
  }

  #deliverOne(message: Message): void {
    const receiver = this.#nodes.get(message.to);
    const isCut = this.#cuts.has(`${message.from}->${message.to}`);
    if (receiver === undefined || receiver.isDown || isCut) {
      this.say(`lost ${describeMessage(message)}`);
      return;
    }
    receiver.node.step(message);
  }
}
