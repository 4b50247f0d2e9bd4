// Budgets of what is on the way to the leader.

import { describe, expect, test } from 'vitest';
import { ForwardBudget } from './forward-budget.ts';

/** Holds `size` bytes of a lane until it is let go. */
function hold(budget: ForwardBudget, size: number): { go: () => void; done: Promise<void> } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { go: resolve, done: budget.within('store', size, () => promise) };
}

describe('a forward budget', () => {
  test('refuses what exceeds a lane, leaves the others their own, and gives room back', async () => {
    const budget = new ForwardBudget({ settle: 10, pop: 10, store: 100 });
    const first = hold(budget, 60);
    await expect(hold(budget, 41).done).rejects.toMatchObject({ code: 'overloaded' });
    const second = hold(budget, 40);
    expect(budget.usedBytes).toBe(100);
    expect(await budget.within('settle', 10, () => Promise.resolve('acked'))).toBe('acked');
    first.go();
    await first.done;
    expect(budget.usedBytes).toBe(40);
    second.go();
    await second.done;
    expect(budget.usedBytes).toBe(0);
  });

  test('lets a lone request in that is larger, and frees the room of one that fails', async () => {
    const budget = new ForwardBudget({ settle: 10, pop: 10, store: 100 });
    const failed = budget.within('store', 1000, () => Promise.reject(new Error('lost')));
    await expect(failed).rejects.toThrow('lost');
    expect(budget.usedBytes).toBe(0);
  });
});
