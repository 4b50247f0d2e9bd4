// What this node is to the others, and since when it may plan: only while it leads and its engine
// contains its whole log. Owns the clock of the leadership and the time that the log was at before it.

import type { Clock } from '@queen-ts/base';
import type { EngineView } from '@queen-ts/engine';
import { votersOf } from '@queen-ts/raft';
import type { Message, NodeId, RaftNode, SoftState } from '@queen-ts/raft';
import { LeaderClock, LogTime } from './leader-clock.ts';
import type { Replica } from './replica.ts';

/** Parts of a {@link Leadership}; all owned by the broker. */
export interface LeadershipParts {
  readonly raft: RaftNode;
  readonly replica: Replica;
  readonly clock: Clock;
}

/** The role of one node. */
export class Leadership {
  readonly #parts: LeadershipParts;
  readonly #logTime: LogTime;
  #soft: SoftState;
  /** When the leader was last heard, in monotonic time. */
  #heardUs = 0;
  /** A transfer was started in this leadership: the core may refuse proposals. */
  #mayTransfer = false;
  /** Set while this node leads and contains its whole log: it may plan. */
  #clock: LeaderClock | undefined;

  constructor(parts: LeadershipParts) {
    this.#parts = parts;
    this.#logTime = new LogTime(parts.clock);
    const { term, leaderId, role, isIdentityRefused } = parts.raft.status;
    this.#soft = { role, leaderId, term, isIdentityRefused };
  }

  /** The clock of the leadership that may plan; undefined when there is none. */
  get clock(): LeaderClock | undefined {
    return this.#clock;
  }

  /** Who leads, 0 when nobody is known to. */
  get leaderId(): NodeId | 0 {
    return this.#soft.leaderId;
  }

  /** Whether this node leads; it may not be ready to plan yet. */
  get isLeader(): boolean {
    return this.#soft.role === 'leader';
  }

  /**
   * How long ago a quorum is known to have stood behind the leader, in microseconds: on the leader the
   * age of the oldest answer that it needs, on another member that of the leader's last message.
   * Undefined while there is no leader.
   * @param tickUs period of the core's clock.
   */
  quorumAgeUs(tickUs: number): number | undefined {
    if (this.#soft.leaderId === 0) return undefined;
    if (!this.isLeader) return this.#parts.clock.monotonicUs() - this.#heardUs;
    const { membership, peers, id } = this.#parts.raft.status;
    const voters = new Set<NodeId>(votersOf(membership));
    const ticks = peers
      .filter((peer) => voters.has(peer.id))
      .map((peer) => peer.ticksSinceHeard)
      .sort((a, b) => a - b);
    const needed = Math.floor(voters.size / 2) + (voters.has(id) ? 0 : 1);
    return needed === 0 ? 0 : (ticks[needed - 1] ?? Infinity) * tickUs;
  }

  /** A leader serves once it may plan; another member as soon as there is a leader. */
  get isServing(): boolean {
    return this.#soft.role === 'leader' ? this.isReadyToPlan() : this.#soft.leaderId !== 0;
  }

  /** The state as it is now, at the leader's time where this node leads. */
  view(): EngineView {
    const { engine } = this.#parts.replica;
    return engine.view(this.#clock?.nowUs() ?? engine.nowUs);
  }

  /** A message arrived: it may tell of the log's time. */
  arrived(message: Message): void {
    if (message.from === this.#soft.leaderId) this.#heardUs = this.#parts.clock.monotonicUs();
    this.#logTime.arrived(message);
  }

  /** True once this node leads and its engine contains its whole log; starts the leader's clock. */
  isReadyToPlan(): boolean {
    if (this.#clock !== undefined) return true;
    const { raft, replica, clock } = this.#parts;
    if (this.#soft.role !== 'leader' || !replica.isCurrent) return false;
    const { hasCommittedInTerm, lastIndex } = raft.status;
    if (!hasCommittedInTerm || lastIndex !== replica.appliedIndex) return false;
    this.#clock = new LeaderClock(clock, {
      floorUs: replica.engine.nowUs,
      logUs: this.#logTime.nowUs(),
    });
    return true;
  }

  /** A transfer of the leadership was started. */
  transferring(): void {
    this.#mayTransfer = true;
  }

  /** Whether the core refuses proposals, because it hands the leadership over. */
  get isTransferring(): boolean {
    if (!this.#mayTransfer) return false;
    this.#mayTransfer = this.#parts.raft.status.transferTarget !== 0;
    return this.#mayTransfer;
  }

  /** Takes the new state; true when this ends a leadership that had planned. */
  changed(state: SoftState): boolean {
    const { term } = this.#soft;
    const leadsOn = state.role === 'leader' && state.term === term;
    if (state.leaderId !== this.#soft.leaderId) this.#heardUs = this.#parts.clock.monotonicUs();
    this.#soft = state;
    if (leadsOn || this.#clock === undefined) return false;
    this.#logTime.know(this.#clock.runningUs(), term);
    this.#clock = undefined;
    return true;
  }
}
