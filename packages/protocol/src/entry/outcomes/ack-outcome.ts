// An ack's outcome as it is remembered for a repeat of the request. Mostly every item succeeds in the
// same way: then one byte says it all.
//
//   u8 form, varint items, then one verdict byte for all (SAME) or for each item (EACH)
//   verdict: error | 8 lease released | 16 dead-lettered | 32 no-op

import { CodecError } from '@queen-ts/base';
import type { ByteReader, ByteWriter } from '@queen-ts/base';
import type { AckCommand, AckStatus } from '../../commands.ts';
import type { AckOutcome } from '../../outcomes.ts';

const FORM = { SAME: 0, EACH: 1 } as const;
const VERDICT = { ERROR: 7, RELEASED: 8, DEAD_LETTERED: 16, NOOP: 32 } as const;

/** Writes an outcome. */
export function writeAckOutcome(writer: ByteWriter, outcome: AckOutcome): void {
  const { errors, leaseReleased, deadLettered, noops } = outcome;
  const verdicts = errors.map(
    (error, item) =>
      error |
      (leaseReleased[item]! * VERDICT.RELEASED) |
      (deadLettered[item]! * VERDICT.DEAD_LETTERED) |
      (noops[item]! * VERDICT.NOOP),
  );
  const [first = 0] = verdicts;
  const isSame = verdicts.every((verdict) => verdict === first);
  writer.u8(isSame ? FORM.SAME : FORM.EACH);
  writer.varint(verdicts.length);
  if (isSame) writer.u8(first);
  else writer.raw(verdicts);
}

/** Reads the outcome of a command with as many items. Throws CodecError when it is of another one. */
export function readAckOutcome(reader: ByteReader, command: AckCommand): AckOutcome {
  const { itemCount } = command;
  const isSame = reader.u8() === FORM.SAME;
  const count = reader.varint();
  if (count !== itemCount) throw new CodecError(`verdicts of ${count} items`);
  const verdicts = isSame
    ? new Uint8Array(itemCount).fill(reader.u8())
    : reader.raw(itemCount).slice();
  const flag = (bit: number): Uint8Array =>
    verdicts.map((verdict) => ((verdict & bit) === 0 ? 0 : 1));
  return {
    kind: 'ack',
    errors: verdicts.map((verdict) => verdict & VERDICT.ERROR),
    leaseReleased: flag(VERDICT.RELEASED),
    deadLettered: flag(VERDICT.DEAD_LETTERED),
    noops: flag(VERDICT.NOOP),
    statuses: command.statuses.slice() as ArrayLike<number> as ArrayLike<AckStatus>,
  };
}
