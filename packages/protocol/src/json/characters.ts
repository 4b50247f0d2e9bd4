// Bytes of the JSON grammar (RFC 8259) and the classes that bytes inside a string fall into.

export const QUOTE = 0x22;
export const PLUS = 0x2b;
export const COMMA = 0x2c;
export const MINUS = 0x2d;
export const DOT = 0x2e;
export const DIGIT_0 = 0x30;
export const COLON = 0x3a;
export const OPEN_ARRAY = 0x5b;
export const BACKSLASH = 0x5c;
export const CLOSE_ARRAY = 0x5d;
export const LETTER_N = 0x6e;
export const LETTER_U = 0x75;
export const OPEN_OBJECT = 0x7b;
export const CLOSE_OBJECT = 0x7d;

/** Classes of {@link STRING_CLASS}. PLAIN is zero, so that classes of several bytes can be or-ed. */
export const IN_STRING = { PLAIN: 0, QUOTE: 1, ESCAPE: 2, CONTROL: 3, NON_ASCII: 4 } as const;

/** Class of each byte value inside a string. */
export const STRING_CLASS = Uint8Array.from({ length: 256 }, (_, byte) => {
  if (byte === QUOTE) return IN_STRING.QUOTE;
  if (byte === BACKSLASH) return IN_STRING.ESCAPE;
  if (byte < 0x20) return IN_STRING.CONTROL;
  return byte < 0x80 ? IN_STRING.PLAIN : IN_STRING.NON_ASCII;
});

/** Value of a hexadecimal digit, or -1. */
export function hexValue(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const lower = byte | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1;
}

/** True for the bytes `0` to `9`; false for undefined, the byte after the last. */
export function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= DIGIT_0 && byte <= 0x39;
}
