// I6: cursors never move back, a successful ack moves its cursor past the message, and what was acked
// is not delivered again.

import { EFFECT } from '@queen-ts/protocol';
import type { Effect } from '@queen-ts/protocol';
import type { AnsweredAck, AnsweredPop, Facts, Invariant } from './invariant.ts';

/** Watches cursors. */
export class Cursors implements Invariant {
  readonly name = 'I6 cursors never move back';
  readonly #facts: Facts;

  constructor(facts: Facts) {
    this.#facts = facts;
  }

  effect(effect: Effect, at: { index: number }): string | undefined {
    if (effect.kind !== EFFECT.CURSOR_PUT) return undefined;
    const { ledger } = this.#facts;
    const group = ledger.groupName(effect.group);
    const next = ledger.partition(effect.partition)?.cursors.get(group)?.latest.next ?? 0;
    return effect.next >= next
      ? undefined
      : `entry ${at.index} moves group ${group} from ${next} back to ${effect.next} in partition ${effect.partition}`;
  }

  acked(ack: AnsweredAck): string | undefined {
    const cursor = this.#facts.ledger.partition(ack.partitionNumber)?.cursors.get(ack.group);
    const next = cursor?.latest.next ?? 0;
    // From the first message on that did not complete, the batch comes again or is dropped.
    const open = ack.offsets.filter((_, i) => ack.isCompleted[i] !== true);
    const end = Math.min(Infinity, ...open);
    const position = ack.offsets.findIndex(
      (offset, i) => ack.outcome.errors[i] === 0 && offset >= next && offset < end,
    );
    return position < 0
      ? undefined
      : `an ack of offset ${ack.offsets[position]} succeeded, group ${ack.group} is at ${next}`;
  }

  popped(pop: AnsweredPop): string | undefined {
    for (const { partitionNumber, offset } of pop.messages) {
      const mark = pop.marks.find((other) => other.partitionNumber === partitionNumber);
      if (mark !== undefined && offset < mark.next) {
        return `offset ${offset} of partition ${partitionNumber} was delivered after its ack (${mark.next})`;
      }
    }
    return undefined;
  }
}
