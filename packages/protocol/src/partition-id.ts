// The wire form of a partition number (decisions D1): a UUIDv8 whose last twelve digits are the
// number in hexadecimal and whose first twenty spell «queents» in ASCII. Reversible, so nothing is
// stored per partition; numbers are never reused, so a re-created partition gets a new id.

import { assert } from '@queen-ts/base';
import { NO_PARTITION } from './commands.ts';

const PREFIX = '7175656e-7473-8000-8000-';
const PREFIX_SIZE = PREFIX.length;
const UUID_SIZE = 36;
const NUMBER_MAX = 0xffffffff;
const DECIMAL_DIGITS_MAX = 10;

/** Returns the wire form of a partition number in [1, 2^32). */
export function partitionIdText(partitionNumber: number): string {
  assert(
    Number.isInteger(partitionNumber) && partitionNumber >= 1 && partitionNumber <= NUMBER_MAX,
    () => `partition number ${partitionNumber}`,
  );
  return PREFIX + partitionNumber.toString(16).padStart(12, '0');
}

/**
 * Returns the number that a partition id means: its wire form in either case, or decimal digits as
 * 2.x clients hold them. `NO_PARTITION` when it is neither or out of range.
 */
export function parsePartitionId(text: string): number {
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit > 0x7f) return NO_PARTITION;
    bytes[i] = unit;
  }
  return readPartitionId(bytes, 0, bytes.length);
}

/** {@link parsePartitionId} of the ASCII bytes [from, toExclusive), for the ack route. */
export function readPartitionId(bytes: Uint8Array, from: number, toExclusive: number): number {
  const size = toExclusive - from;
  if (size === UUID_SIZE) return readUuidForm(bytes, from);
  if (size === 0 || size > DECIMAL_DIGITS_MAX) return NO_PARTITION;
  return readNumber(bytes, from, toExclusive, 10);
}

function readUuidForm(bytes: Uint8Array, from: number): number {
  for (let i = 0; i < PREFIX_SIZE; i++) {
    const expected = PREFIX.charCodeAt(i);
    const byte = bytes[from + i]!;
    // Only letters differ in bit 0x20 between the cases; digits and hyphens have it set already.
    if (byte !== expected && (expected < 0x61 || (byte | 0x20) !== expected)) return NO_PARTITION;
  }
  return readNumber(bytes, from + PREFIX_SIZE, from + UUID_SIZE, 16);
}

function readNumber(bytes: Uint8Array, from: number, toExclusive: number, radix: 10 | 16): number {
  let value = 0;
  for (let at = from; at < toExclusive; at++) {
    const digit = digitValue(bytes[at]!);
    if (digit >= radix) return NO_PARTITION;
    value = value * radix + digit;
  }
  return value <= NUMBER_MAX ? value : NO_PARTITION;
}

/** Value of a hexadecimal digit; 99 for any other byte. */
function digitValue(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const lower = byte | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : 99;
}
