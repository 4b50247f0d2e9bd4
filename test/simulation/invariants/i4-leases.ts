// I4: at most one live lease per partition and group, and no ack under a lease that is not the live one.

import { EFFECT } from '@queen-ts/protocol';
import type { Effect } from '@queen-ts/protocol';
import { leaseText } from '../facts/ledger.ts';
import type { AnsweredAck, Facts, Invariant } from './invariant.ts';

/** Watches leases. */
export class Leases implements Invariant {
  readonly name = 'I4 one live lease per partition and group';
  readonly #facts: Facts;

  constructor(facts: Facts) {
    this.#facts = facts;
  }

  effect(effect: Effect, at: { index: number; nowUs: number }): string | undefined {
    if (effect.kind !== EFFECT.CURSOR_PUT || effect.leaseToExclusive === 0) return undefined;
    const { ledger } = this.#facts;
    const group = ledger.groupName(effect.group);
    const before = ledger.partition(effect.partition)?.cursors.get(group)?.latest;
    if (before === undefined || before.leaseToExclusive === 0) return undefined;
    const isOther = leaseText(before.leaseId) !== leaseText(effect.leaseId);
    return isOther && before.leaseExpiresUs > at.nowUs
      ? `entry ${at.index} leases partition ${effect.partition} to group ${group} again, ` +
          `${before.leaseExpiresUs - at.nowUs} us before the other lease ends`
      : undefined;
  }

  acked(ack: AnsweredAck): string | undefined {
    const cursor = this.#facts.ledger.partition(ack.partitionNumber)?.cursors.get(ack.group);
    if (cursor === undefined) return undefined;
    // A lease that was followed by another before the ack set out can settle nothing any more.
    const isForeign = cursor.leases.slice(0, ack.leaseCount - 1).includes(ack.leaseId);
    const settles = ack.offsets.some((_, i) => {
      // A repeat of the ack that settled the lease succeeds again, and says so of completed messages.
      const isCompleted = ack.isCompleted[i] === true;
      return isCompleted && ack.outcome.errors[i] === 0 && ack.outcome.noops[i] === 0;
    });
    return isForeign && settles
      ? `an ack under lease ${ack.leaseId} counted after another lease was given out`
      : undefined;
  }
}
