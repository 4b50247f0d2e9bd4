import { parseUuid } from '@queen-ts/base';
import { describe, expect, it } from 'vitest';
import { parseExtend } from './lease.ts';

const LEASE = '0198f2c1-9a7b-7d20-8e31-4c5d6e7f8a90';
const ENCODER = new TextEncoder();

describe('parseExtend', () => {
  it.each([
    ['{"seconds":120}', 120],
    ['{"seconds":0}', 1],
    ['{"seconds":-5}', 1],
    ['{"seconds":1e30}', 2 ** 31 - 1],
    ['{"seconds":1.5}', 60],
    ['{"seconds":"9"}', 60],
    ['{"seconds":null}', 60],
    ['{}', 60],
    ['null', 60],
    ['5', 60],
    ['', 60],
    ['{', 60],
  ])('body %j: %d seconds', (body, seconds) => {
    expect(parseExtend(LEASE, ENCODER.encode(body))).toEqual({
      kind: 'extend',
      leaseId: parseUuid(LEASE),
      seconds,
    });
  });

  it('reads invalid UTF-8 like an empty body, and a segment that is no id as none', () => {
    expect(parseExtend('nope', Uint8Array.of(0xff))).toEqual({
      kind: 'extend',
      leaseId: undefined,
      seconds: 60,
    });
  });
});
