// Fifo against a plain array.

import { SeededRng, randomBelow } from '@queen-ts/base';
import { describe, expect, it } from 'vitest';
import { Fifo } from './fifo.ts';

describe('Fifo', () => {
  it('behaves like an array under random pushes, shifts and filters', () => {
    const rng = new SeededRng(7);
    const fifo = new Fifo<number>();
    let model: number[] = [];
    const taken: (number | undefined)[] = [];
    const expected: (number | undefined)[] = [];
    for (let step = 0; step < 20_000; step += 1) {
      const choice = randomBelow(rng, 100);
      if (choice < 55) {
        fifo.push(step);
        model.push(step);
      } else if (choice < 98) {
        taken.push(fifo.peek(), fifo.shift(), fifo.size);
        expected.push(model[0], model.shift(), model.length);
      } else {
        fifo.retain((item) => item % 3 !== 0);
        model = model.filter((item) => item % 3 !== 0);
      }
    }
    expect(taken).toEqual(expected);
    expect(fifo.drain()).toEqual(model);
    expect(fifo.shift()).toBeUndefined();
  });
});
