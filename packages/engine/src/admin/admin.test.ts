// Commands of the control plane: seek, groups, subscriptions and dead letters.

import { formatUuid } from '@queen-ts/base';
import type { Id128 } from '@queen-ts/protocol';
import { describe, expect, test } from 'vitest';
import { EngineDriver } from '../testing.ts';
import type { Popped } from '../testing.ts';
import type { DeleteGroupCommand, SeekCommand, SeekOutcome } from '@queen-ts/protocol';

const data = (popped: Popped): unknown[] => popped.messages.map((message) => message.data);

function pushEach(driver: EngineDriver, count: number, partition = 'Default'): number[] {
  return Array.from({ length: count }, (_, i) => {
    driver.push({ queue: 'q', partition, id: `m${i}`, data: i });
    const atUs = driver.nowUs;
    driver.wait(10);
    return atUs;
  });
}

function seek(driver: EngineDriver, fields: Partial<SeekCommand>): SeekOutcome {
  const command = {
    kind: 'seek',
    queue: 'q',
    partition: undefined,
    group: 'g',
    target: { kind: 'end' },
    from: 0,
    budget: 1000,
    ...fields,
  } as const;
  return driver.admin(command, 'seek');
}

describe('seek', () => {
  test('goes to the first append at or after the instant, back and forth', () => {
    const driver = new EngineDriver();
    const times = pushEach(driver, 5);
    driver.pop({ queue: 'q', group: 'g', autoAck: true });
    seek(driver, { target: { kind: 'instant', atUs: times[2]! } });
    expect(data(driver.pop({ queue: 'q', group: 'g', autoAck: true }))).toEqual([2, 3, 4]);
    seek(driver, { target: { kind: 'instant', atUs: times[2]! + 1 } });
    expect(data(driver.pop({ queue: 'q', group: 'g' }))).toEqual([3, 4]);
    seek(driver, { target: { kind: 'instant', atUs: 0 } });
    expect(data(driver.pop({ queue: 'q', group: 'g' }))).toEqual([0, 1, 2, 3, 4]);
  });

  test('goes to the tail for the end, and for an instant after the last append', () => {
    const driver = new EngineDriver();
    pushEach(driver, 2);
    expect(seek(driver, {})).toMatchObject({ found: true, partitionsUpdated: 1, next: undefined });
    expect(driver.pop({ queue: 'q', group: 'g' }).messages).toEqual([]);
    seek(driver, { group: 'h', target: { kind: 'instant', atUs: driver.nowUs } });
    expect(driver.pop({ queue: 'q', group: 'h' }).messages).toEqual([]);
    driver.push({ queue: 'q', data: 'next' });
    expect(data(driver.pop({ queue: 'q', group: 'g' }))).toEqual(['next']);
  });

  test('drops live leases; their owner gets «invalid lease», settled ones are forgotten', () => {
    const driver = new EngineDriver();
    pushEach(driver, 2);
    const first = driver.pop({ queue: 'q', group: 'g', batch: 1 });
    const partition = first.messages[0]!.partitionNumber;
    const settle = [{ partition, id: 'm0', lease: first.lease }];
    driver.ack(settle, 'g');
    const second = driver.pop({ queue: 'q', group: 'g' });
    seek(driver, { target: { kind: 'instant', atUs: 0 } });
    const late = [{ partition, id: 'm1', lease: second.lease }];
    expect(driver.ack(late, 'g')).toMatchObject([{ error: 'invalid lease' }]);
    expect(driver.ack(settle, 'g')).toMatchObject([{ error: 'invalid lease' }]);
    expect(driver.pop({ queue: 'q', group: 'g' }).messages.map((m) => m.attempt)).toEqual([1, 1]);
  });

  test('resets the retry counter', () => {
    const driver = new EngineDriver();
    driver.configure('q', { retryLimit: 1 });
    pushEach(driver, 1);
    const fail = (): void => {
      const popped = driver.pop({ queue: 'q', group: 'g' });
      const partition = popped.messages[0]!.partitionNumber;
      driver.ack([{ partition, id: 'm0', lease: popped.lease, status: 'failed' }], 'g');
    };
    fail();
    seek(driver, { target: { kind: 'instant', atUs: 0 } });
    fail();
    expect(driver.engine.counters().deadLetters).toBe(0);
  });

  test('never goes below what is retained', () => {
    const driver = new EngineDriver();
    driver.configure('q', { maxWaitTimeSeconds: 15 });
    pushEach(driver, 3);
    driver.cycle(() => driver.engine.planRetention(10));
    seek(driver, { target: { kind: 'instant', atUs: 0 } });
    expect(data(driver.pop({ queue: 'q', group: 'g' }))).toEqual([2]);
  });

  test('moves one partition only when it is named', () => {
    const driver = new EngineDriver();
    pushEach(driver, 1, 'a');
    pushEach(driver, 1, 'b');
    seek(driver, { partition: 'a' });
    const popped = driver.pop({ queue: 'q', group: 'g', partitions: 0 });
    expect(popped.partitions).toEqual(['b']);
  });

  test('finds no queue and no partition that do not exist', () => {
    const driver = new EngineDriver();
    expect(seek(driver, {}).found).toBe(false);
    pushEach(driver, 1);
    expect(seek(driver, { partition: 'none' }).found).toBe(false);
    expect(driver.engine.counters().groups).toBe(0);
  });

  test('works through many partitions in steps', () => {
    const driver = new EngineDriver();
    for (let i = 0; i < 5; i += 1) driver.push({ queue: 'q', partition: `p${i}` });
    const first = seek(driver, { budget: 2 });
    expect(first).toMatchObject({ partitionsUpdated: 2, next: 2 });
    const second = seek(driver, { budget: 2, from: first.next! });
    const third = seek(driver, { budget: 2, from: second.next! });
    expect(third).toMatchObject({ partitionsUpdated: 1, next: undefined });
    expect(driver.pop({ queue: 'q', group: 'g', partitions: 0 }).messages).toEqual([]);
  });
});

describe('the deletion of a group', () => {
  const command: DeleteGroupCommand = {
    kind: 'deleteGroup',
    queue: 'q',
    group: 'g',
    withRegistration: true,
    from: 0,
    budget: 1000,
  };

  test('lets the group start anew, with a new subscription', () => {
    const driver = new EngineDriver();
    pushEach(driver, 2);
    driver.pop({ queue: 'q', group: 'g', autoAck: true });
    expect(driver.admin(command, 'deleteGroup')).toEqual({
      kind: 'deleteGroup',
      cursorsDeleted: 1,
      registrationDeleted: true,
      next: undefined,
    });
    expect(driver.engine.counters()).toMatchObject({ groups: 0, cursors: 0 });
    expect(data(driver.pop({ queue: 'q', group: 'g' }))).toEqual([0, 1]);
  });

  test('can keep the registration: the stored subscription counts again', () => {
    const driver = new EngineDriver();
    driver.push({ queue: 'q', data: 'old' });
    driver.pop({ queue: 'q', group: 'g', subscription: { mode: 'new' } });
    driver.push({ queue: 'q', data: 'new' });
    driver.pop({ queue: 'q', group: 'g', autoAck: true });
    const kept = driver.admin({ ...command, withRegistration: false }, 'deleteGroup');
    expect(kept).toMatchObject({ cursorsDeleted: 1, registrationDeleted: false });
    expect(data(driver.pop({ queue: 'q', group: 'g' }))).toEqual(['new']);
  });

  test('of nothing deletes nothing', () => {
    const driver = new EngineDriver();
    const nothing = { cursorsDeleted: 0, registrationDeleted: false, next: undefined };
    expect(driver.admin(command, 'deleteGroup')).toMatchObject(nothing);
    driver.push({ queue: 'q' });
    expect(driver.admin(command, 'deleteGroup')).toMatchObject(nothing);
  });

  test('works in steps and keeps the registration to the last', () => {
    const driver = new EngineDriver();
    for (let i = 0; i < 3; i += 1) driver.push({ queue: 'q', partition: `p${i}` });
    driver.pop({ queue: 'q', group: 'g', partitions: 0 });
    const first = driver.admin({ ...command, budget: 2 }, 'deleteGroup');
    expect(first).toMatchObject({ cursorsDeleted: 2, registrationDeleted: false, next: 2 });
    const second = driver.admin({ ...command, budget: 2, from: 2 }, 'deleteGroup');
    expect(second).toMatchObject({ cursorsDeleted: 1, registrationDeleted: true, next: undefined });
  });

  test('leaves its dead letters, with its name', () => {
    const driver = new EngineDriver();
    pushEach(driver, 1);
    const popped = driver.pop({ queue: 'q', group: 'g' });
    const partition = popped.messages[0]!.partitionNumber;
    driver.ack([{ partition, id: 'm0', lease: popped.lease, status: 'dlq' }], 'g');
    driver.admin(command, 'deleteGroup');
    expect(driver.deadLetters()).toMatchObject([{ group: 'g', id: 'm0' }]);
    expect(data(driver.pop({ queue: 'q', group: 'g' }))).toEqual([0]);
  });
});

describe('a rewritten subscription', () => {
  test('counts where the group has no cursor, on every queue', () => {
    const driver = new EngineDriver();
    driver.push([
      { queue: 'a', data: 'old a' },
      { queue: 'b', data: 'old b' },
    ]);
    const fromUs = driver.nowUs;
    for (const queue of ['a', 'b']) {
      driver.pop({ queue, group: 'g', subscription: { mode: 'new' } });
    }
    const outcome = driver.admin({ kind: 'subscribe', group: 'g', fromUs }, 'subscribe');
    expect(outcome.queuesUpdated).toBe(2);
    expect(data(driver.pop({ queue: 'a', group: 'g' }))).toEqual(['old a']);
    expect(data(driver.pop({ queue: 'b', group: 'g' }))).toEqual(['old b']);
  });

  test('leaves cursors alone, unknown groups and queue mode', () => {
    const driver = new EngineDriver();
    driver.push({ queue: 'q', data: 0 });
    driver.pop({ queue: 'q', group: 'g', autoAck: true });
    driver.pop({ queue: 'q' });
    driver.admin({ kind: 'subscribe', group: 'g', fromUs: 0 }, 'subscribe');
    expect(driver.pop({ queue: 'q', group: 'g' }).messages).toEqual([]);
    for (const group of ['nobody', '__QUEUE_MODE__']) {
      const outcome = driver.admin({ kind: 'subscribe', group, fromUs: 0 }, 'subscribe');
      expect(outcome.queuesUpdated, group).toBe(0);
    }
  });
});

/** Files message m0 … of queue q for group g, one dead letter each. */
function withDeadLetters(count: number): EngineDriver {
  const driver = new EngineDriver();
  pushEach(driver, count);
  const popped = driver.pop({ queue: 'q', group: 'g' });
  driver.ack(
    popped.messages.map(({ partitionNumber: partition, id, lease }) => ({
      partition,
      id,
      lease,
      status: 'dlq' as const,
      error: `error of ${id}`,
    })),
    'g',
  );
  return driver;
}

describe('the listing of dead letters', () => {
  test('is newest first, filtered, paged, and counts all matches', () => {
    const driver = withDeadLetters(5);
    const page = driver.engine.listDeadLetters({ queue: 'q', group: 'g', limit: 2, offset: 1 });
    expect(page.total).toBe(5);
    expect(page.deadLetters.map((letter) => letter.transactionId)).toEqual(['m3', 'm2']);
    expect(page.deadLetters[0]).toMatchObject({ error: 'error of m3', partitionNumber: 1 });
    expect(driver.engine.listDeadLetters({ queue: 'r', limit: 10 }).total).toBe(0);
    expect(driver.engine.listDeadLetters({ group: 'h', limit: 10 }).total).toBe(0);
    driver.deleteQueue('q');
    expect(driver.engine.listDeadLetters({ limit: 10 }).total).toBe(0);
  });
});

describe('a replay', () => {
  const replay = (
    driver: EngineDriver,
    id: Id128,
    to: { queue?: string; partition?: string } = {},
  ) =>
    driver.admin(
      {
        kind: 'replayDeadLetter',
        id,
        queue: to.queue,
        partition: to.partition,
        messageId: driver.mintId(),
      },
      'replayDeadLetter',
    );

  test('moves the message to the tail of its partition, for every group', () => {
    const driver = withDeadLetters(1);
    const { deadLetterId } = driver.deadLetters()[0]!;
    const before = driver.entries.length;
    const outcome = replay(driver, deadLetterId);
    expect(driver.entries.length).toBe(before + 1);
    expect(outcome).toMatchObject({
      result: 'moved',
      queue: 'q',
      partition: 'Default',
      group: 'g',
      originalTransactionId: 'm0',
    });
    expect(driver.deadLetters()).toEqual([]);
    const id = `dlq:${formatUuid(deadLetterId)}`;
    expect(driver.pop({ queue: 'q', group: 'g' }).messages).toMatchObject([
      { id, data: 0, offset: 1 },
    ]);
    expect(data(driver.pop({ queue: 'q', group: 'h' }))).toEqual([0, 0]);
  });

  test('creates a destination that does not exist', () => {
    const driver = withDeadLetters(1);
    const { deadLetterId } = driver.deadLetters()[0]!;
    replay(driver, deadLetterId, { queue: 'parked', partition: 'p' });
    expect(data(driver.pop({ queue: 'parked', partition: 'p' }))).toEqual([0]);
  });

  test('that repeats an id in the destination’s window writes nothing and keeps the row', () => {
    const driver = withDeadLetters(1);
    const { deadLetterId } = driver.deadLetters()[0]!;
    driver.push({ queue: 'q', id: `dlq:${formatUuid(deadLetterId)}` });
    const before = driver.entries.length;
    expect(replay(driver, deadLetterId).result).toBe('duplicate');
    expect(driver.entries.length).toBe(before);
    expect(driver.deadLetters().length).toBe(1);
  });

  test('of an unknown or moved dead letter finds it gone', () => {
    const driver = withDeadLetters(1);
    const { deadLetterId } = driver.deadLetters()[0]!;
    const [a, b, c, d] = deadLetterId;
    expect(replay(driver, [a, b, c, d + 1]).result).toBe('gone');
    expect(replay(driver, [a, b + 1, c, d]).result).toBe('gone');
    replay(driver, deadLetterId);
    expect(replay(driver, deadLetterId).result).toBe('gone');
  });
});

describe('removing dead letters', () => {
  test('by address takes those of all groups', () => {
    const driver = withDeadLetters(2);
    const popped = driver.pop({ queue: 'q', group: 'h' });
    const { partitionNumber: partition, lease } = popped.messages[0]!;
    driver.ack([{ partition, id: 'm0', lease, status: 'dlq' }], 'h');
    const remove = { kind: 'deleteDeadLetters', partition, transactionId: 'm0' } as const;
    expect(driver.admin(remove, 'deletedDeadLetters').deleted).toBe(2);
    expect(driver.admin(remove, 'deletedDeadLetters').deleted).toBe(0);
    expect(driver.deadLetters().map((letter) => letter.id)).toEqual(['m1']);
    const unknown = { ...remove, partition: 99 };
    expect(driver.admin(unknown, 'deletedDeadLetters').deleted).toBe(0);
  });

  test('by queue and group works in steps', () => {
    const driver = withDeadLetters(5);
    const purge = { kind: 'purgeDeadLetters', queue: 'q', group: 'g' } as const;
    const other = driver.admin({ ...purge, group: 'h' }, 'deletedDeadLetters');
    expect(other).toMatchObject({ deleted: 0, next: undefined });
    const first = driver.admin({ ...purge, budget: 3 }, 'deletedDeadLetters');
    expect(first.deleted).toBe(3);
    const step = { from: first.next!, countedBefore: first.deleted };
    const second = driver.admin({ ...purge, ...step, budget: 3 }, 'deletedDeadLetters');
    expect(second).toMatchObject({ deleted: 5, next: undefined });
    expect(driver.deadLetters()).toEqual([]);
  });

  test('never removes what was filed after the first step', () => {
    const driver = withDeadLetters(3);
    const purge = { kind: 'purgeDeadLetters', queue: 'q', group: 'g', budget: 1 } as const;
    const first = driver.admin(purge, 'deletedDeadLetters');
    driver.push({ queue: 'q', id: 'late' });
    const popped = driver.pop({ queue: 'q', group: 'g' });
    const { partitionNumber: partition, lease } = popped.messages[0]!;
    driver.ack([{ partition, id: 'late', lease, status: 'dlq' }], 'g');
    const rest = driver.admin({ ...purge, from: first.next!, budget: 9 }, 'deletedDeadLetters');
    expect(rest).toMatchObject({ deleted: 2, next: undefined });
    expect(driver.deadLetters().map((letter) => letter.id)).toEqual(['late']);
  });

  test('by address works in steps too', () => {
    const driver = withDeadLetters(4);
    const { partitionNumber: partition } = driver.pop({ queue: 'q', group: 'h' }).messages[0]!;
    const remove = { kind: 'deleteDeadLetters', partition, transactionId: 'm0' } as const;
    const first = driver.admin({ ...remove, budget: 3 }, 'deletedDeadLetters');
    expect(first.deleted).toBe(0);
    const step = { from: first.next!, countedBefore: first.deleted };
    const second = driver.admin({ ...remove, ...step, budget: 3 }, 'deletedDeadLetters');
    expect(second).toMatchObject({ deleted: 1, next: undefined });
  });

  test('by address knows minted ids by their text, and no other spelling of it', () => {
    const driver = new EngineDriver();
    driver.push([{ queue: 'q' }, { queue: 'q', id: 'x' }]);
    const popped = driver.pop({ queue: 'q', group: 'g', batch: 2 });
    const items = popped.messages.map(({ partitionNumber: partition, id, lease }) => {
      return { partition, id, lease, status: 'dlq' } as const;
    });
    driver.ack(items, 'g');
    const [{ partition, id }] = items as [(typeof items)[0]];
    const remove = (transactionId: string): number => {
      const command = { kind: 'deleteDeadLetters', partition, transactionId } as const;
      return driver.admin(command, 'deletedDeadLetters').deleted;
    };
    expect(remove(id.toUpperCase())).toBe(0);
    expect(remove(id)).toBe(1);
    expect(remove('x')).toBe(1);
  });

  test('by address reads no large payloads', () => {
    const driver = new EngineDriver();
    const payload = 'x'.repeat(200_000);
    driver.push(Array.from({ length: 5 }, (_, i) => ({ queue: 'q', id: `m${i}`, data: payload })));
    const popped = driver.pop({ queue: 'q', group: 'g', batch: 5 });
    const items = popped.messages.map(({ partitionNumber: partition, id, lease }) => {
      return { partition, id, lease, status: 'dlq' } as const;
    });
    driver.ack(items, 'g');
    let bytesRead = 0;
    const read = driver.payloads.payload.bind(driver.payloads);
    driver.payloads.payload = (range) => {
      bytesRead += range.toExclusive - range.from;
      return read(range);
    };
    const remove = { kind: 'deleteDeadLetters', partition: 1, transactionId: 'm2' } as const;
    expect(driver.admin(remove, 'deletedDeadLetters').deleted).toBe(1);
    expect(bytesRead).toBeLessThan(5000);
  });
});
