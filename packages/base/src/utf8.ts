// UTF-8 of byte spans: strict validation (no overlong forms, no surrogates, nothing above U+10FFFF)
// and decoding. Positional arguments because these run per name and per string.

/** Strings up to this many bytes are cheaper to build by hand than through the decoder. */
const SHORT_SIZE = 24;

/** ASCII strings up to this length are cheaper to encode by hand than through the encoder. */
const SHORT_LENGTH = 64;

/** `ignoreBOM` keeps a leading U+FEFF as the character it is. Non-streaming, so without state. */
const DECODER = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const ENCODER = new TextEncoder();

/** Returns bytes [from, toExclusive) as a string, or undefined if they are not UTF-8. */
export function decodeUtf8(
  bytes: Uint8Array,
  from: number,
  toExclusive: number,
): string | undefined {
  if (toExclusive - from <= SHORT_SIZE) {
    const short = decodeShortAscii(bytes, from, toExclusive);
    if (short !== undefined) return short;
  }
  try {
    return DECODER.decode(bytes.subarray(from, toExclusive));
  } catch {
    // A fatal decoder throws on nothing but bad input; bad input is a value here.
    return undefined;
  }
}

/** Returns the UTF-8 of `text`. Unpaired surrogates become U+FFFD: check `isWellFormed` first. */
export function encodeUtf8(text: string): Uint8Array {
  if (text.length > SHORT_LENGTH) return ENCODER.encode(text);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit >= 0x80) return ENCODER.encode(text);
    bytes[i] = unit;
  }
  return bytes;
}

/** Returns the size in bytes of `text` in UTF-8, unpaired surrogates counted as U+FFFD. */
export function utf8Size(text: string): number {
  let size = text.length;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit < 0x80) continue;
    if (unit < 0x800) size += 1;
    else if (isPair(unit, text, i)) {
      size += 2;
      i += 1;
    } else size += 2;
  }
  return size;
}

/** True when bytes [from, toExclusive) are UTF-8. */
export function isUtf8(bytes: Uint8Array, from: number, toExclusive: number): boolean {
  let at = from;
  while (at < toExclusive) {
    if (bytes[at]! < 0x80) at += 1;
    else {
      at = skipNonAscii(bytes, at, toExclusive);
      if (at < 0) return false;
    }
  }
  return true;
}

/**
 * Returns the position after the run of multi-byte sequences that starts at `at` (an ASCII byte or
 * `toExclusive`), or -1 if one of them is malformed.
 */
export function skipNonAscii(bytes: Uint8Array, at: number, toExclusive: number): number {
  let next = at;
  while (next < toExclusive && bytes[next]! >= 0x80) {
    const size = sequenceSize(bytes, next, toExclusive);
    if (size === 0) return -1;
    next += size;
  }
  return next;
}

/** Size of the multi-byte sequence at `at` (Unicode table 3-7), or 0 if it is malformed. */
function sequenceSize(bytes: Uint8Array, at: number, toExclusive: number): number {
  const lead = bytes[at]!;
  const left = toExclusive - at;
  if (lead < 0xc2 || lead > 0xf4 || left < 2) return 0;
  const second = bytes[at + 1]!;
  if (lead < 0xe0) return isContinuation(second) ? 2 : 0;
  if (left < 3 || !isContinuation(bytes[at + 2]!)) return 0;
  if (lead < 0xf0) {
    const lowest = lead === 0xe0 ? 0xa0 : 0x80;
    const highest = lead === 0xed ? 0x9f : 0xbf;
    return second >= lowest && second <= highest ? 3 : 0;
  }
  if (left < 4 || !isContinuation(bytes[at + 3]!)) return 0;
  const lowest = lead === 0xf0 ? 0x90 : 0x80;
  const highest = lead === 0xf4 ? 0x8f : 0xbf;
  return second >= lowest && second <= highest ? 4 : 0;
}

function isContinuation(byte: number): boolean {
  return (byte & 0xc0) === 0x80;
}

function isPair(unit: number, text: string, i: number): boolean {
  if (unit < 0xd800 || unit > 0xdbff || i + 1 >= text.length) return false;
  return (text.charCodeAt(i + 1) & 0xfc00) === 0xdc00;
}

function decodeShortAscii(
  bytes: Uint8Array,
  from: number,
  toExclusive: number,
): string | undefined {
  let text = '';
  for (let at = from; at < toExclusive; at++) {
    const byte = bytes[at]!;
    if (byte >= 0x80) return undefined;
    text += String.fromCharCode(byte);
  }
  return text;
}
