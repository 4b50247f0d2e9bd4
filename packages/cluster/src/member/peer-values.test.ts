// Values that members send each other.

import { CodecError } from '@queen-ts/base';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decodeValue, encodeValue } from './peer-values.ts';

describe('a value between members', () => {
  test.each([
    ['nothing', undefined],
    ['numbers', [0, 1, 2 ** 53 - 1, -1, 0.5, -0, Infinity]],
    ['text that is no Unicode', 'a\ud800b'],
    ['columns', { bytes: Uint8Array.of(1, 2), words: Uint32Array.of(0, 2 ** 32 - 1) }],
    ['offsets', Float64Array.of(0, 2 ** 53)],
    ['errors by position', new Map([[3, { code: 'too_large', message: 'x' }]])],
    ['absent members', { a: undefined, b: null, c: [] }],
  ])('arrives as it was sent: %s', (_name, value) => {
    expect(decodeValue(encodeValue(value))).toStrictEqual(value);
  });

  test('arrives as it was sent, whatever it is', () => {
    const plain = fc.anything({
      withMap: true,
      withTypedArray: false,
      withNullPrototype: false,
      maxDepth: 4,
      key: fc.string().filter((name) => name !== '__proto__' && name.isWellFormed()),
      values: [
        fc.constantFrom(null, undefined, true, false),
        fc.double(),
        fc.nat(),
        fc.string(),
        fc.uint8Array(),
        fc.uint32Array(),
      ],
    });
    fc.assert(
      fc.property(plain, (value) => {
        expect(decodeValue(encodeValue(value))).toStrictEqual(value);
      }),
    );
  });

  test('is refused when bytes are missing, too many or mean nothing', () => {
    const bytes = encodeValue({ a: [1, 'b', Uint32Array.of(1)] });
    for (let size = 0; size < bytes.length; size += 1) {
      expect(() => decodeValue(bytes.subarray(0, size))).toThrow(CodecError);
    }
    expect(() => decodeValue(Uint8Array.of(...bytes, 0))).toThrow(CodecError);
    expect(() => decodeValue(Uint8Array.of(99))).toThrow(CodecError);
  });

  test('that nests too deeply is refused on either side', () => {
    let value: unknown = 0;
    for (let depth = 0; depth < 20; depth += 1) value = [value];
    expect(() => encodeValue(value)).toThrow(CodecError);
    const deep = Uint8Array.from({ length: 60 }, (_, i) => (i % 2 === 0 ? 11 : 1));
    expect(() => decodeValue(deep)).toThrow(CodecError);
  });
});
