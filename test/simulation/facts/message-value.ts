// The payload of every simulated message: a JSON array of a number that no other message has, and some
// filling. The number stands for the message everywhere.

const ZERO = 0x30;

/** The payload of the message with this value. */
export function payloadWith(value: number, fillingBytes: number): unknown {
  return [value, 'x'.repeat(fillingBytes)];
}

/** Reads the value from a payload that starts at `bytes[start]`; NaN when it is none. */
export function valueOf(bytes: Uint8Array, start: number): number {
  let value = 0;
  let at = start + 1;
  for (; bytes[at]! >= ZERO && bytes[at]! < ZERO + 10; at += 1) {
    value = value * 10 + bytes[at]! - ZERO;
  }
  return bytes[start] === 0x5b && at > start + 1 ? value : Number.NaN;
}

/** The transaction id that a client gives to the message with this value. */
export function transactionIdOf(value: number): string {
  return `m${value}`;
}
