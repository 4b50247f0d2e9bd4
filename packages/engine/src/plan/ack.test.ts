import { describe, expect, test } from 'vitest';
import { EngineDriver } from '../testing.ts';
import type { AckItem, Popped } from '../testing.ts';

const GROUP = 'g';

/** A driver with `count` messages m0, m1, … in one partition of a queue, one append. */
function withMessages(count: number, options: Parameters<EngineDriver['configure']>[1] = {}) {
  const driver = new EngineDriver();
  driver.configure('q', options);
  driver.push(Array.from({ length: count }, (_, i) => ({ queue: 'q', id: `m${i}`, data: i })));
  const pop = (): Popped => driver.pop({ queue: 'q', group: GROUP });
  return { driver, pop };
}

type Status = NonNullable<AckItem['status']>;

/** An ack item for the i-th message of a popped batch. */
function item(popped: Popped, i: number, status: Status = 'completed', error?: string): AckItem {
  const message = popped.messages[i]!;
  return {
    partition: message.partitionNumber,
    id: message.id,
    lease: popped.lease,
    status,
    ...(error === undefined ? {} : { error }),
  };
}

/** The same without a lease. */
function bare(popped: Popped, i: number, status: Status = 'completed'): AckItem {
  return { partition: popped.messages[i]!.partitionNumber, id: popped.messages[i]!.id, status };
}

const data = (popped: Popped): unknown[] => popped.messages.map((message) => message.data);

const dead = (driver: EngineDriver): number => driver.engine.counters().deadLetters;

describe('an ack that completes', () => {
  test('the whole batch releases the lease and moves the cursor to its end', () => {
    const { driver, pop } = withMessages(3);
    const popped = pop();
    const answers = driver.ack(
      [0, 1, 2].map((i) => item(popped, i)),
      GROUP,
    );
    expect(answers).toEqual(
      answers.map(() => ({ ok: true, error: undefined, released: true, dlq: false, noop: false })),
    );
    expect(pop()).toMatchObject({ messages: [], reason: 'empty' });
    expect(driver.list()[0]?.messages).toMatchObject({ pending: 0, completed: 3 });
  });

  test('the last message of a batch completes everything before it (implicit ack)', () => {
    const { driver, pop } = withMessages(3);
    const popped = pop();
    expect(driver.ack([item(popped, 2)], GROUP)).toMatchObject([{ ok: true, released: true }]);
    expect(pop().messages).toEqual([]);
  });

  test('a part of the batch keeps the lease; later acks continue', () => {
    const { driver, pop } = withMessages(4);
    const popped = pop();
    expect(driver.ack([item(popped, 1)], GROUP)).toMatchObject([{ ok: true, released: false }]);
    expect(pop().reason).toBe('leased');
    expect(driver.ack([item(popped, 3)], GROUP)).toMatchObject([{ ok: true, released: true }]);
  });

  test('a part moves the attempt marker along: the rest counts on when it is redelivered', () => {
    const { driver, pop } = withMessages(3);
    const popped = pop();
    driver.ack([item(popped, 0)], GROUP);
    driver.wait(301);
    expect(pop().messages.map((message) => [message.data, message.attempt])).toEqual([
      [1, 2],
      [2, 2],
    ]);
  });

  test('resolves minted ids, in and out of order, over appends of every kind', () => {
    const driver = new EngineDriver();
    driver.push([{ queue: 'q' }, { queue: 'q' }]);
    driver.push([{ queue: 'q', id: 'x' }, { queue: 'q' }, { queue: 'q', id: 'y' }]);
    driver.push({ queue: 'q' });
    const popped = driver.pop({ queue: 'q', group: GROUP });
    expect(popped.messages.length).toBe(6);
    const answers = driver.ack(
      [5, 2, 0, 4, 1, 3].map((i) => item(popped, i)),
      GROUP,
    );
    expect(answers.every((answer) => answer.ok && !answer.noop && answer.released)).toBe(true);
  });

  test('covers both occurrences when an id is there twice and named twice', () => {
    const { driver, pop } = withMessages(0, { dedupWindowSeconds: 0 });
    driver.push({ queue: 'q', id: 'x', data: 0 });
    driver.push({ queue: 'q', id: 'x', data: 1 });
    const popped = pop();
    const answers = driver.ack([item(popped, 0), item(popped, 1)], GROUP);
    expect(answers).toMatchObject([
      { ok: true, released: true },
      { ok: true, released: true },
    ]);
  });

  test('accepts an id that one request names twice', () => {
    const { driver, pop } = withMessages(2);
    const popped = pop();
    const answers = driver.ack([item(popped, 0), item(popped, 0), item(popped, 1)], GROUP);
    expect(answers.map((answer) => [answer.ok, answer.released])).toEqual([
      [true, true],
      [true, true],
      [true, true],
    ]);
  });
});

describe('the fence', () => {
  test('rejects every item of a group that has no cursor there', () => {
    const { driver, pop } = withMessages(1);
    const popped = pop();
    expect(driver.ack([item(popped, 0)], 'stranger')).toMatchObject([{ error: 'unresolvable' }]);
    expect(driver.ack([bare(popped, 0)], 'stranger')).toMatchObject([{ error: 'unresolvable' }]);
  });

  test('rejects a partition that does not exist and an id that is none', () => {
    const { driver, pop } = withMessages(1);
    const popped = pop();
    const answers = driver.ack(
      [
        { ...item(popped, 0), partition: 99 },
        { ...item(popped, 0), partition: 0 },
        item(popped, 0),
      ],
      GROUP,
    );
    expect(answers).toMatchObject([
      { error: 'unknown partition', released: false },
      { error: 'unknown partition', released: false },
      { ok: true, released: true },
    ]);
  });

  test('rejects a partition of a deleted queue', () => {
    const { driver, pop } = withMessages(1);
    const popped = pop();
    driver.deleteQueue('q');
    expect(driver.ack([item(popped, 0)], GROUP)).toMatchObject([{ error: 'unknown partition' }]);
  });

  test('rejects a foreign, a malformed and a zero lease id without touching the lease', () => {
    const { driver, pop } = withMessages(1);
    const popped = pop();
    const before = driver.entries.length;
    const answers = driver.ack(
      [
        { ...item(popped, 0), lease: driver.mintId() },
        { ...item(popped, 0), lease: 'malformed' },
        { ...item(popped, 0), lease: [0, 0, 0, 0] },
      ],
      GROUP,
    );
    expect(answers.map((answer) => answer.error)).toEqual([
      'invalid lease',
      'invalid lease',
      'invalid lease',
    ]);
    expect(driver.entries.length).toBe(before);
    expect(driver.ack([item(popped, 0)], GROUP)).toMatchObject([{ ok: true }]);
  });

  test('rejects a zero lease id where no lease was ever settled or held', () => {
    const { driver, pop } = withMessages(2);
    const popped = pop();
    driver.release(popped.lease);
    const zero = { ...item(popped, 0), lease: [0, 0, 0, 0] } as const;
    expect(driver.ack([zero], GROUP)).toMatchObject([{ error: 'invalid lease' }]);
  });

  test('rejects a lease that ran out, although nobody else took it', () => {
    const { driver, pop } = withMessages(1);
    const popped = pop();
    driver.wait(301);
    expect(driver.ack([item(popped, 0)], GROUP)).toMatchObject([{ error: 'invalid lease' }]);
  });

  test('rejects the former owner after the partition was claimed again', () => {
    const { driver, pop } = withMessages(1);
    const first = pop();
    driver.wait(301);
    const second = pop();
    expect(driver.ack([item(first, 0)], GROUP)).toMatchObject([{ error: 'invalid lease' }]);
    expect(driver.ack([item(second, 0)], GROUP)).toMatchObject([{ ok: true, released: true }]);
  });

  test('is off without a lease id: acts on another worker’s lease', () => {
    const { driver, pop } = withMessages(1);
    const popped = pop();
    expect(driver.ack([bare(popped, 0)], GROUP)).toMatchObject([{ ok: true, released: true }]);
    expect(driver.ack([item(popped, 0)], GROUP)).toMatchObject([{ ok: true, released: true }]);
  });

  test('is off without a lease id: acts on a lease that ran out', () => {
    const { driver, pop } = withMessages(2);
    const popped = pop();
    driver.wait(301);
    expect(driver.ack([bare(popped, 0, 'failed')], GROUP)).toMatchObject([
      { ok: true, released: true },
    ]);
    expect(data(pop())).toEqual([0, 1]);
  });

  test('treats targets of one request independently', () => {
    const driver = new EngineDriver();
    driver.push([
      { queue: 'q', partition: 'a', id: '1' },
      { queue: 'q', partition: 'b', id: '2' },
    ]);
    const popped = driver.pop({ queue: 'q', group: GROUP, partitions: 2 });
    const answers = driver.ack(
      [{ ...item(popped, 0), lease: driver.mintId() }, item(popped, 1)],
      GROUP,
    );
    expect(answers).toMatchObject([
      { error: 'invalid lease', released: false },
      { ok: true, released: true },
    ]);
  });

  test('takes the same partition with and without a lease as two targets, in input order', () => {
    const { driver, pop } = withMessages(2);
    const popped = pop();
    const answers = driver.ack([bare(popped, 0), item(popped, 1)], GROUP);
    expect(answers).toMatchObject([
      { ok: true, released: false },
      { ok: true, released: true },
    ]);
  });
});

describe('resolving', () => {
  test('rejects an id that is not in the batch and settles the others', () => {
    const { driver, pop } = withMessages(2);
    const popped = pop();
    driver.push({ queue: 'q', id: 'later' });
    const later = { ...item(popped, 0), id: 'later' };
    const unknown = { ...item(popped, 0), id: 'nobody' };
    const answers = driver.ack([later, unknown, item(popped, 1)], GROUP);
    expect(answers).toMatchObject([
      { error: 'unresolvable', released: true },
      { error: 'unresolvable', released: true },
      { ok: true, released: true },
    ]);
  });

  test('without any lease reaches from the cursor to the tail', () => {
    const { driver, pop } = withMessages(3);
    const popped = pop();
    driver.release(popped.lease);
    expect(driver.ack([bare(popped, 1)], GROUP)).toMatchObject([{ ok: true, released: false }]);
    expect(data(pop())).toEqual([2]);
  });

  test('rejects failed, retry and dlq for an already acked message', () => {
    const { driver, pop } = withMessages(2);
    const popped = pop();
    driver.ack([item(popped, 0)], GROUP);
    const statuses = ['failed', 'retry', 'dlq'] as const;
    const answers = driver.ack(
      statuses.map((status) => item(popped, 0, status)),
      GROUP,
    );
    expect(answers.map((answer) => answer.error)).toEqual([
      'unresolvable',
      'unresolvable',
      'unresolvable',
    ]);
    expect(pop().reason).toBe('leased');
  });

  test('rejects an unknown status and changes nothing for it', () => {
    const { driver, pop } = withMessages(2);
    const popped = pop();
    const answers = driver.ack([item(popped, 0), item(popped, 1, 'unknown')], GROUP);
    expect(answers).toMatchObject([
      { ok: true, released: false },
      { error: 'unknown status', released: false },
    ]);
  });

  test('gives up on an unknown id after a bounded search', () => {
    const driver = new EngineDriver({ ackMessagesScannedMax: 4 });
    for (let i = 0; i < 10; i += 1) driver.push({ queue: 'q' });
    const first = driver.pop({ queue: 'q', group: GROUP, batch: 1 });
    driver.ack([item(first, 0)], GROUP);
    const rest = driver.pop({ queue: 'q', group: GROUP });
    driver.ack([item(rest, 8)], GROUP);
    expect(driver.ack([bare(rest, 7)], GROUP)).toMatchObject([{ ok: true, noop: true }]);
    expect(driver.ack([bare(first, 0)], GROUP)).toMatchObject([{ error: 'unresolvable' }]);
  });
});

describe('a completed message completed again', () => {
  test('is a noop, for client ids and for minted ones', () => {
    const driver = new EngineDriver();
    driver.push([{ queue: 'q', id: 'x' }, { queue: 'q' }, { queue: 'q', id: 'z' }]);
    const popped = driver.pop({ queue: 'q', group: GROUP });
    driver.ack([item(popped, 1)], GROUP);
    const answers = driver.ack([item(popped, 0), item(popped, 1)], GROUP);
    expect(answers).toMatchObject([
      { ok: true, noop: true, released: false },
      { ok: true, noop: true, released: false },
    ]);
    expect(driver.ack([item(popped, 1), item(popped, 2)], GROUP)).toMatchObject([
      { ok: true, noop: true, released: true },
      { ok: true, noop: false, released: true },
    ]);
  });

  test('has no effect', () => {
    const { driver, pop } = withMessages(2);
    const popped = pop();
    driver.ack([item(popped, 0)], GROUP);
    const before = driver.entries.length;
    driver.ack([bare(popped, 0)], GROUP);
    expect(driver.entries.length).toBe(before);
  });
});

describe('a repeat of the ack that settled a lease', () => {
  test('succeeds again, on any leader', () => {
    const { driver, pop } = withMessages(2);
    const popped = pop();
    const items = [item(popped, 0), item(popped, 1)];
    driver.ack(items, GROUP);
    const before = driver.entries.length;
    expect(driver.ack(items, GROUP)).toMatchObject([
      { ok: true, released: true },
      { ok: true, released: true },
    ]);
    expect(driver.entries.length).toBe(before);
  });

  test('succeeds while the next batch is leased to somebody else', () => {
    const { driver, pop } = withMessages(1);
    const first = pop();
    driver.ack([item(first, 0)], GROUP);
    driver.push({ queue: 'q', id: 'next' });
    const second = pop();
    expect(driver.ack([item(first, 0)], GROUP)).toMatchObject([{ ok: true, released: true }]);
    expect(driver.ack([item(second, 0)], GROUP)).toMatchObject([{ ok: true, released: true }]);
    expect(driver.ack([item(first, 0)], GROUP)).toMatchObject([{ error: 'invalid lease' }]);
  });

  test('covers earlier partial acks of the batch, but no message of another one', () => {
    const { driver, pop } = withMessages(3);
    const popped = pop();
    driver.ack([item(popped, 0)], GROUP);
    driver.ack([item(popped, 2)], GROUP);
    driver.push({ queue: 'q', id: 'next' });
    const foreign = { ...item(popped, 0), id: 'next' };
    expect(driver.ack([item(popped, 0), foreign], GROUP)).toMatchObject([
      { ok: true, released: true },
      { error: 'invalid lease', released: false },
    ]);
  });

  test('fails after a release for redelivery', () => {
    const { driver, pop } = withMessages(2);
    const popped = pop();
    const items = [item(popped, 0), item(popped, 1, 'retry')];
    expect(driver.ack(items, GROUP)).toMatchObject([{ released: true }, { released: true }]);
    expect(driver.ack(items, GROUP)).toMatchObject([
      { error: 'invalid lease' },
      { error: 'invalid lease' },
    ]);
  });

  test('reports its dead letters again', () => {
    const { driver, pop } = withMessages(2);
    const popped = pop();
    const items = [item(popped, 0, 'dlq'), item(popped, 1)];
    expect(driver.ack(items, GROUP)).toMatchObject([{ dlq: true }, { dlq: false }]);
    expect(driver.ack(items, GROUP)).toMatchObject([
      { ok: true, dlq: true, released: true },
      { ok: true, dlq: false, released: true },
    ]);
    expect(dead(driver)).toBe(1);
  });
});

describe('retry', () => {
  test('redelivers from the first unacked message and charges nothing', () => {
    const { driver, pop } = withMessages(3, { retryLimit: 0 });
    for (let i = 0; i < 5; i += 1) {
      const popped = pop();
      const answers = driver.ack([item(popped, 0, 'retry')], GROUP);
      expect(answers).toMatchObject([{ ok: true, released: true, dlq: false }]);
    }
    expect(data(pop())).toEqual([0, 1, 2]);
    expect(dead(driver)).toBe(0);
  });

  test('keeps the completed prefix, not what completed above it', () => {
    const { driver, pop } = withMessages(4);
    const popped = pop();
    const items = [item(popped, 0), item(popped, 1), item(popped, 2, 'retry'), item(popped, 3)];
    expect(driver.ack(items, GROUP).every((answer) => answer.ok)).toBe(true);
    expect(data(pop())).toEqual([2, 3]);
  });

  test('counts the attempt of a batch that starts at the same message', () => {
    const { driver, pop } = withMessages(2);
    const popped = pop();
    driver.ack([item(popped, 0, 'retry')], GROUP);
    expect(pop().messages.map((message) => message.attempt)).toEqual([2, 2]);
  });

  test('in the middle of a batch starts the redelivery elsewhere, at attempt 1', () => {
    const { driver, pop } = withMessages(2);
    const popped = pop();
    driver.ack([item(popped, 0), item(popped, 1, 'retry')], GROUP);
    expect(pop().messages).toMatchObject([{ data: 1, attempt: 1 }]);
  });
});

describe('an ack after its lease was released', () => {
  test('leaves no attempt behind for a message that was never delivered', () => {
    const driver = new EngineDriver();
    driver.push([{ queue: 'q' }, { queue: 'q' }]);
    const [first, second] = driver.pop({ queue: 'q' }).messages;
    const partition = first!.partitionNumber;
    driver.ack([
      { partition, id: first!.id, lease: first!.lease },
      { partition, id: second!.id, lease: first!.lease, status: 'retry' },
    ]);
    driver.ack([{ partition, id: second!.id }]);
    driver.push({ queue: 'q' });
    expect(driver.pop({ queue: 'q' }).messages).toMatchObject([{ offset: 2, attempt: 1 }]);
  });
});

describe('failed', () => {
  test('redelivers three times by default and files the fourth', () => {
    const { driver, pop } = withMessages(2);
    for (let i = 1; i <= 3; i += 1) {
      const popped = pop();
      expect(popped.messages[0]).toMatchObject({ data: 0, attempt: i });
      expect(driver.ack([item(popped, 0, 'failed')], GROUP)).toMatchObject([
        { ok: true, released: true, dlq: false },
      ]);
    }
    const last = pop();
    expect(driver.ack([item(last, 0, 'failed', 'boom')], GROUP)).toMatchObject([
      { ok: true, released: true, dlq: true },
    ]);
    expect(dead(driver)).toBe(1);
    expect(data(pop())).toEqual([1]);
  });

  test('charges once a call, however many items failed', () => {
    const { driver, pop } = withMessages(3, { retryLimit: 1 });
    const first = pop();
    driver.ack(
      [0, 1, 2].map((i) => item(first, i, 'failed')),
      GROUP,
    );
    const second = pop();
    expect(data(second)).toEqual([0, 1, 2]);
    expect(dead(driver)).toBe(0);
    driver.ack([item(second, 0, 'failed')], GROUP);
    expect(dead(driver)).toBe(1);
  });

  test('is not charged by a lease that ran out', () => {
    const { driver, pop } = withMessages(1, { retryLimit: 1, leaseTime: 10 });
    for (let i = 0; i < 3; i += 1) {
      pop();
      driver.wait(11);
    }
    driver.ack([item(pop(), 0, 'failed')], GROUP);
    expect(dead(driver)).toBe(0);
  });

  test('redelivers what completed above it', () => {
    const { driver, pop } = withMessages(3);
    const popped = pop();
    driver.ack([item(popped, 0), item(popped, 1, 'failed'), item(popped, 2)], GROUP);
    expect(data(pop())).toEqual([1, 2]);
  });

  test('forgets the charges when a batch completes', () => {
    const { driver, pop } = withMessages(1, { retryLimit: 1 });
    driver.ack([item(pop(), 0, 'failed')], GROUP);
    driver.ack([item(pop(), 0)], GROUP);
    driver.push({ queue: 'q', id: 'next' });
    driver.ack([item(pop(), 0, 'failed')], GROUP);
    expect(dead(driver)).toBe(0);
  });

  test('drops the message when dead letters are off', () => {
    const { driver, pop } = withMessages(2, {
      retryLimit: 0,
      deadLetterQueue: false,
      dlqAfterMaxRetries: false,
    });
    const answers = driver.ack([item(pop(), 0, 'failed')], GROUP);
    expect(answers).toMatchObject([{ ok: true, released: true, dlq: false }]);
    expect(dead(driver)).toBe(0);
    expect(data(pop())).toEqual([1]);
  });

  test('files when either of the two options asks for it', () => {
    for (const option of ['deadLetterQueue', 'dlqAfterMaxRetries'] as const) {
      const { driver, pop } = withMessages(1, {
        retryLimit: 0,
        deadLetterQueue: false,
        dlqAfterMaxRetries: false,
        [option]: true,
      });
      driver.ack([item(pop(), 0, 'failed')], GROUP);
      expect(dead(driver), option).toBe(1);
    }
  });

  test('treats a negative limit as 0', () => {
    const { driver, pop } = withMessages(1, { retryLimit: -5 });
    driver.ack([item(pop(), 0, 'failed')], GROUP);
    expect(dead(driver)).toBe(1);
  });

  test('settles above a filed head: failed, completed and what lies below a completed one', () => {
    const { driver, pop } = withMessages(6, { retryLimit: 0 });
    const popped = pop();
    const items = [
      item(popped, 1, 'failed'),
      item(popped, 2),
      item(popped, 3, 'failed'),
      // 4 is not named, but lies below a completed one.
      item(popped, 5),
    ];
    const answers = driver.ack(items, GROUP);
    expect(answers.map((answer) => [answer.dlq, answer.released])).toEqual([
      [true, true],
      [false, true],
      [true, true],
      [false, true],
    ]);
    expect(dead(driver)).toBe(2);
    expect(pop().messages).toEqual([]);
  });

  test('settling above stops at a retry', () => {
    const { driver, pop } = withMessages(4, { retryLimit: 0 });
    const popped = pop();
    driver.ack(
      [item(popped, 0, 'failed'), item(popped, 1), item(popped, 2, 'retry'), item(popped, 3)],
      GROUP,
    );
    expect(data(pop())).toEqual([2, 3]);
  });

  test('settling above stops at the first unnamed message past the last completed one', () => {
    const { driver, pop } = withMessages(4, { retryLimit: 0 });
    const popped = pop();
    driver.ack([item(popped, 0, 'failed'), item(popped, 1)], GROUP);
    expect(data(pop())).toEqual([2, 3]);
  });
});

describe('dlq', () => {
  test('files the head at once, past any budget, and settles above it', () => {
    const { driver, pop } = withMessages(3);
    const popped = pop();
    const answers = driver.ack([item(popped, 0, 'dlq'), item(popped, 1), item(popped, 2)], GROUP);
    expect(answers.map((answer) => answer.dlq)).toEqual([true, false, false]);
    expect(dead(driver)).toBe(1);
    expect(pop().messages).toEqual([]);
  });

  test('files although dead letters are off', () => {
    const { driver, pop } = withMessages(1, { deadLetterQueue: false, dlqAfterMaxRetries: false });
    expect(driver.ack([item(pop(), 0, 'dlq')], GROUP)).toMatchObject([{ dlq: true }]);
    expect(dead(driver)).toBe(1);
  });

  test('followed by a failed with budget left stops there and keeps the counter', () => {
    const { driver, pop } = withMessages(3, { retryLimit: 1 });
    driver.ack([item(pop(), 0, 'failed')], GROUP);
    const popped = pop();
    driver.configure('q', { retryLimit: 2 });
    const answers = driver.ack([item(popped, 0, 'dlq'), item(popped, 1, 'failed')], GROUP);
    // Every failed or dlq item of a target that filed something says so.
    expect(answers.map((answer) => answer.dlq)).toEqual([true, true]);
    expect(dead(driver)).toBe(1);
    // One charge is left over: one more is allowed, the next files.
    driver.ack([item(pop(), 0, 'failed')], GROUP);
    expect(dead(driver)).toBe(1);
    driver.ack([item(pop(), 0, 'failed')], GROUP);
    expect(dead(driver)).toBe(2);
  });

  test('beats failed, and failed beats retry, at the same offset', () => {
    const { driver, pop } = withMessages(2, { retryLimit: 5 });
    const first = pop();
    driver.ack([item(first, 0, 'retry'), item(first, 0, 'failed'), item(first, 0, 'dlq')], GROUP);
    expect(dead(driver)).toBe(1);
    const second = pop();
    expect(data(second)).toEqual([1]);
    driver.ack([item(second, 0, 'retry'), item(second, 0, 'failed')], GROUP);
    driver.configure('q', { retryLimit: 1 });
    driver.ack([item(pop(), 0, 'failed')], GROUP);
    expect(dead(driver)).toBe(2);
  });

  test('of a conflated delivery retires what it superseded', () => {
    const driver = new EngineDriver();
    driver.push([
      { queue: 'q', id: 'a' },
      { queue: 'q', id: 'b' },
    ]);
    const pop = { queue: 'q', group: GROUP, conflation: true };
    driver.ack([item(driver.pop(pop), 0, 'dlq')], GROUP);
    expect(driver.pop(pop).messages).toEqual([]);
    expect(dead(driver)).toBe(1);
  });
});

describe('an ack that names one message twice', () => {
  test('answers both mentions alike, also below the cursor and with a minted id', () => {
    const driver = new EngineDriver();
    driver.push({ queue: 'q' });
    const [message] = driver.pop({ queue: 'q', autoAck: true }).messages;
    const item = { partition: message!.partitionNumber, id: message!.id };
    const answers = driver.ack([item, item, { ...item, status: 'retry' }]);
    expect(answers.map((answer) => answer.noop)).toEqual([true, true, false]);
    expect(answers[2]?.error).toBe('unresolvable');
  });
});

describe('a signal without a lease', () => {
  test('is silently without effect; the completed part below it applies', () => {
    const { driver, pop } = withMessages(3, { retryLimit: 0 });
    const popped = pop();
    driver.release(popped.lease);
    const answers = driver.ack(
      [bare(popped, 0), bare(popped, 1, 'failed'), bare(popped, 2)],
      GROUP,
    );
    expect(answers.map((answer) => [answer.ok, answer.released, answer.dlq])).toEqual([
      [true, false, false],
      [true, false, false],
      [true, false, false],
    ]);
    expect(dead(driver)).toBe(0);
    expect(data(pop())).toEqual([1, 2]);
  });
});

describe('a dead letter', () => {
  test('keeps message, ids and the counter, whatever happens to the partition’s log', () => {
    const { driver, pop } = withMessages(1, { retryLimit: 1 });
    driver.ack([item(pop(), 0, 'failed')], GROUP);
    const popped = pop();
    driver.ack([item(popped, 0, 'failed', 'kaputt 😀')], GROUP);
    const [letter] = driver.deadLetters();
    expect(letter).toMatchObject({
      partition: 'Default',
      group: GROUP,
      offset: 0,
      id: 'm0',
      messageId: popped.messages[0]?.messageId,
      data: 0,
      error: 'kaputt 😀',
      retryCount: 1,
    });
  });

  test('of a message with a minted id keeps that id', () => {
    const driver = new EngineDriver();
    driver.push([
      { queue: 'q', data: 0 },
      { queue: 'q', data: 1 },
    ]);
    const popped = driver.pop({ queue: 'q', group: GROUP });
    driver.ack([item(popped, 0), item(popped, 1, 'dlq')], GROUP);
    const { id } = popped.messages[1]!;
    expect(driver.deadLetters()).toMatchObject([{ id, messageId: id, data: 1, offset: 1 }]);
  });

  test('without a text of its own takes the first one that did not complete, else a default', () => {
    const { driver, pop } = withMessages(3, { retryLimit: 0 });
    const popped = pop();
    driver.ack([item(popped, 0, 'dlq'), item(popped, 1, 'dlq', 'second')], GROUP);
    driver.ack([item(pop(), 0, 'dlq')], GROUP);
    expect(driver.deadLetters().map((letter) => letter.error)).toEqual([
      'second',
      'second',
      'Retries exhausted',
    ]);
  });

  test('cuts an endless error text between characters', () => {
    const { driver, pop } = withMessages(1);
    driver.ack([item(pop(), 0, 'dlq', `x${'é'.repeat(5000)}`)], GROUP);
    const [letter] = driver.deadLetters();
    expect(letter?.error).toBe(`x${'é'.repeat(4095)}`);
  });
});
