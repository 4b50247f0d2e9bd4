import { expect, test } from 'vitest';
import { paced } from './paced.ts';

/** A clock on which every look takes `stepUs`. */
function clockOf(stepUs: number) {
  let nowUs = 0;
  return { wallUs: () => 0, monotonicUs: () => (nowUs += stepUs) };
}

function* steps(count: number, seen: number[] = []): Generator<undefined, string> {
  for (let i = 0; i < count; i += 1) {
    seen.push(i);
    yield;
  }
  return 'done';
}

test('what takes no step is there at once', () => {
  expect(paced(clockOf(1), steps(0))).toBe('done');
});

test('long work lets others have their turn, short work does not', async () => {
  for (const [stepUs, isInterrupted] of [
    [1, false],
    [600, true],
  ] as const) {
    const seen: number[] = [];
    const result = paced(clockOf(stepUs), steps(50, seen));
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
    expect(seen.length < 50).toBe(isInterrupted);
    expect(await result).toBe('done');
    expect(seen).toHaveLength(50);
  }
});

test('what a step throws is what the work fails with', async () => {
  function* failing(): Generator<undefined, string> {
    yield;
    throw new Error('no key');
  }
  await expect(paced(clockOf(1), failing())).rejects.toThrow('no key');
});
