import { describe, expect, test } from 'vitest';
import { EngineDriver } from '../testing.ts';

function pause(driver: EngineDriver, requests: 'push' | 'pop', paused = true) {
  return driver.admin({ kind: 'maintenance', requests, paused }, 'maintenance');
}

describe('maintenance', () => {
  test('refuses pushes and replays while pushes are paused, and changes nothing', () => {
    const driver = new EngineDriver();
    driver.push({ queue: 'q', id: 'a' });
    const popped = driver.pop({ queue: 'q' });
    const { partitionNumber: partition } = popped.messages[0]!;
    driver.ack([{ partition, id: 'a', lease: popped.lease, status: 'dlq' }]);
    pause(driver, 'push');
    const before = driver.entries.length;
    expect(driver.engine.maintenance).toEqual({ pushPaused: true, popPaused: false });
    expect(driver.pushRefusal({ queue: 'other' })).toBe('maintenance');
    const [letter] = driver.deadLetters();
    const replay = {
      kind: 'replayDeadLetter',
      id: letter!.deadLetterId,
      queue: undefined,
      partition: undefined,
      messageId: driver.mintId(),
    } as const;
    expect(driver.admin(replay, 'refused').code).toBe('maintenance');
    expect(driver.entries.length).toBe(before);
    pause(driver, 'push', false);
    expect(driver.push({ queue: 'q' })[0]?.status).toBe('queued');
  });

  test('lets pops find nothing while they are paused, and creates nothing for them', () => {
    const driver = new EngineDriver();
    driver.push({ queue: 'q', id: 'a' });
    pause(driver, 'pop');
    const before = driver.entries.length;
    expect(driver.pop({ queue: 'q' })).toMatchObject({ messages: [], reason: 'paused' });
    expect(driver.pop({ queue: 'new' })).toMatchObject({ messages: [], reason: 'paused' });
    expect(driver.entries.length).toBe(before);
    pause(driver, 'pop', false);
    expect(driver.pop({ queue: 'q' }).messages).toHaveLength(1);
  });

  test('tells who waits at every queue when pops are resumed', () => {
    const driver = new EngineDriver();
    driver.push([{ queue: 'q' }, { queue: 'r' }]);
    pause(driver, 'pop');
    driver.signals();
    pause(driver, 'push');
    expect(driver.signals()).toEqual([]);
    pause(driver, 'pop', false);
    expect(driver.signals()).toEqual(
      ['q', 'r'].map((queue) => ({ queue, group: undefined, partition: undefined })),
    );
  });

  test('goes on for what was delivered before: acks, extensions, releases', () => {
    const driver = new EngineDriver();
    driver.push({ queue: 'q', id: 'a' });
    const popped = driver.pop({ queue: 'q' });
    const { partitionNumber: partition } = popped.messages[0]!;
    pause(driver, 'pop');
    pause(driver, 'push');
    expect(driver.extend(popped.lease, 100).renewed).toBe(1);
    expect(driver.ack([{ partition, id: 'a', lease: popped.lease }])).toMatchObject([{ ok: true }]);
  });

  test('has an effect only where it changes a flag', () => {
    const driver = new EngineDriver();
    const before = driver.entries.length;
    pause(driver, 'pop', false);
    expect(driver.entries.length).toBe(before);
    pause(driver, 'pop');
    expect(pause(driver, 'push')).toMatchObject({ pushPaused: true, popPaused: true });
    pause(driver, 'push');
    expect(driver.entries.length).toBe(before + 2);
  });
});
