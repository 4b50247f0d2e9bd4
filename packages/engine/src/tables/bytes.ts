// Loops over short runs of bytes. Methods of typed arrays have a fixed cost that names do not repay.

/** From this length on a block copy beats a loop. */
const BLOCK_COPY_MIN = 64;

/** Whether two runs of `length` bytes are equal. Both must lie inside their arrays. */
export function equalBytes(
  left: Uint8Array,
  leftStart: number,
  right: Uint8Array,
  rightStart: number,
  length: number,
): boolean {
  for (let i = 0; i < length; i += 1) {
    if (left[leftStart + i] !== right[rightStart + i]) return false;
  }
  return true;
}

/** Copies `length` bytes between two arrays. */
export function copyBytes(
  target: Uint8Array,
  at: number,
  source: Uint8Array,
  start: number,
  length: number,
): void {
  if (length >= BLOCK_COPY_MIN) {
    target.set(source.subarray(start, start + length), at);
    return;
  }
  for (let i = 0; i < length; i += 1) target[at + i] = source[start + i] as number;
}

/** Reads an unsigned little-endian 32-bit value. */
export function readU32(bytes: Uint8Array, at: number): number {
  return (
    ((bytes[at] as number) |
      ((bytes[at + 1] as number) << 8) |
      ((bytes[at + 2] as number) << 16) |
      ((bytes[at + 3] as number) << 24)) >>>
    0
  );
}

/** Writes an unsigned little-endian 32-bit value. */
export function writeU32(bytes: Uint8Array, at: number, value: number): void {
  bytes[at] = value & 0xff;
  bytes[at + 1] = (value >>> 8) & 0xff;
  bytes[at + 2] = (value >>> 16) & 0xff;
  bytes[at + 3] = value >>> 24;
}
