// One node with its disk, driven as a real driver does: one batch at a time, one persist in flight,
// crash at any moment. The state machine is the list of everything applied.

import { assert, SeededRng } from '@queen-ts/base';
import { describeEntry } from '../describe.ts';
import { decodeMembership } from '../membership-codec.ts';
import type { Membership } from '../membership.ts';
import type { Message, SnapshotMeta } from '../messages.ts';
import type { NodeId } from '../node-id.ts';
import { RaftNode } from '../node.ts';
import type { RaftLimits } from '../options.ts';
import type { Ready } from '../ready.ts';
import { MemoryHardStateStore } from './memory-hard-state-store.ts';
import { MemoryLogStore } from './memory-log-store.ts';

/** What a node applied, and the membership that follows from it. */
export interface AppliedState {
  readonly index: number;
  readonly entries: readonly string[];
  /** `undefined` until a membership entry was applied. */
  readonly membership: Membership | undefined;
}

/** What every node of a cluster is started with. */
export interface SimOptions {
  readonly id: NodeId;
  readonly incarnation: number;
  readonly voters: readonly NodeId[];
  readonly learners: readonly NodeId[];
  readonly foundingVotes: 'all' | 'majority';
  readonly electionTicks: number;
  readonly heartbeatTicks: number;
  readonly limits: RaftLimits;
  readonly seed: number;
}

/** How much of the persist in flight a crash leaves on disk. */
export type TornPersist = 'nothing' | 'hardState' | 'everything';

const NOTHING_APPLIED: AppliedState = { index: 0, entries: [], membership: undefined };

/** A node, its stores and its state machine. */
export class SimNode {
  readonly options: SimOptions;
  node: RaftNode;
  log = new MemoryLogStore();
  hardState: MemoryHardStateStore;
  state = NOTHING_APPLIED;
  /** The durable copy of the state that a restart begins with. */
  checkpoint = NOTHING_APPLIED;
  /** The batch whose persist is in flight. */
  persisting: Ready | undefined;
  isDown = false;
  #restartCount = 0;
  readonly #snapshots: WeakMap<SnapshotMeta, AppliedState>;

  /** @param snapshots the bytes of every snapshot under way, by its description. */
  constructor(options: SimOptions, snapshots: WeakMap<SnapshotMeta, AppliedState>) {
    this.options = options;
    this.#snapshots = snapshots;
    this.hardState = new MemoryHardStateStore(options.incarnation);
    this.node = this.#start();
  }

  get id(): NodeId {
    return this.options.id;
  }

  /**
   * Handles one batch up to the start of its persist. Returns it, or `undefined` if there is none.
   * The caller sends `messages` at once, and what `finishPersist` returns later.
   */
  takeReady(): Ready | undefined {
    if (!this.node.hasReady()) return undefined;
    const ready = this.node.ready();
    if (ready.persistUpTo !== undefined) this.#startPersist(ready);
    for (const entry of ready.committed) this.#apply(entry);
    this.node.advance();
    return ready;
  }

  /** The persist in flight, if any, becomes durable. Returns the messages that waited for it. */
  finishPersist(): readonly Message[] {
    const ready = this.persisting;
    if (ready?.persistUpTo === undefined) return [];
    this.persisting = undefined;
    this.hardState.sync();
    this.log.sync();
    if (ready.snapshot !== undefined) this.checkpoint = this.#stateOf(ready.snapshot);
    this.node.persisted(ready.persistUpTo);
    return ready.messagesAfterPersist;
  }

  /** Writes a checkpoint, and compacts the log up to `index`, which is applied. */
  compact(index: number): void {
    assert(index <= this.state.index, () => `compact to ${index}, applied ${this.state.index}`);
    this.checkpoint = this.state;
    this.log.compactNow(index);
  }

  /** A snapshot of what is applied, as the message that ends its transfer to `to`. */
  snapshotMessage(to: NodeId, term: number): Message {
    const { index, membership } = this.state;
    const snapshotTerm = this.log.term(index);
    assert(snapshotTerm !== undefined && membership !== undefined, 'nothing to snapshot');
    const snapshot = { index, term: snapshotTerm, membership };
    this.#snapshots.set(snapshot, this.state);
    const { id: from, incarnation } = this.options;
    return { kind: 'snapshot', from, to, term, incarnation, snapshot };
  }

  /** Stops at once. Of the persist in flight, `torn` reaches the disk. */
  crash(torn: TornPersist = 'nothing'): void {
    const ready = this.persisting;
    if (ready !== undefined && torn !== 'nothing') this.hardState.sync();
    if (ready !== undefined && torn === 'everything') {
      this.log.sync();
      if (ready.snapshot !== undefined) this.checkpoint = this.#stateOf(ready.snapshot);
    }
    this.persisting = undefined;
    this.isDown = true;
    this.log = this.log.crash();
    this.hardState = this.hardState.crash();
  }

  /** Starts again from what is durable. */
  restart(): void {
    assert(this.isDown, () => `node ${this.id} is up`);
    this.#restartCount += 1;
    this.isDown = false;
    this.state = this.checkpoint;
    this.node = this.#start();
  }

  /** Replaces the disk of a stopped node by an empty one. */
  wipe(incarnation: number): void {
    assert(this.isDown, () => `node ${this.id} is up`);
    this.log = new MemoryLogStore();
    this.hardState = new MemoryHardStateStore(incarnation);
    this.checkpoint = NOTHING_APPLIED;
  }

  #start(): RaftNode {
    const { seed, ...options } = this.options;
    const { membership } = this.state;
    return new RaftNode({
      ...options,
      incarnation: this.hardState.incarnation,
      log: this.log,
      hardState: this.hardState.current,
      appliedIndex: this.state.index,
      ...(membership !== undefined && { membership }),
      rng: new SeededRng(seed + 1000 * this.#restartCount),
    });
  }

  #startPersist(ready: Ready): void {
    assert(this.persisting === undefined, 'a persist is in flight');
    this.persisting = ready;
    if (ready.hardState !== undefined) this.hardState.begin(ready.hardState);
    if (ready.snapshot !== undefined) {
      this.log.beginInstall(ready.snapshot);
      this.state = this.#stateOf(ready.snapshot);
    }
    if (ready.entries.length > 0) this.log.begin(ready.entries);
  }

  #apply(entry: Ready['committed'][number]): void {
    const { index, entries, membership } = this.state;
    assert(entry.index === index + 1, () => `applied ${index}, then got ${entry.index}`);
    this.state = {
      index: entry.index,
      entries: [...entries, describeEntry(entry)],
      membership: entry.type === 'membership' ? decodeMembership(entry.head) : membership,
    };
  }

  #stateOf(snapshot: SnapshotMeta): AppliedState {
    const state = this.#snapshots.get(snapshot);
    assert(state !== undefined, () => `no bytes for snapshot ${snapshot.index}`);
    return state;
  }
}
