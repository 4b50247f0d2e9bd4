import { describe, expect, it } from 'vitest';
import { QueryError, QueryReader } from './query.ts';

const query = new QueryReader((name) => ({ a: '7', b: 'true', c: 'x', d: '-7' })[name]);

describe('QueryReader', () => {
  it('reads each type and knows absence', () => {
    expect(query.int32('a')).toBe(7);
    expect(query.int32('d')).toBe(-7);
    expect(query.unsigned('a')).toBe(7);
    expect(query.boolean('b')).toBe(true);
    expect(query.text('c')).toBe('x');
    expect([query.int32('z'), query.unsigned('z'), query.boolean('z'), query.text('z')]).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
  });

  it('names the parameter and shows a short form of its value', () => {
    expect(() => query.boolean('a')).toThrow(QueryError);
    expect(() => query.boolean('a')).toThrow('query parameter a must be true or false, not "7"');
    const long = new QueryReader(() => 'y'.repeat(1000));
    expect(() => long.int32('n')).toThrow(/not "y{40}…"$/);
  });
});
