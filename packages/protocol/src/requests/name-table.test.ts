import { SeededRng } from '@queen-ts/base';
import { describe, expect, it } from 'vitest';
import { NAME_ROW, NameTable } from './name-table.ts';

describe('NameTable', () => {
  it('numbers pairs as a map does, also after clear, and whatever the hash is worth', () => {
    const rng = new SeededRng(6);
    const text = Uint8Array.from({ length: 4096 }, () => rng.u32() % 3);
    const table = new NameTable();
    for (let round = 0; round < 40; round++) {
      table.clear();
      const naive = new Map<string, number>();
      const limit = 1 + (rng.u32() % 3000);
      for (let i = 0; i < limit; i++) {
        const scope = rng.u32() % 3;
        const start = rng.u32() % 4000;
        const length = rng.u32() % 9;
        const name = `${scope}:${text.subarray(start, start + length).join('')}`;
        // A poor hash puts everything into few slots.
        const hash = length === 0 ? 0 : text[start]! + length;
        const expected = naive.get(name) ?? naive.size;
        const member = table.intern(scope, text, start, length, hash, i);
        if (member !== expected) expect.fail(`${name} is ${member}, not ${expected}`);
        if (!naive.has(name)) {
          naive.set(name, expected);
          expect(table.rows[expected * NAME_ROW.WIDTH + NAME_ROW.OWNER]).toBe(i);
        }
      }
      expect(table.count).toBe(naive.size);
    }
  });

  it('gives large tables back when it is cleared', () => {
    const table = new NameTable();
    const text = new Uint8Array(4);
    for (let scope = 0; scope < 40_000; scope++) {
      if (table.intern(scope, text, 0, 4, 1, 0) !== scope) expect.fail(`scope ${scope}`);
    }
    table.clear();
    expect(table.rows.length).toBeLessThan(100);
    expect(table.intern(7, text, 0, 4, 1, 0)).toBe(0);
  });
});
