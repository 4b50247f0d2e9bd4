// JSON numbers (RFC 8259 §6): an optional minus, an integer without leading zeros, then optionally a
// fraction and an exponent.

import { DIGIT_0, DOT, isDigit, MINUS, PLUS } from './characters.ts';

/**
 * Returns the position after the number that starts at `start`, or `~p` where `p` is the position
 * at which a digit is missing.
 */
export function skipNumber(bytes: Uint8Array, start: number): number {
  let at = bytes[start] === MINUS ? start + 1 : start;
  if (!isDigit(bytes[at])) return ~at;
  // A zero stands alone: what follows "0" in "01" is no part of the number.
  at = bytes[at] === DIGIT_0 ? at + 1 : skipDigits(bytes, at);
  if (bytes[at] === DOT) {
    if (!isDigit(bytes[at + 1])) return ~(at + 1);
    at = skipDigits(bytes, at + 1);
  }
  const exponent = bytes[at];
  if (exponent !== 0x65 && exponent !== 0x45) return at;
  const sign = bytes[at + 1];
  at += sign === PLUS || sign === MINUS ? 2 : 1;
  return isDigit(bytes[at]) ? skipDigits(bytes, at) : ~at;
}

function skipDigits(bytes: Uint8Array, start: number): number {
  let at = start;
  while (isDigit(bytes[at])) at += 1;
  return at;
}
