// Slices of reads: who gets which turn, and how reads end.

import type { Read } from '@queen-ts/engine';
import { describe, expect, it } from 'vitest';
import { ReadTurns } from './read-turns.ts';
import { ManualTime } from './testing/manual-scheduler.ts';

const RULES = { deadlineUs: Infinity, check: () => {} };

/** Reads whose slices are recorded and take `sliceUs` each. */
function setUp(options: { readonly sliceUs?: number; readonly readsMax?: number } = {}) {
  const time = new ManualTime();
  const log: string[] = [];
  let elapsedUs = 0;
  const turns = new ReadTurns({
    clock: { wallUs: () => 0, monotonicUs: () => time.monotonicUs() + elapsedUs },
    scheduler: {
      after: (delayUs, task) => time.after(delayUs, task),
      defer(task) {
        time.defer(() => {
          log.push('turn');
          task();
        });
      },
    },
    limits: { readsMax: options.readsMax ?? 10, readTurnUs: 1000 },
  });
  function* read(name: string, slices: number): Read<string> {
    for (let slice = 1; slice <= slices; slice += 1) {
      log.push(`${name}${slice}`);
      elapsedUs += options.sliceUs ?? 0;
      if (slice < slices) yield;
    }
    return name;
  }
  return { time, log, turns, read };
}

function codeOf(answer: Promise<unknown>): Promise<unknown> {
  return answer.then(
    () => 'answered',
    (error: { code?: string; message: string }) => error.code ?? error.message,
  );
}

describe('turns of reads', () => {
  it('start with the next turn of the event loop, never at once', async () => {
    const { time, log, turns, read } = setUp();
    const answer = turns.run(read('a', 2), RULES);
    expect(log).toEqual([]);
    await time.settle();
    expect(await answer).toBe('a');
    expect(log).toEqual(['turn', 'a1', 'a2']);
  });

  it('give every read a slice in turn, and end when their time is used up', async () => {
    const { time, log, turns, read } = setUp({ sliceUs: 400 });
    const answers = [turns.run(read('a', 4), RULES), turns.run(read('b', 2), RULES)];
    await time.settle();
    expect(await Promise.all(answers)).toEqual(['a', 'b']);
    expect(log).toEqual(['turn', 'a1', 'b1', 'a2', 'turn', 'b2', 'a3', 'a4']);
  });

  it('let one slice through however long it takes', async () => {
    const { time, log, turns, read } = setUp({ sliceUs: 5000 });
    const answer = turns.run(read('a', 2), RULES);
    await time.settle();
    expect(await answer).toBe('a');
    expect(log).toEqual(['turn', 'a1', 'turn', 'a2']);
  });

  it('refuse more reads than may run', async () => {
    const { time, turns, read } = setUp({ readsMax: 2 });
    const open = [turns.run(read('a', 1), RULES), turns.run(read('b', 1), RULES)];
    expect(await codeOf(turns.run(read('c', 1), RULES))).toBe('overloaded');
    await time.settle();
    expect(await Promise.all(open)).toEqual(['a', 'b']);
  });

  it('end reads whose deadline passed, whose state is gone, or that fail', async () => {
    const { time, turns, read } = setUp();
    const late = codeOf(turns.run(read('a', 1), { ...RULES, deadlineUs: time.monotonicUs() }));
    const check = (): void => {
      throw new Error('gone');
    };
    const gone = codeOf(turns.run(read('b', 1), { ...RULES, check }));
    // oxlint-disable-next-line require-yield -- a read that fails in its first slice
    const failing = (function* (): Read<string> {
      throw new Error('broken');
    })();
    const failed = codeOf(turns.run(failing, RULES));
    const fine = turns.run(read('c', 1), RULES);
    await time.settle();
    expect(await Promise.all([late, gone, failed, fine])).toEqual([
      'timeout',
      'gone',
      'broken',
      'c',
    ]);
  });

  it('end all reads when they are closed, and those that come later', async () => {
    const { time, log, turns, read } = setUp();
    const open = codeOf(turns.run(read('a', 1), RULES));
    turns.close(new Error('closed'));
    expect(await open).toBe('closed');
    expect(await codeOf(turns.run(read('b', 1), RULES))).toBe('closed');
    await time.settle();
    expect(log).toEqual(['turn']);
  });
});
