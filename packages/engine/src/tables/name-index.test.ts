import { randomBelow, SeededRng } from '@queen-ts/base';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type NameHash, NAME_INDEX_BYTES_MAX, NameIndex } from './name-index.ts';

const encoder = new TextEncoder();

function insert(index: NameIndex, scope: number, name: string, row: number): void {
  const bytes = encoder.encode(`<${name}>`);
  index.insert(scope, bytes, 1, bytes.length - 2, row);
}

function find(index: NameIndex, scope: number, name: string): number {
  const bytes = encoder.encode(`..${name}.`);
  return index.find(scope, bytes, 2, bytes.length - 3);
}

const WEAK_HASHES: readonly { name: string; hash: NameHash | undefined }[] = [
  { name: 'the default hash', hash: undefined },
  { name: 'a hash that is always 0', hash: () => 0 },
  { name: 'a hash of the length only', hash: (_scope, _bytes, _start, length) => length << 20 },
  { name: 'a hash of the scope only', hash: (scope) => -scope },
];

describe.each(WEAK_HASHES)('with $name', ({ hash }) => {
  test('agrees with a map on random names, scopes and rows', () => {
    const rng = new SeededRng(4);
    const index = new NameIndex(hash === undefined ? { seed: 9 } : { hash });
    const model = new Map<string, number>();
    const keys = new Map<number, string>();
    for (let i = 0; i < 6000; i += 1) {
      const scope = 1 + randomBelow(rng, 3);
      const name = `n${randomBelow(rng, 400)}${'x'.repeat(randomBelow(rng, 3) * 40)}`;
      const row = 1 + randomBelow(rng, 500);
      const key = `${scope}/${name}`;
      expect(find(index, scope, name)).toBe(model.get(key) ?? 0);
      if (keys.has(row)) {
        index.remove(row);
        model.delete(keys.get(row) as string);
        keys.delete(row);
      } else if (!model.has(key)) {
        insert(index, scope, name, row);
        model.set(key, row);
        keys.set(row, key);
      }
      expect(index.count).toBe(model.size);
    }
    for (const [row, key] of keys) expect(`${index.scopeOf(row)}/${index.nameText(row)}`).toBe(key);
  });
});

test('any text is found again byte for byte', () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.tuple(fc.nat(2), fc.string({ unit: 'binary', maxLength: 30 })), {
        maxLength: 40,
        selector: ([scope, name]) => `${scope}/${encoder.encode(name).join()}`,
      }),
      (names) => {
        const index = new NameIndex();
        names.forEach(([scope, name], i) => insert(index, scope, name, i + 1));
        names.forEach(([scope, name], i) => {
          const bytes = encoder.encode(name);
          expect(index.find(scope, bytes, 0, bytes.length)).toBe(i + 1);
          expect(index.nameLength(i + 1)).toBe(bytes.length);
          const copy = new Uint8Array(bytes.length + 2);
          expect(index.copyName(i + 1, copy, 1)).toBe(bytes.length);
          expect(copy.subarray(1, bytes.length + 1)).toEqual(bytes);
        });
      },
    ),
    { seed: 1, numRuns: 200 },
  );
});

test('a name is text again even if it starts with a byte order mark', () => {
  const index = new NameIndex();
  insert(index, 1, '\uFEFFname', 1);
  expect(index.nameText(1)).toBe('\uFEFFname');
});

test('the same name in two scopes is two names', () => {
  const index = new NameIndex();
  insert(index, 1, 'a', 10);
  insert(index, 0xffffffff, 'a', 20);
  expect(find(index, 1, 'a')).toBe(10);
  expect(find(index, 0xffffffff, 'a')).toBe(20);
  expect(find(index, 2, 'a')).toBe(0);
  expect(index.scopeOf(20)).toBe(0xffffffff);
  index.remove(10);
  expect(find(index, 1, 'a')).toBe(0);
  expect(find(index, 0xffffffff, 'a')).toBe(20);
});

test('names may be empty and as long as the limit, not longer', () => {
  const index = new NameIndex();
  const longest = new Uint8Array(NAME_INDEX_BYTES_MAX + 1).fill(65);
  index.insert(1, longest, 0, 0, 1);
  index.insert(1, longest, 0, NAME_INDEX_BYTES_MAX, 2);
  expect(index.find(1, longest, 5, 0)).toBe(1);
  expect(index.find(1, longest, 1, NAME_INDEX_BYTES_MAX)).toBe(2);
  expect(() => index.insert(1, longest, 0, NAME_INDEX_BYTES_MAX + 1, 3)).toThrow('name of');
});

test('a row has one name, and only a named row can be asked or removed', () => {
  const index = new NameIndex();
  insert(index, 1, 'a', 1);
  expect(() => insert(index, 1, 'b', 1)).toThrow('row 1 has a name already');
  expect(() => index.remove(2)).toThrow('row 2 has no name');
  expect(() => index.nameText(1_000_000)).toThrow('row 1000000 has no name');
  expect(index.has(1)).toBe(true);
  expect(index.has(2)).toBe(false);
});

test('memory is bounded when names come and go', () => {
  const index = new NameIndex();
  for (let row = 1; row <= 1000; row += 1) insert(index, 1, `name-${row}`, row);
  const bytes = index.bytes;
  for (let i = 0; i < 100_000; i += 1) {
    const row = 1 + (i % 1000);
    index.remove(row);
    insert(index, 1, `name-${i % 7}-${row}`, row);
  }
  expect(index.bytes).toBeLessThanOrEqual(bytes * 1.2);
});
