// I14: an answer speaks of the entry that was committed, not of another one at its index: the message
// is at the offset that the answer names, the lease is the one that the log gave out.

import { PUSH_STATUS } from '@queen-ts/protocol';
import { leaseText } from '../facts/ledger.ts';
import type { AnsweredPop, AnsweredPush, Facts, Invariant } from './invariant.ts';

/** Compares answers with the committed log. */
export class Answers implements Invariant {
  readonly name = 'I14 answers match what was committed';
  readonly #facts: Facts;

  constructor(facts: Facts) {
    this.#facts = facts;
  }

  pushed(push: AnsweredPush): string | undefined {
    const { outcome, values, queue } = push;
    for (const [i, value] of values.entries()) {
      const status = outcome.statuses[i];
      if (status === PUSH_STATUS.ERROR) continue;
      const verdict = status === PUSH_STATUS.QUEUED ? 'queued' : 'duplicate';
      const place = this.#facts.ledger.placeOf(value);
      const offset = outcome.offsets[i];
      const isThere =
        place?.offset === offset &&
        place?.partition.queue === queue &&
        place.partition.name === push.partition;
      if (!isThere) {
        const where = place === undefined ? 'is not committed' : `is at ${place.offset}`;
        return `message ${value} was answered as ${verdict} at offset ${offset} of ${queue}/${push.partition}, it ${where}`;
      }
    }
    return undefined;
  }

  popped(pop: AnsweredPop): string | undefined {
    const { command, outcome } = pop;
    for (const claim of outcome.claims) {
      const partition = this.#facts.ledger.partition(claim.partitionNumber);
      const cursor = partition?.cursors.get(command.group);
      const isLeased = cursor?.leases.includes(leaseText(outcome.leaseId)) === true;
      const isClaimed = outcome.autoAck ? cursor !== undefined : isLeased;
      if (!isClaimed) {
        return `a claim of partition ${claim.partitionNumber} by group ${command.group} was answered and is not committed`;
      }
    }
    return undefined;
  }
}
