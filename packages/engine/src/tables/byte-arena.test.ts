import { randomBelow, SeededRng } from '@queen-ts/base';
import { expect, test } from 'vitest';
import { ARENA_RECORD_BYTES_MAX, ByteArena } from './byte-arena.ts';

function randomBytes(rng: SeededRng, length: number): Uint8Array {
  return Uint8Array.from({ length }, () => rng.u32() & 0xff);
}

function read(arena: ByteArena, ref: number): Uint8Array {
  const bytes = new Uint8Array(arena.lengthOf(ref) + 3);
  expect(arena.copyInto(ref, bytes, 2)).toBe(bytes.length - 3);
  return bytes.subarray(2, bytes.length - 1);
}

test('keeps records of every length up to the limit, empty ones included', () => {
  const rng = new SeededRng(1);
  const arena = new ByteArena();
  const kept = new Map<number, Uint8Array>();
  for (const length of [0, 1, 5, 6, 7, 14, 63, 64, 65, 1000, 1022, 1023, ARENA_RECORD_BYTES_MAX]) {
    const bytes = randomBytes(rng, length);
    kept.set(arena.add(bytes, 0, length), bytes);
  }
  expect(kept.has(0)).toBe(false);
  for (const [ref, bytes] of kept) {
    expect(read(arena, ref)).toEqual(bytes);
    expect(arena.equals(ref, bytes, 0, bytes.length)).toBe(true);
    expect(arena.equals(ref, new Uint8Array(bytes.length + 1), 0, bytes.length + 1)).toBe(false);
  }
});

test('refuses a record above the limit and a ref that cannot exist', () => {
  const arena = new ByteArena();
  const bytes = new Uint8Array(ARENA_RECORD_BYTES_MAX + 1);
  expect(() => arena.add(bytes, 0, bytes.length)).toThrow('arena record of 65536 bytes');
  expect(() => arena.reserve(-1)).toThrow('arena record of -1 bytes');
  expect(() => arena.lengthOf(0)).toThrow('no arena record 0');
  expect(() => arena.lengthOf(2 ** 20)).toThrow('no arena record');
});

test('sees a difference in any byte', () => {
  const arena = new ByteArena();
  const bytes = Uint8Array.from({ length: 70 }, (_, i) => i);
  const ref = arena.add(bytes, 3, 60);
  expect(arena.equals(ref, bytes, 3, 60)).toBe(true);
  for (let i = 3; i < 63; i += 1) {
    const other = bytes.slice();
    other[i] = 0xff;
    expect(arena.equals(ref, other, 3, 60)).toBe(false);
  }
});

test('uses the space of a freed record for the next one of its size', () => {
  const arena = new ByteArena();
  const bytes = new Uint8Array(64);
  const first = arena.add(bytes, 0, 10);
  const second = arena.add(bytes, 0, 14);
  const other = arena.add(bytes, 0, 15);
  arena.free(first);
  arena.free(second);
  arena.free(other);
  expect(arena.freedBytes).toBe(16 + 16 + 24);
  expect(arena.add(bytes, 0, 22)).toBe(other);
  expect(arena.add(bytes, 0, 7)).toBe(second);
  expect(arena.add(bytes, 0, 14)).toBe(first);
  expect(arena.freedBytes).toBe(0);
});

test('only counts a freed record that is too long for the free lists', () => {
  const arena = new ByteArena();
  const bytes = new Uint8Array(4096);
  const ref = arena.add(bytes, 0, 2000);
  arena.free(ref);
  expect(arena.freedBytes).toBe(2008);
  expect(arena.add(bytes, 0, 2000)).not.toBe(ref);
});

test('agrees with a map on random records over several chunks', () => {
  const rng = new SeededRng(3);
  const arena = new ByteArena();
  const kept = new Map<number, Uint8Array>();
  const refs: number[] = [];
  for (let i = 0; i < 30_000; i += 1) {
    if (refs.length === 0 || randomBelow(rng, 100) < 60) {
      const length = randomBelow(rng, 10) === 0 ? randomBelow(rng, 3000) : randomBelow(rng, 60);
      const bytes = randomBytes(rng, length + 4);
      const ref = arena.add(bytes, 2, length);
      expect(kept.has(ref)).toBe(false);
      kept.set(ref, bytes.subarray(2, 2 + length));
      refs.push(ref);
    } else {
      const position = randomBelow(rng, refs.length);
      const ref = refs[position] as number;
      refs[position] = refs.at(-1) as number;
      refs.pop();
      expect(arena.equals(ref, kept.get(ref) as Uint8Array, 0, arena.lengthOf(ref))).toBe(true);
      kept.delete(ref);
      arena.free(ref);
    }
  }
  expect(arena.bytes).toBeGreaterThan(2 ** 21);
  for (const [ref, bytes] of kept) expect(arena.equals(ref, bytes, 0, bytes.length)).toBe(true);
});
