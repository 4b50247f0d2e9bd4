// One node: a disk and clocks that last, and the process that runs on them now.

import type { CheckpointMeta, Entry, Message, NodeId } from '@queen-ts/raft';
import type { Dice } from '../world/dice.ts';
import type { World } from '../world/world.ts';
import { DiskError } from './disk-error.ts';
import { SimDisk } from './disk.ts';
import type { DiskBugs } from './disk-bugs.ts';
import { NodeClock } from './node-clock.ts';
import { Process } from './process.ts';
import type { ProcessHost, SnapshotPeerCall } from './process.ts';

/** What a node tells the rest of the simulation. */
export interface NodeWatch {
  sent(process: Process, message: Message): void;
  appended(node: SimNode, entries: readonly Entry[]): void;
  checkpointed(node: SimNode, meta: CheckpointMeta): void;
  snapshotCalled(process: Process, call: SnapshotPeerCall): Promise<Uint8Array>;
}

/** Time that a supervisor takes at least to start a process again, in microseconds. */
const RESTART_US_MIN = 1_000;

/** A machine of the cluster. */
export class SimNode implements ProcessHost {
  readonly world: World;
  readonly id: NodeId;
  readonly voters: readonly NodeId[];
  readonly clock: NodeClock;
  disk: SimDisk;
  process: Process | undefined;
  /** Damaged or wiped: no longer one of those whose recovery is expected. */
  isLost = false;
  /** Stays down until the faults are over. */
  isHeldDown = false;
  readonly #dice: Dice;
  readonly #watch: NodeWatch;
  readonly #bugs: DiskBugs;
  readonly #skewUs: number;
  #generation = 0;
  /** Disks that were lost, oldest first. */
  readonly formerDisks: SimDisk[] = [];

  constructor(options: {
    readonly world: World;
    readonly id: NodeId;
    readonly voters: readonly NodeId[];
    readonly bugs: DiskBugs;
    readonly watch: NodeWatch;
  }) {
    const { world, id } = options;
    const { driftPpm, skewUs } = world.profile;
    this.world = world;
    this.id = id;
    this.voters = options.voters;
    this.#dice = world.dice(100 + id);
    this.#watch = options.watch;
    this.#bugs = options.bugs;
    this.#skewUs = this.#dice.below(skewUs + 1);
    this.clock = new NodeClock({
      time: world.time,
      driftPpm: this.#dice.between(-driftPpm, driftPpm),
      skewUs: this.#skewUs,
    });
    this.disk = this.#newDisk();
  }

  /** The process, when it is alive and not paused. */
  get running(): Process | undefined {
    const { process } = this;
    return process?.isAlive === true && !process.isPaused ? process : undefined;
  }

  /** Starts a process if none is alive. */
  start(): void {
    if (this.process?.isAlive === true) return;
    this.#generation += 1;
    // A machine sets its clock when it starts; only those of running ones jump.
    this.clock.skewUs = this.#skewUs;
    this.world.trace.add(() => `node ${this.id}: starts for the ${this.#generation}. time`);
    this.process = new Process(this, this.#generation);
    this.process.start();
  }

  /** Kills the process, if it lives, and has it started again after a while. */
  crash(reason: string): void {
    if (this.process?.isAlive === true) this.killed(this.process, reason);
  }

  pause(): void {
    if (this.process?.isAlive === true) this.process.isPaused = true;
  }

  resume(): void {
    if (this.process?.isPaused === true) this.process.resume();
  }

  /** Every disk that it ever had, the present one last. */
  get disks(): readonly SimDisk[] {
    return [...this.formerDisks, this.disk];
  }

  /** Kills the process and replaces the disk by an empty one. */
  wipe(): void {
    this.crash('its disk is lost');
    this.formerDisks.push(this.disk);
    this.disk = this.#newDisk();
    this.isLost = true;
  }

  send(process: Process, messages: readonly Message[]): void {
    if (!process.isAlive) return;
    for (const message of messages) this.#watch.sent(process, message);
  }

  requestSnapshot(process: Process, call: SnapshotPeerCall): Promise<Uint8Array> {
    return this.#watch.snapshotCalled(process, call);
  }

  killed(process: Process, reason: string): void {
    this.world.trace.add(() => `node ${this.id}: killed, ${reason}`);
    this.#bury(process, { restarts: true });
  }

  died(process: Process, error: unknown): void {
    if (!process.isAlive) return;
    const text = error instanceof Error ? error.message : String(error);
    this.world.trace.add(() => `node ${this.id}: dies of ${text}`);
    if (error !== process.storageError && !this.#isExpected(error)) {
      const stack = error instanceof Error ? (error.stack ?? '') : '';
      this.world.violate('nodes stop for a reason', `node ${this.id}: ${text}\n${stack}`);
    }
    // A node that refused to open would only refuse again: a person has to look at it.
    const isRefusal = process.broker === undefined && this.#isExpected(error);
    if (isRefusal) this.isLost = true;
    this.#bury(process, { restarts: !isRefusal });
  }

  /** A damaged log refuses to open; nothing else may keep a node from starting. */
  #isExpected(error: unknown): boolean {
    return error instanceof DiskError && error.code === 'CORRUPTION' && this.disk.hasDamage;
  }

  #bury(process: Process, options: { readonly restarts: boolean }): void {
    process.isAlive = false;
    this.disk.crash();
    if (!options.restarts) return;
    const delayUs = RESTART_US_MIN + this.#dice.below(this.world.profile.restartUsMax);
    this.world.time.after(delayUs, 'fault', this.id, () => {
      if (!this.isHeldDown) this.start();
    });
  }

  #newDisk(): SimDisk {
    return new SimDisk({
      nodeId: this.id,
      incarnation: 1000 * (this.#bugs.keepsIdentity ? 1 : this.disks.length) + this.id,
      bugs: this.#bugs,
      world: this.world,
      dice: this.#dice,
      onAppended: (entries) => this.#watch.appended(this, entries),
      onCheckpoint: (meta) => this.#watch.checkpointed(this, meta),
    });
  }
}
