import { randomBelow, SeededRng } from '@queen-ts/base';
import { describe, expect, test } from 'vitest';
import {
  F64Column,
  U16Column,
  U32Column,
  U48Column,
  U48_MAX,
  U8Column,
} from './chunked-columns.ts';

interface Column {
  get(row: number): number;
  set(row: number, value: number): void;
  ensure(rowCount: number): void;
  readonly rowCount: number;
  readonly bytes: number;
}

interface Kind {
  readonly name: string;
  readonly create: () => Column;
  readonly values: readonly number[];
  readonly refused: readonly number[];
  readonly size: number;
}

const KINDS: readonly Kind[] = [
  { name: 'U8Column', create: () => new U8Column(), values: [0, 1, 255], refused: [256], size: 1 },
  {
    name: 'U16Column',
    create: () => new U16Column(),
    values: [0, 256, 65_535],
    refused: [65_536],
    size: 2,
  },
  {
    name: 'U32Column',
    create: () => new U32Column(),
    values: [0, 65_536, 2 ** 31, 2 ** 32 - 1],
    refused: [2 ** 32],
    size: 4,
  },
  {
    name: 'U48Column',
    create: () => new U48Column(),
    values: [0, 1, 2 ** 32 - 1, 2 ** 32, 2 ** 47 + 1, U48_MAX],
    refused: [2 ** 48],
    size: 6,
  },
];

describe.each(KINDS)('$name', ({ create, values, refused, size }) => {
  test('keeps every value at chunk boundaries', () => {
    const column = create();
    column.ensure(32_769);
    for (const row of [0, 1, 1023, 1024, 4096, 16_383, 16_384, 32_767, 32_768]) {
      for (const value of values) {
        column.set(row, value);
        expect(column.get(row)).toBe(value);
      }
    }
  });

  test('starts at zero and keeps its rows while it grows', () => {
    const column = create();
    expect(column.bytes).toBe(0);
    column.ensure(0);
    expect(column.rowCount).toBe(0);
    const sizes = [1024, 4096, 16_384, 32_768, 49_152];
    sizes.forEach((rowCount, i) => {
      column.ensure((sizes[i - 1] ?? 0) + 1);
      expect(column.rowCount).toBe(rowCount);
      expect(column.bytes).toBe(rowCount * size);
      expect(column.get(rowCount - 1)).toBe(0);
      column.set(rowCount - 1, 7);
    });
    column.ensure(3);
    expect(column.rowCount).toBe(49_152);
    for (const rowCount of sizes) expect(column.get(rowCount - 1)).toBe(7);
    expect(column.get(1024)).toBe(0);
  });

  test('refuses rows that are not ensured', () => {
    const column = create();
    expect(() => column.get(0)).toThrow('row 0 is outside');
    for (const rowCount of [1024, 16_384]) {
      column.ensure(rowCount);
      expect(() => column.get(rowCount)).toThrow(`row ${rowCount} is outside`);
      expect(() => column.set(rowCount, 0)).toThrow(`row ${rowCount} is outside`);
    }
  });

  test('refuses values that it cannot hold and keeps the old one', () => {
    const column = create();
    column.ensure(1);
    column.set(0, 5);
    for (const value of [...refused, -1, 0.5, Number.NaN, Infinity]) {
      expect(() => column.set(0, value)).toThrow('cannot hold');
    }
    expect(column.get(0)).toBe(5);
  });

  test('agrees with an array on random writes', () => {
    const rng = new SeededRng(1);
    const column = create();
    const model: number[] = Array.from({ length: 40_000 }, () => 0);
    column.ensure(model.length);
    const top = values.at(-1) ?? 0;
    for (let i = 0; i < 60_000; i += 1) {
      const row = randomBelow(rng, model.length);
      const value = (rng.u32() * 2 ** 21 + randomBelow(rng, 2 ** 21)) % (top + 1);
      column.set(row, value);
      model[row] = value;
    }
    expect(model.every((value, row) => column.get(row) === value)).toBe(true);
  });
});

test('F64Column holds safe integers of either sign and nothing else', () => {
  const column = new F64Column();
  column.ensure(2);
  for (const value of [0, -1, 1_800_000_000_000_000, Number.MAX_SAFE_INTEGER, -(2 ** 53 - 1)]) {
    column.set(1, value);
    expect(column.get(1)).toBe(value);
  }
  for (const value of [0.5, 2 ** 53, Number.NaN, Infinity]) {
    expect(() => column.set(1, value)).toThrow('cannot hold');
  }
  expect(column.get(0)).toBe(0);
  expect(column.bytes).toBe(1024 * 8);
  expect(() => column.get(1024)).toThrow('outside');
});
