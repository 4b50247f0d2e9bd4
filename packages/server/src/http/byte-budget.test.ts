// Who is admitted, in which order, and what comes back.

import { BrokerError } from '@queen-ts/protocol';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { ByteBudget } from './byte-budget.ts';
import type { Grant } from './byte-budget.ts';

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

function takeNow(budget: ByteBudget, bytes: number): Grant {
  const taken = budget.take(bytes);
  if (taken instanceof Promise) throw new Error(`no room for ${bytes}`);
  return taken;
}

/** Records in `log` what becomes of a request. */
function watch(taken: Grant | Promise<Grant>, name: string, log: string[]): void {
  void Promise.resolve(taken).then(
    () => log.push(`${name} in`),
    (error: unknown) => log.push(`${name} ${error instanceof BrokerError ? error.code : 'broken'}`),
  );
}

describe('ByteBudget', () => {
  test('admits at once, up to exactly its size', () => {
    const budget = new ByteBudget({ bytesMax: 10, holdMs: 100 });
    takeNow(budget, 4);
    takeNow(budget, 6);
    expect(budget.usedBytes).toBe(10);
    expect(budget.take(1)).toBeInstanceOf(Promise);
    expect(budget.waiterCount).toBe(1);
  });

  test('admits in order of arrival: a small request does not overtake a large one', async () => {
    const budget = new ByteBudget({ bytesMax: 10, holdMs: 100 });
    const first = takeNow(budget, 8);
    const log: string[] = [];
    watch(budget.take(9), 'large', log);
    watch(budget.take(1), 'small', log);
    await vi.advanceTimersByTimeAsync(50);
    expect(log).toEqual([]);
    first.release();
    await vi.advanceTimersByTimeAsync(0);
    expect(log).toEqual(['large in', 'small in']);
    expect(budget.counts).toEqual({ admitted: 3, waited: 2, refused: 0 });
  });

  test('refuses who waited too long, and then looks at who waits behind', async () => {
    const budget = new ByteBudget({ bytesMax: 10, holdMs: 100 });
    takeNow(budget, 8);
    const log: string[] = [];
    watch(budget.take(9), 'large', log);
    await vi.advanceTimersByTimeAsync(60);
    watch(budget.take(2), 'small', log);
    await vi.advanceTimersByTimeAsync(40);
    expect(log).toEqual(['large overloaded', 'small in']);
    expect(budget.waiterCount).toBe(0);
  });

  test('refuses at once when it does not hold', async () => {
    const budget = new ByteBudget({ bytesMax: 10, holdMs: 0 });
    takeNow(budget, 10);
    await expect(budget.take(1)).rejects.toMatchObject({ code: 'overloaded' });
  });

  test('admits a request larger than itself, alone', () => {
    const budget = new ByteBudget({ bytesMax: 10, holdMs: 100 });
    const large = takeNow(budget, 1000);
    expect(budget.usedBytes).toBe(10);
    expect(large.widen(5000)).toBeUndefined();
    large.release();
    expect(budget.usedBytes).toBe(0);
  });

  test('without a limit admits everything', () => {
    const budget = new ByteBudget({ bytesMax: 0, holdMs: 0 });
    takeNow(budget, 1e12);
    takeNow(budget, 1e12);
    expect(budget.usedBytes).toBe(2e12);
  });

  test('a grant widens as far as there is room', () => {
    const budget = new ByteBudget({ bytesMax: 10, holdMs: 0 });
    const grant = takeNow(budget, 2);
    takeNow(budget, 3);
    expect(grant.widen(7)).toBeUndefined();
    expect(grant.widen(5)).toBeUndefined();
    expect(budget.usedBytes).toBe(10);
    expect(grant.widen(8)).toMatchObject({ code: 'overloaded' });
    expect(budget.usedBytes).toBe(10);
  });

  test('a grant is given back once, however often it is released', () => {
    const budget = new ByteBudget({ bytesMax: 10, holdMs: 0 });
    const grant = takeNow(budget, 4);
    takeNow(budget, 3);
    grant.release();
    grant.release();
    expect(budget.usedBytes).toBe(3);
  });
});
