// I1: what is committed is durable on a majority of the disks, whatever was acknowledged is committed,
// and in the end it is on every node and has reached every group, or is a dead letter of it.

import type { Entry } from '@queen-ts/raft';
import type { Facts, Invariant } from './invariant.ts';
import { isSameEntry } from './log-matching.ts';

/** Counts copies, and looks for what is missing at the end. */
export class NothingAcknowledgedIsLost implements Invariant {
  readonly name = 'I1 nothing acknowledged is lost';
  readonly #facts: Facts;

  constructor(facts: Facts) {
    this.#facts = facts;
  }

  committed(entry: Entry): string | undefined {
    const { nodes } = this.#facts;
    let copies = 0;
    for (const { disk, isWiped } of nodes) {
      // It may have held a copy when it was counted.
      if (isWiped) copies += 1;
      const written = disk.written(entry.index);
      if (written !== undefined && isSameEntry(written, entry)) copies += 1;
    }
    return copies > nodes.length / 2
      ? undefined
      : `entry ${entry.index} of term ${entry.term} counts as committed and is durable on ${copies} nodes`;
  }

  finished(): string | undefined {
    return this.#missingEntry() ?? this.#missingMessage();
  }

  #missingEntry(): string | undefined {
    const { nodes, committed } = this.#facts;
    for (const node of nodes) {
      if (node.isLost) continue;
      for (let index = 1; index <= committed.lastIndex; index += 1) {
        const written = node.disk.written(index);
        if (written === undefined || !isSameEntry(written, committed.entry(index)!)) {
          return `node ${node.id} does not hold entry ${index} in the end`;
        }
      }
    }
    return undefined;
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
