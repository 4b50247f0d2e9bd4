import { describe, expect, it } from 'vitest';
import { SeededRng } from './rng.ts';
import { decodeUtf8, encodeUtf8, isUtf8, skipNonAscii, utf8Size } from './utf8.ts';

const STRICT = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function decodeNaively(bytes: Uint8Array): string | undefined {
  try {
    return STRICT.decode(bytes);
  } catch {
    return undefined;
  }
}

describe('utf8', () => {
  it('accepts exactly what a fatal decoder accepts', () => {
    const rng = new SeededRng(5);
    // Bytes at the edges of every row of the table of well-formed sequences.
    const edges = [
      0x00, 0x41, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xc1, 0xc2, 0xdf, 0xe0, 0xe1,
      0xec, 0xed, 0xee, 0xef, 0xf0, 0xf1, 0xf3, 0xf4, 0xf5, 0xff,
    ];
    let accepted = 0;
    for (let run = 0; run < 40_000; run++) {
      const bytes = Uint8Array.from(
        { length: 1 + (rng.u32() % 4) },
        () => edges[rng.u32() % edges.length]!,
      );
      const expected = decodeNaively(bytes);
      if (expected !== undefined) accepted += 1;
      const isSame =
        isUtf8(bytes, 0, bytes.length) === (expected !== undefined) &&
        decodeUtf8(bytes, 0, bytes.length) === expected;
      if (!isSame) expect.fail(`verdict on ${bytes.join(' ')}`);
    }
    expect(accepted).toBeGreaterThan(1000);
  });

  it('rejects overlong forms, surrogates and values above U+10FFFF', () => {
    for (const bad of [
      [0xc0, 0x80],
      [0xe0, 0x80, 0x80],
      [0xed, 0xa0, 0x80],
      [0xf0, 0x80, 0x80, 0x80],
      [0xf4, 0x90, 0x80, 0x80],
      [0xe2, 0x82],
    ]) {
      expect(isUtf8(Uint8Array.from(bad), 0, bad.length)).toBe(false);
    }
  });

  it('keeps a byte order mark as a character', () => {
    const bytes = encodeUtf8('\ufeffa');
    expect(decodeUtf8(bytes, 0, bytes.length)).toBe('\ufeffa');
  });

  it('decodes short and long spans inside a larger buffer', () => {
    for (const text of ['', 'a', 'ä€😀', 'x'.repeat(24), 'x'.repeat(25), 'ü'.repeat(100)]) {
      const bytes = encodeUtf8(`<${text}>`);
      expect(decodeUtf8(bytes, 1, bytes.length - 1)).toBe(text);
      expect(utf8Size(text)).toBe(bytes.length - 2);
    }
  });

  it('encodes as the platform does', () => {
    const texts = ['', 'a', 'aä', 'x'.repeat(64), 'x'.repeat(65), `${'x'.repeat(63)}ä`, '\ud800'];
    for (const text of texts) expect(encodeUtf8(text)).toEqual(new TextEncoder().encode(text));
  });

  it('does not read a sequence across the end of the range', () => {
    const bytes = encodeUtf8('€');
    expect(isUtf8(bytes, 0, 2)).toBe(false);
    expect(skipNonAscii(bytes, 0, 2)).toBe(-1);
    expect(skipNonAscii(bytes, 0, 3)).toBe(3);
  });

  it('counts an unpaired surrogate as the replacement character', () => {
    for (const text of ['\ud800', 'a\udc00b', '\ud83d\ud83d\ude00', '\ud800']) {
      expect(utf8Size(text)).toBe(encodeUtf8(text).length);
    }
  });
});
