// I1: what is committed is durable on a majority of the voters' disks, whatever was acknowledged is
// committed, and in the end it is on every member and has reached every group, or is a dead letter.

import { liveRanges } from '@queen-ts/engine';
import type { Entry, Membership, Message } from '@queen-ts/raft';
import { isMajority } from '../facts/memberships.ts';
import type { Process } from '../nodes/process.ts';
import type { SimNode } from '../nodes/sim-node.ts';
import type { Facts, Invariant } from './invariant.ts';
import { isSameEntry } from './log-matching.ts';

/** Counts copies, and looks for what is missing at the end. */
export class NothingAcknowledgedIsLost implements Invariant {
  readonly name = 'I1 nothing acknowledged is lost';
  readonly #facts: Facts;
  /** The highest commit index that the leader of a term spoke of. */
  readonly #commitIndexes = new Map<number, number>();

  constructor(facts: Facts) {
    this.#facts = facts;
  }

  /** A leader that commits: a majority of the voters that it counts must hold the newest entry. */
  sent(process: Process, message: Message): string | undefined {
    if (message.kind !== 'append') return undefined;
    const { term, commitIndex } = message;
    const before = this.#commitIndexes.get(term);
    if (before !== undefined && commitIndex <= before) return undefined;
    this.#commitIndexes.set(term, commitIndex);
    const entry = process.log?.peek(commitIndex);
    // What it knew when it took office it learned as a follower.
    if (before === undefined || entry === undefined) return undefined;
    // The newest membership may have been appended after it counted, in the same breath.
    const memberships = this.#facts.memberships.newestOf(process);
    return this.#isOnMajority(entry, memberships)
      ? undefined
      : `leader ${message.from} of term ${term} commits up to ${commitIndex}, which is not durable on a majority`;
  }

  committed(entry: Entry): string | undefined {
    return this.#isOnMajority(entry, this.#facts.memberships.possible())
      ? undefined
      : `entry ${entry.index} of term ${entry.term} counts as committed and is not durable on a majority`;
  }

  finished(): string | undefined {
    return this.#missingEntry() ?? this.#missingMessage();
  }

  /** Whether the voters of one of the memberships decided for an entry. */
  #isOnMajority(entry: Entry, memberships: readonly Membership[]): boolean {
    return memberships.some(({ members }) => {
      const voters = members.filter(({ role }) => role === 'voter');
      const holders = voters.filter(({ id, incarnation }) => this.#holds(id, incarnation, entry));
      return isMajority(holders.length, voters.length);
    });
  }

  /** Whether a voter's disk holds an entry, or held it when it was lost. 0 stands for any disk. */
  #holds(id: number, incarnation: number, entry: Entry): boolean {
    const disks = this.#facts.nodes[id - 1]?.disks ?? [];
    return disks.some((disk) => {
      if (incarnation !== 0 && disk.incarnation !== incarnation) return false;
      // What its log does not reach back to is part of its state.
      if (entry.index <= disk.startIndex) return true;
      const written = disk.written(entry.index);
      return written !== undefined && isSameEntry(written, entry);
    });
  }

  #missingEntry(): string | undefined {
    const { memberships, committed } = this.#facts;
    for (const node of memberships.members()) {
      const { startIndex } = node.disk;
      for (let index = 1; index <= startIndex; index += 1) {
        const missing = this.#missingArchived(node, committed.entry(index)!);
        if (missing !== undefined) return missing;
      }
      for (let index = startIndex + 1; index <= committed.lastIndex; index += 1) {
        const written = node.disk.written(index);
        if (written === undefined || !isSameEntry(written, committed.entry(index)!)) {
          return `node ${node.id} does not hold entry ${index} in the end`;
        }
      }
    }
    return undefined;
  }

  /** What the state refers to must be readable, also where the log was cut. */
  #missingArchived(node: SimNode, entry: Entry): string | undefined {
    if (entry.type !== 'command') return undefined;
    const { state } = this.#facts.committed.engine;
    const missing = liveRanges(state, entry).find((range) => {
      return !node.disk.keeps({ index: entry.index, ...range });
    });
    return missing === undefined
      ? undefined
      : `node ${node.id} has purged bytes ${missing.from} to ${missing.toExclusive} of entry ${entry.index}, which are in use`;
  }

  #missingMessage(): string | undefined {
    const { acknowledged, ledger, groups, delivered } = this.#facts;
    for (const [value, queue] of acknowledged) {
      const place = ledger.placeOf(value);
      if (place === undefined) return `message ${value} was acknowledged and is nowhere`;
      for (const group of groups.get(queue) ?? []) {
        const isDelivered = delivered.get(`${queue}/${group}`)?.has(value) === true;
        const isDead = place.partition.deadLetters.get(group)?.has(value) === true;
        if (!isDelivered && !isDead) {
          return `message ${value} of queue ${queue} never reached group ${group}`;
        }
      }
    }
    return undefined;
  }
}
