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

/** A budget of 80 bytes, of which 10 are left to requests of up to 10 bytes. */
function budgetOf(holdMs = 100): ByteBudget {
  return new ByteBudget({ bytesMax: 80, holdMs });
}

/** Takes bytes that there must be room for. */
function takeNow(budget: ByteBudget, bytes: number): Grant {
  const grant = budget.open();
  if (grant.widen(bytes) !== undefined) throw new Error(`no room for ${bytes}`);
  return grant;
}

/** Asks for bytes and records in `log` when they are there or refused. */
function ask(grant: Grant, bytes: number, name: string, log: string[]): Grant {
  void Promise.resolve(grant.widen(bytes)).then(
    () => log.push(`${name} in`),
    (error: unknown) => log.push(`${name} ${error instanceof BrokerError ? error.code : 'broken'}`),
  );
  return grant;
}

const settled = (): Promise<unknown> => vi.advanceTimersByTimeAsync(0);

describe('a grant', () => {
  test('takes nothing before it is widened', () => {
    const budget = budgetOf();
    budget.open();
    expect(budget.usedBytes).toBe(0);
    expect(budget.counts).toEqual({ admitted: 0, waited: 0, refused: 0 });
  });

  test('widens step by step, and never narrows', () => {
    const budget = budgetOf();
    const grant = takeNow(budget, 4);
    expect(grant.widen(9)).toBeUndefined();
    expect(grant.widen(5)).toBeUndefined();
    expect(grant.widen(60)).toBeUndefined();
    expect(budget.usedBytes).toBe(60);
    expect(budget.counts).toEqual({ admitted: 1, waited: 0, refused: 0 });
  });

  test('is given back once, however often it is released', () => {
    const budget = budgetOf();
    const grant = takeNow(budget, 40);
    takeNow(budget, 3);
    grant.release();
    grant.release();
    expect(budget.usedBytes).toBe(3);
  });

  test('that is released while it waits leaves the line', async () => {
    const budget = budgetOf();
    takeNow(budget, 70);
    const log: string[] = [];
    const waiting = ask(budget.open(), 20, 'first', log);
    expect(budget.waiterCount).toBe(1);
    waiting.release();
    expect(budget.waiterCount).toBe(0);
    await vi.advanceTimersByTimeAsync(1000);
    expect(log).toEqual([]);
    expect(budget.counts.refused).toBe(0);
  });
});

describe('the budget', () => {
  test('admits at once, up to exactly its size', () => {
    const budget = budgetOf();
    takeNow(budget, 70);
    takeNow(budget, 4);
    takeNow(budget, 6);
    expect(budget.usedBytes).toBe(80);
    expect(budget.open().widen(1)).toBeInstanceOf(Promise);
    expect(budget.waiterCount).toBe(1);
  });

  test('admits in order of arrival', async () => {
    const budget = budgetOf();
    const first = takeNow(budget, 70);
    const log: string[] = [];
    ask(budget.open(), 60, 'one', log);
    ask(budget.open(), 20, 'two', log);
    await settled();
    expect(log).toEqual([]);
    first.release();
    await settled();
    expect(log).toEqual(['one in']);
    expect(budget.waiterCount).toBe(1);
  });

  test('refuses who waited too long, and then looks at who waits behind', async () => {
    const budget = budgetOf();
    takeNow(budget, 50);
    const log: string[] = [];
    ask(budget.open(), 40, 'large', log);
    await vi.advanceTimersByTimeAsync(60);
    ask(budget.open(), 20, 'next', log);
    await vi.advanceTimersByTimeAsync(40);
    expect(log).toEqual(['large overloaded', 'next in']);
    expect(budget.counts).toEqual({ admitted: 2, waited: 2, refused: 1 });
  });

  test('refuses at once when it does not hold', async () => {
    const budget = budgetOf(0);
    takeNow(budget, 70);
    await expect(budget.open().widen(20)).rejects.toMatchObject({ code: 'overloaded' });
    expect(budget.usedBytes).toBe(70);
  });

  test('admits a request larger than itself, alone', async () => {
    const budget = budgetOf();
    const large = takeNow(budget, 1000);
    const log: string[] = [];
    ask(budget.open(), 1, 'small', log);
    await settled();
    expect(log).toEqual([]);
    large.release();
    await settled();
    expect(log).toEqual(['small in']);
  });

  test('without a limit admits everything', () => {
    const budget = new ByteBudget({ bytesMax: 0, holdMs: 0 });
    takeNow(budget, 1e12);
    takeNow(budget, 1e12);
    expect(budget.usedBytes).toBe(2e12);
  });
});

describe('small and large requests', () => {
  test('small ones pass large ones that wait, within the share that is left to them', async () => {
    const budget = budgetOf();
    takeNow(budget, 65);
    const log: string[] = [];
    ask(budget.open(), 60, 'large', log);
    takeNow(budget, 9);
    ask(budget.open(), 2, 'small', log);
    await settled();
    expect(log).toEqual([]);
  });

  test('large ones cannot fill the share of small ones', () => {
    const budget = budgetOf();
    takeNow(budget, 60);
    expect(budget.open().widen(11)).toBeInstanceOf(Promise);
    takeNow(budget, 10);
  });

  test('a large one gets what a stream of small ones gives back', async () => {
    const budget = budgetOf();
    const small = Array.from({ length: 8 }, () => takeNow(budget, 10));
    const log: string[] = [];
    ask(budget.open(), 70, 'large', log);
    // As many come as go: all but those in their share wait behind the large one.
    for (let i = 0; i < 8; i += 1) {
      ask(budget.open(), 10, `small ${i}`, log);
      small[i]!.release();
    }
    await settled();
    expect(log.toSorted()).toEqual(['large in', 'small 0 in']);
  });

  test('those that hold a part of their body never wait for each other: one goes beyond', async () => {
    const budget = budgetOf();
    const log: string[] = [];
    const one = takeNow(budget, 35);
    const two = takeNow(budget, 35);
    ask(one, 60, 'one', log);
    ask(two, 60, 'two', log);
    await settled();
    expect(log).toEqual(['one in']);
    expect(budget.usedBytes).toBe(95);
    // It may go on, whoever waits.
    expect(one.widen(70)).toBeUndefined();
    one.release();
    await settled();
    expect(log).toEqual(['one in', 'two in']);
    two.release();
    expect(budget.usedBytes).toBe(0);
  });

  test('the same holds for small ones', async () => {
    const budget = budgetOf();
    const log: string[] = [];
    const grants = Array.from({ length: 16 }, () => takeNow(budget, 5));
    for (const [i, grant] of grants.entries()) ask(grant, 10, `${i}`, log);
    for (let i = 0; i < 16; i += 1) {
      await settled();
      expect(log.length).toBeGreaterThan(i);
      grants[i]!.release();
    }
    expect(log).toEqual(grants.map((_, i) => `${i} in`));
    expect(budget.usedBytes).toBe(0);
  });
});
