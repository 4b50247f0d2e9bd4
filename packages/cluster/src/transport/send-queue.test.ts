// The bound of a send queue, and what gives way at it.

import { describe, expect, it } from 'vitest';
import { FRAME_HEADER_SIZE, FRAME_KIND } from './frame.ts';
import type { OutgoingMessage } from './frame-writer.ts';
import { SendQueue } from './send-queue.ts';

/** A message that counts for `size` bytes and is known by its first one. */
function messageOf(name: number, size: number): OutgoingMessage {
  const data = new Uint8Array(size - FRAME_HEADER_SIZE - 1);
  const head = Uint8Array.of(name);
  return { kind: FRAME_KIND.bulkMessage, head, parts: [data], dataSize: data.length };
}

/** The names of what the queue gives out, in order. */
function drain(queue: SendQueue): number[] {
  const names: number[] = [];
  for (let frame = queue.nextFrame(); frame !== undefined; frame = queue.nextFrame()) {
    const first = frame[0]!;
    if (first[4] !== FRAME_KIND.data) names.push(first[FRAME_HEADER_SIZE]!);
  }
  return names;
}

describe('a send queue', () => {
  it('refuses what does not fit and keeps what it has', () => {
    const queue = new SendQueue(1000);
    expect([1, 2, 3, 4].map((name) => queue.offer(messageOf(name, 300)))).toEqual([
      true,
      true,
      true,
      false,
    ]);
    expect(queue.bytes).toBe(900);
    expect(queue.offer(messageOf(5, 100))).toBe(true);
    expect(drain(queue)).toEqual([1, 2, 3, 5]);
    expect(queue.bytes).toBe(0);
  });

  it('drops the oldest for the newest', () => {
    const queue = new SendQueue(1000);
    const dropped = [1, 2, 3, 4, 5].map((name) => queue.push(messageOf(name, 300)));
    expect(dropped).toEqual([0, 0, 0, 1, 1]);
    expect(queue.push(messageOf(6, 800))).toBe(3);
    expect(drain(queue)).toEqual([6]);
  });

  it('lets a lone message in that is larger than the bound', () => {
    const queue = new SendQueue(1000);
    expect(queue.offer(messageOf(1, 500_000))).toBe(true);
    expect(queue.offer(messageOf(2, 50))).toBe(false);
    expect(drain(queue)).toEqual([1]);
    expect(queue.offer(messageOf(2, 50))).toBe(true);
  });

  it('counts a message in progress until its last frame is out', () => {
    const queue = new SendQueue(1000);
    queue.offer(messageOf(1, 600_000));
    queue.nextFrame();
    queue.nextFrame();
    expect(queue.bytes).toBe(600_000);
    expect(queue.offer(messageOf(2, 50))).toBe(false);
    drain(queue);
    expect(queue.bytes).toBe(0);
  });

  it('leaves out what nobody waits for when its turn comes', () => {
    const queue = new SendQueue(1000);
    const begun: number[] = [];
    const offer = (name: number, isWanted: boolean): void => {
      queue.offer(messageOf(name, 100), () => {
        begun.push(name);
        return isWanted;
      });
    };
    offer(1, false);
    offer(2, true);
    offer(3, false);
    expect(begun).toEqual([]);
    expect(drain(queue)).toEqual([2]);
    expect(begun).toEqual([1, 2, 3]);
    expect(queue.bytes).toBe(0);
  });

  it('says how many messages were never begun when it is cleared', () => {
    const queue = new SendQueue(10_000_000);
    [1, 2, 3].forEach((name) => queue.offer(messageOf(name, 500_000)));
    queue.nextFrame();
    expect(queue.clear()).toBe(2);
    expect(queue.bytes).toBe(0);
    queue.offer(messageOf(4, 50));
    expect(drain(queue)).toEqual([4]);
  });
});
