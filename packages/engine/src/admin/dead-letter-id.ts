// Ids of dead letters on the wire: a UUIDv7 made of the time and the dense number, so that nothing
// has to be stored for them and an id of a removed one is never given out again.

import type { Id128 } from '@queen-ts/protocol';
import type { State } from '../state.ts';

const U32_RANGE = 2 ** 32;

/** The id of a dead-letter row. */
export function deadLetterId(state: State, row: number): Id128 {
  const ms = Math.floor(state.deadLetters.failedUs.get(row) / 1000);
  const number = state.deadLetters.number.get(row);
  return [
    Math.floor(ms / 0x1_0000),
    (((ms % 0x1_0000) << 16) | 0x7000) >>> 0,
    (0x8000_0000 | Math.floor(number / U32_RANGE)) >>> 0,
    number >>> 0,
  ];
}

/** The row of an id, or 0. */
export function deadLetterRow(state: State, id: Id128): number {
  const number = (id[2] & 0x3fff_ffff) * U32_RANGE + id[3];
  if (number > 0xffff_ffff) return 0;
  const row = state.deadLetters.numbers.get(number);
  if (row === 0) return 0;
  return deadLetterId(state, row).every((word, i) => word === id[i]) ? row : 0;
}
