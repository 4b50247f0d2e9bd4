import { EFFECT, ZERO_ID } from '@queen-ts/protocol';
import type { CursorPutEffect, Id128 } from '@queen-ts/protocol';
import { describe, expect, test } from 'vitest';
import { Deliveries } from './deliveries.ts';

const IDLE: CursorPutEffect = {
  kind: EFFECT.CURSOR_PUT,
  partition: 1,
  group: 1,
  next: 5,
  retryCount: 0,
  leaseId: ZERO_ID,
  leaseExpiresUs: 0,
  leaseFrom: 0,
  leaseToExclusive: 0,
  attemptFrom: 0,
  attemptCount: 0,
  settledLeaseId: ZERO_ID,
  settledFrom: 0,
  settledToExclusive: 0,
};

const LEASE: Id128 = [1, 2, 3, 4];
const LEASED: CursorPutEffect = {
  ...IDLE,
  leaseId: LEASE,
  leaseExpiresUs: 1_800_000_000_000_000,
  leaseFrom: 5,
  leaseToExclusive: 9,
  attemptFrom: 5,
  attemptCount: 2,
};

function withRows(rowCount: number): Deliveries {
  const deliveries = new Deliveries(0);
  deliveries.ensure(rowCount);
  return deliveries;
}

function holders(deliveries: Deliveries, lease: Id128): number[] {
  const rows: number[] = [];
  let row = deliveries.firstOf(lease);
  for (; row !== 0; row = deliveries.nextOf(row)) rows.push(row);
  return rows;
}

describe('a cursor', () => {
  test('has nothing, and no row, until something is delivered and after all is settled', () => {
    const deliveries = withRows(8);
    deliveries.put(3, IDLE);
    expect(deliveries.rowOf(3)).toBe(0);
    expect(deliveries.leaseExpiresUs.get(3)).toBe(0);
    deliveries.put(3, LEASED);
    expect(deliveries.cursorOf(deliveries.rowOf(3))).toBe(3);
    expect(deliveries.leaseExpiresUs.get(3)).toBe(LEASED.leaseExpiresUs);
    deliveries.put(3, IDLE);
    expect(deliveries.rowOf(3)).toBe(0);
    expect(deliveries.leaseToExclusive.get(3)).toBe(0);
    expect(deliveries.holds(3, LEASE)).toBe(false);
    expect(deliveries.copyLease(3, new Uint32Array(4))).toBe(false);
  });

  test.each([
    ['attempts', { retryCount: 0, attemptFrom: 5, attemptCount: 1 }],
    ['retries', { retryCount: 1, attemptFrom: 0, attemptCount: 0 }],
  ])('keeps its row for %s when its lease ends', (_, fields) => {
    const deliveries = withRows(8);
    deliveries.put(3, LEASED);
    const row = deliveries.rowOf(3);
    deliveries.put(3, { ...IDLE, ...fields });
    expect(deliveries.rowOf(3)).toBe(row);
    expect(holders(deliveries, LEASE)).toEqual([]);
    expect(deliveries.retryCount.get(3)).toBe(fields.retryCount);
    expect(deliveries.attemptCount.get(3)).toBe(fields.attemptCount);
  });

  test('is found by the lease it holds last, with all others that hold it', () => {
    const deliveries = withRows(8);
    for (const row of [3, 5, 7]) deliveries.put(row, LEASED);
    expect(holders(deliveries, LEASE)).toEqual([3, 5, 7]);
    const other: Id128 = [9, 9, 9, 9];
    deliveries.put(5, { ...LEASED, leaseId: other });
    expect(holders(deliveries, LEASE)).toEqual([3, 7]);
    expect(holders(deliveries, other)).toEqual([5]);
    deliveries.remove(3);
    expect(holders(deliveries, LEASE)).toEqual([7]);
  });
});

test('rows are pooled: memory follows what is delivered at once', () => {
  const deliveries = withRows(50_001);
  const before = deliveries.bytes;
  for (let row = 1; row <= 50_000; row += 1) {
    deliveries.put(row, LEASED);
    if (row > 100) deliveries.put(row - 100, IDLE);
  }
  expect(deliveries.bytes - before).toBeLessThan(128 * 1024);
});

test('a frozen state keeps its values while rows go and are used again', () => {
  const deliveries = withRows(8);
  deliveries.put(3, LEASED);
  deliveries.put(4, { ...IDLE, retryCount: 2 });
  const frozen = deliveries.freeze();
  deliveries.remove(3);
  deliveries.put(5, { ...LEASED, leaseToExclusive: 77 });
  deliveries.put(4, { ...IDLE, retryCount: 3 });
  expect(frozen.leaseToExclusive.get(3)).toBe(9);
  expect(frozen.leases.has(3)).toBe(true);
  expect(frozen.leases.word(3, 2)).toBe(3);
  expect(frozen.retryCount.get(4)).toBe(2);
  expect(frozen.leases.has(4)).toBe(false);
  expect(frozen.leaseToExclusive.get(5)).toBe(0);
  deliveries.thaw();
  expect(deliveries.leaseToExclusive.get(5)).toBe(77);
});
