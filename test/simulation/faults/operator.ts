// The operator who changes the members while everything else goes wrong: one step at a time, asked of
// whoever believes to lead. Never takes away what the group needs to decide: that would be no bug of
// the product. Asks for nonsense, too, which must be refused.

import { memberOf, votersOf } from '@queen-ts/raft';
import type { Member, Membership, MembershipChange, NodeId } from '@queen-ts/raft';
import type { Cluster } from '../nodes/cluster.ts';
import type { Process } from '../nodes/process.ts';
import type { SimNode } from '../nodes/sim-node.ts';
import type { Dice } from '../world/dice.ts';
import type { MemberFaultKind } from '../world/profile.ts';

/** An id that no node of a run has. */
const NOBODY = 15 as NodeId;

/** Time between two attempts to give a lost node its place back, in microseconds. */
const READMISSION_US = 50_000;

/** Changes members. */
export class Operator {
  readonly #cluster: Cluster;
  readonly #dice: Dice;
  /** Whether a disk may still be lost: then two voters are too few. */
  readonly #mayLoseDisk: () => boolean;

  constructor(cluster: Cluster, dice: Dice, mayLoseDisk: () => boolean) {
    this.#cluster = cluster;
    this.#dice = dice;
    this.#mayLoseDisk = mayLoseDisk;
  }

  /** Does one thing, if it can be done now. */
  perform(kind: MemberFaultKind): void {
    const leader = this.#anyLeader();
    if (leader === undefined || !this.#cluster.isFounded) return;
    const [membership] = this.#cluster.observer.memberships.newestOf(leader);
    switch (kind) {
      case 'addMember':
        return this.#add(leader, membership);
      case 'wrongChange':
        return this.#askNonsense(leader, membership);
      case 'transfer':
        return this.#transfer(leader, membership);
      case 'overlappingChanges':
        return this.#askTwice(leader, membership);
      default: {
        const change = this.#changeOf(kind, leader, membership);
        if (change !== undefined) this.#ask(leader, change);
      }
    }
  }

  /** Brings lost members back until there are none: new disks, demoted, caught up, promoted again. */
  restore(): void {
    const { observer, world } = this.#cluster;
    const lost = observer.memberships.members().find(({ isLost }) => isLost);
    if (lost === undefined) return;
    if (lost.disk.hasDamage) lost.wipe();
    lost.start();
    const leader = this.#cluster.leader?.running;
    if (leader !== undefined) this.#readmit(leader, lost);
    world.time.after(READMISSION_US, 'fault', 0, () => this.restore());
  }

  #readmit(leader: Process, lost: SimNode): void {
    const { id, disk } = lost;
    const [membership] = this.#cluster.observer.memberships.newestOf(leader);
    const member = memberOf(membership, id);
    // It was admitted already, or a damaged record was truncated and does no harm any more.
    if (member?.incarnation === disk.incarnation) lost.isLost = false;
    else if (member?.role === 'learner') this.#ask(leader, { kind: 'promote', id });
    else this.#ask(leader, { kind: 'demote', id });
  }

  /** Any node that believes to lead; several may. */
  #anyLeader(): Process | undefined {
    const leaders = this.#cluster.nodes.flatMap(({ running }) => {
      return running?.broker?.status().role === 'leader' ? [running] : [];
    });
    return leaders.length === 0 ? undefined : this.#dice.pick(leaders);
  }

  #add(leader: Process, membership: Membership): void {
    const { nodes } = this.#cluster;
    const others = nodes.filter(({ id }) => memberOf(membership, id) === undefined);
    if (others.length === 0) return;
    const node = this.#dice.pick(others);
    // The node is there before it is a member, or only afterwards.
    if (this.#dice.chance(0.5)) node.start();
    this.#ask(leader, { kind: 'addLearner', id: node.id, address: '' });
    node.start();
  }

  #changeOf(
    kind: 'promote' | 'demote' | 'removeMember' | 'removeLeader',
    leader: Process,
    membership: Membership,
  ): MembershipChange | undefined {
    const { id: leaderId } = leader.host;
    const members = membership.members.filter((member) => isFor(kind, member, leaderId));
    if (members.length === 0) return undefined;
    const { id } = this.#dice.pick(members);
    if (kind === 'promote') return { kind, id };
    const voters = votersOf(membership).filter((other) => other !== id);
    if (!this.#canDecide(membership, voters)) return undefined;
    return { kind: kind === 'demote' || this.#dice.chance(0.3) ? 'demote' : 'remove', id };
  }

  /** Whether `voters` are enough, whatever may still happen. */
  #canDecide({ members }: Membership, voters: readonly NodeId[]): boolean {
    if (voters.length < (this.#mayLoseDisk() ? 3 : 2)) return false;
    const left = members.filter(({ id }) => voters.includes(id));
    return this.#cluster.observer.memberships.isAble({ members: left });
  }

  /** Hands the leadership to a voter, which may be down, far behind or the leader itself. */
  #transfer(leader: Process, membership: Membership): void {
    const to = this.#dice.pick(votersOf(membership));
    const { world } = this.#cluster;
    leader.run(() => {
      const deadlineUs = leader.host.clock.monotonicUs() + world.profile.electionMs * 1000;
      leader.broker?.transferLeadership(to, deadlineUs).then(
        (result) => world.count(result.ok ? 'transferDone' : 'transferRefused'),
        // In doubt: the other node may yet take over.
        () => world.count('transferInDoubt'),
      );
    });
  }

  /** Two changes in one breath: the second must wait for the first. */
  #askTwice(leader: Process, membership: Membership): void {
    const first = this.#changeOf('demote', leader, membership);
    const second = this.#changeOf('promote', leader, membership);
    if (first === undefined || second === undefined) return;
    const isFirstTaken = this.#ask(leader, first);
    const isSecondTaken = this.#ask(leader, second);
    if (isFirstTaken && isSecondTaken)
      this.#mustRefuse(leader, second, 'while another is under way');
  }

  /** What no leader may do: above all, admit a node that lost its disk under its old id. */
  #askNonsense(leader: Process, membership: Membership): void {
    const { id, role } = this.#dice.pick(membership.members);
    const change = this.#dice.pick<MembershipChange>([
      { kind: 'addLearner', id, address: '' },
      role === 'voter' ? { kind: 'promote', id } : { kind: 'demote', id },
      { kind: 'promote', id: NOBODY },
      { kind: 'remove', id: NOBODY },
    ]);
    if (this.#ask(leader, change)) this.#mustRefuse(leader, change, 'which makes no sense');
  }

  #mustRefuse(leader: Process, change: MembershipChange, why: string): void {
    this.#cluster.world.violate(
      'members change one at a time',
      `node ${leader.host.id} takes ${change.kind} ${change.id}, ${why}`,
    );
  }

  /** Asks for a change; returns whether it was taken. */
  #ask(leader: Process, change: MembershipChange): boolean {
    let isTaken = false;
    leader.run(() => {
      const { world } = this.#cluster;
      const result = leader.broker?.changeMembers(change);
      isTaken = result?.ok === true;
      world.count(isTaken ? 'changeTaken' : 'changeRefused');
      world.trace.add(() => {
        const answer = result?.ok === false ? result.refusal : 'taken';
        return `node ${leader.host.id}: ${change.kind} ${change.id}: ${answer}`;
      });
    });
    return isTaken;
  }
}

/** Whether a member is one that this kind of change is about. */
function isFor(kind: MemberFaultKind, { id, role }: Member, leaderId: NodeId): boolean {
  switch (kind) {
    case 'promote':
      return role === 'learner';
    case 'demote':
      return role === 'voter';
    case 'removeLeader':
      return id === leaderId;
    default:
      return id !== leaderId;
  }
}
