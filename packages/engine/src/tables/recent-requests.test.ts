import { SeededRng, randomBelow } from '@queen-ts/base';
import type { Id128 } from '@queen-ts/protocol';
import { describe, expect, test } from 'vitest';
import { RecentRequests } from './recent-requests.ts';

const WINDOW_US = 1_000_000;

function memory(bytesMax = 1024 * 1024): RecentRequests {
  return new RecentRequests({ windowUs: WINDOW_US, bytesMax });
}

function id(number: number): Id128 {
  return [0x01a0_0000, 0x7000, 0x8000_0000, number];
}

function text(bytes: Uint8Array | undefined): string | undefined {
  return bytes === undefined ? undefined : String.fromCharCode(...bytes);
}

function bytesOf(value: string): Uint8Array {
  return Uint8Array.from(value, (char) => char.charCodeAt(0));
}

describe('RecentRequests', () => {
  test('finds what it was given, the newest of an id', () => {
    const requests = memory();
    requests.insert(id(1), bytesOf('one'), 10);
    requests.insert(id(2), bytesOf(''), 11);
    requests.insert(id(1), bytesOf('uno'), 12);
    expect([1, 2, 3].map((number) => text(requests.find(id(number))))).toEqual([
      'uno',
      '',
      undefined,
    ]);
    expect(requests.count).toBe(2);
  });

  test('remembers for the window at least and forgets after it', () => {
    const requests = memory();
    requests.insert(id(1), bytesOf('one'), 10);
    requests.insert(id(2), bytesOf('two'), 20);
    requests.forget(WINDOW_US + 20);
    expect(text(requests.find(id(1)))).toBe('one');
    requests.forget(WINDOW_US + 21);
    expect([requests.count, requests.find(id(1))]).toEqual([0, undefined]);
  });

  test('forgets the oldest when there are too many', () => {
    const requests = memory(256 * 1024);
    const outcome = new Uint8Array(1000);
    for (let number = 1; number <= 1000; number += 1) requests.insert(id(number), outcome, number);
    expect(requests.find(id(1))).toBeUndefined();
    expect(requests.find(id(1000))).toHaveLength(1000);
    expect(requests.count).toBeLessThanOrEqual(256);
    expect(requests.bytes).toBeLessThan(300 * 1024);
  });

  test('takes a record larger than a chunk', () => {
    const requests = memory();
    requests.insert(id(1), new Uint8Array(200_000).fill(7), 1);
    requests.insert(id(2), bytesOf('two'), 2);
    expect(requests.find(id(1))).toHaveLength(200_000);
    expect(text(requests.find(id(2)))).toBe('two');
  });

  test('is the same as a map that forgets, over many random steps and through restores', () => {
    const rng = new SeededRng(42);
    let requests = memory(96 * 1024);
    const known = new Map<number, string>();
    for (let step = 1; step <= 20_000; step += 1) {
      const number = 1 + randomBelow(rng, 3000);
      if (randomBelow(rng, 2) === 0) {
        const value = `${step}`.padEnd(randomBelow(rng, 60), 'x');
        requests.insert(id(number), bytesOf(value), step);
        known.set(number, value);
      }
      const found = text(requests.find(id(number)));
      if (found !== undefined) expect(found).toBe(known.get(number));
      if (step % 5000 === 0) {
        const restored = memory(96 * 1024);
        for (const chunk of requests.freeze()) restored.restore(chunk);
        expect(restored.count).toBe(requests.count);
        requests = restored;
      }
    }
    const remembered = [...known.keys()].filter(
      (number) => requests.find(id(number)) !== undefined,
    );
    expect(remembered).toHaveLength(requests.count);
  });

  test('goes on as the one it was frozen from', () => {
    const first = memory();
    for (let number = 1; number <= 3000; number += 1) {
      first.insert(id(number), bytesOf(`${number}`), number);
    }
    const second = memory();
    for (const chunk of first.freeze()) second.restore(chunk);
    for (const requests of [first, second]) {
      for (let number = 3001; number <= 6000; number += 1) {
        requests.insert(id(number), bytesOf(`${number}`), number);
      }
      requests.forget(WINDOW_US + 3500);
    }
    expect(second.count).toBe(first.count);
    expect(first.count).toBeLessThan(6000);
    expect(first.freeze()).toEqual(second.freeze());
  });
});
