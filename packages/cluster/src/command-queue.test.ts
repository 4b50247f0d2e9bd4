// Lanes, bounds and expiry of waiting commands.

import { describe, expect, it } from 'vitest';
import { CommandQueue } from './command-queue.ts';
import { extendRequest, pushOfSize, waitingPop } from './testing/requests.ts';

describe('CommandQueue', () => {
  it('keeps the lanes apart and each in arrival order', () => {
    const queue = new CommandQueue({ commands: 10, bytes: 1 << 20 });
    const pushes = [pushOfSize(1), pushOfSize(2)];
    const extend = extendRequest();
    const pop = waitingPop({ scope: { kind: 'queue', queue: 'q' } });
    for (const request of [pushes[0]!, extend, pushes[1]!, pop]) queue.offer(request);
    expect(queue.take('settle')).toBe(extend);
    expect(queue.take('store')).toBe(pushes[0]);
    expect(queue.take('pop')).toBe(pop);
    expect(queue.take('store')).toBe(pushes[1]);
    expect(queue.take('store')).toBeUndefined();
    expect(queue.commandCount).toBe(0);
    expect(queue.sizeBytes).toBe(0);
  });

  it('refuses a command beyond the count of its lane and still takes the other lanes', () => {
    const queue = new CommandQueue({ commands: 2, bytes: 1 << 20 });
    expect([1, 2, 3].map(() => queue.offer(pushOfSize(1)))).toEqual([true, true, false]);
    expect(queue.offer(extendRequest())).toBe(true);
    expect(queue.commandCount).toBe(3);
  });

  it('refuses bytes beyond the bound but takes a lone command of any size', () => {
    const queue = new CommandQueue({ commands: 10, bytes: 10_000 });
    expect(queue.offer(pushOfSize(50_000))).toBe(true);
    expect(queue.offer(pushOfSize(1))).toBe(false);
    queue.take('store');
    expect(queue.offer(pushOfSize(1))).toBe(true);
  });

  it('hands out what is over and forgets its bytes', () => {
    const queue = new CommandQueue({ commands: 10, bytes: 1 << 20 });
    const late = pushOfSize(100, 5);
    const early = pushOfSize(100, 50);
    queue.offer(late);
    queue.offer(early);
    expect(queue.expire((request) => request.deadlineUs < 10)).toEqual([late]);
    expect(queue.sizeBytes).toBe(early.sizeBytes);
    expect(queue.take('store')).toBe(early);
  });
});
