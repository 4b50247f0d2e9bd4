import { describe, expect, it } from 'vitest';
import { nameBudgetError } from './names.ts';

describe('nameBudgetError', () => {
  it('counts tenant, queue and the longer of partition and group', () => {
    expect(nameBudgetError({ tenant: 36, queue: 11, partition: 400, group: 399 })).toBeUndefined();
    expect(nameBudgetError({ tenant: 36, queue: 11, partition: 399, group: 400 })).toBeUndefined();
  });

  it('names the longest field and says what is left', () => {
    const sizes = { tenant: 36, queue: 12, partition: 400, group: 3 };
    expect(nameBudgetError(sizes)).toMatch(/^partition is too long: it has 400 bytes.*411 bytes/);
    expect(nameBudgetError({ ...sizes, group: 401 })).toMatch(/^consumerGroup is too long/);
    expect(nameBudgetError({ ...sizes, queue: 402 })).toMatch(/^queue is too long/);
  });
});
