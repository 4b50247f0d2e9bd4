// Who the members are: by what is committed, by one node's log, and by any log that might still win.

import { decodeMembership, memberOf, membershipOf, votersOf } from '@queen-ts/raft';
import type { Entry, Membership, NodeId } from '@queen-ts/raft';
import type { Process } from '../nodes/process.ts';
import type { SimNode } from '../nodes/sim-node.ts';

const decoded = new WeakMap<Uint8Array, Membership>();

/** The membership that an entry of that type sets. */
export function membershipIn({ head }: Entry): Membership {
  let membership = decoded.get(head);
  if (membership === undefined) {
    membership = decodeMembership(head);
    decoded.set(head, membership);
  }
  return membership;
}

/** Whether so many of `voters` decide. */
export function isMajority(count: number, voters: number): boolean {
  return count > voters / 2;
}

/** Memberships of one run. */
export class Memberships {
  readonly #nodes: readonly SimNode[];
  readonly #founding: Membership;
  #committed: Membership;
  #committedIndex = 0;

  constructor(nodes: readonly SimNode[], founders: readonly NodeId[]) {
    this.#nodes = nodes;
    this.#founding = membershipOf(
      founders.map((id) => ({ id, role: 'voter', incarnation: 0, address: '' })),
    );
    this.#committed = this.#founding;
  }

  /** The last committed one. */
  get committed(): Membership {
    return this.#committed;
  }

  /** An entry is committed. */
  take(entry: Entry): void {
    if (entry.type !== 'membership') return;
    this.#committed = membershipIn(entry);
    this.#committedIndex = entry.index;
  }

  /**
   * What a process goes by: the newest membership that it knows, appended or only about to be. After
   * it those that it may have gone by a moment ago.
   */
  newestOf({ broker, log }: Process): readonly [Membership, ...Membership[]] {
    if (broker === undefined) return [this.#founding];
    const { membership, membershipIndex } = broker.raftStatus;
    const before = log?.memberships.findLast(({ index }) => index < membershipIndex);
    return before === undefined
      ? [membership, this.#committed]
      : [membership, membershipIn(before), this.#committed];
  }

  /** Those that are or may yet be in force: the committed one, and whatever some log has after it. */
  possible(): Membership[] {
    const found = new Set([this.#committed]);
    for (const { process, disk } of this.#nodes) {
      const known = process?.broker?.raftStatus;
      if (known !== undefined && known.membershipIndex > this.#committedIndex) {
        found.add(known.membership);
      }
      for (const entry of [...(process?.log?.memberships ?? []), ...disk.memberships]) {
        if (entry.index > this.#committedIndex) found.add(membershipIn(entry));
      }
    }
    return [...found];
  }

  /** The nodes that the committed membership names. */
  members(): SimNode[] {
    return this.#nodes.filter(({ id }) => memberOf(this.#committed, id) !== undefined);
  }

  /** Whether the voters can decide without `lost` and whoever is lost already. */
  canLose(lost: SimNode): boolean {
    return this.possible().every((membership) => this.isAble(membership, lost));
  }

  /** Whether enough voters of a membership are not lost, `except` aside. */
  isAble(membership: Membership, except?: SimNode): boolean {
    const voters = votersOf(membership);
    const left = this.#nodes.filter(
      (node) => voters.includes(node.id) && !node.isLost && node !== except,
    );
    return isMajority(left.length, voters.length);
  }
}
