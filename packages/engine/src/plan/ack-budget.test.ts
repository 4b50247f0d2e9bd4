import { ACK_ERROR, ACK_STATUS } from '@queen-ts/protocol';
import { describe, expect, test } from 'vitest';
import { ENGINE_LIMITS_DEFAULT } from '../limits.ts';
import type { EngineLimits } from '../limits.ts';
import { ackCommand } from '../testing/commands.ts';
import { EngineDriver } from '../testing.ts';
import type { AckItem, Popped } from '../testing.ts';

const GROUP = 'g';
const KIB = 1024;

/** What a dead letter of the messages below counts for. */
const LETTER = 4 * KIB;

function driverWith(limits: Partial<EngineLimits> = {}): EngineDriver {
  const driver = new EngineDriver(limits);
  driver.checksRows = false;
  driver.configure('q', { deadLetterQueue: true, retryLimit: 0 });
  return driver;
}

/** Pushes messages of about a KiB each, into one partition or into one each. */
function pushMany(driver: EngineDriver, count: number, partition?: (i: number) => string): void {
  driver.push(
    Array.from({ length: count }, (_, i) => ({
      queue: 'q',
      id: `m${i}`,
      data: `${i}`.padEnd(KIB, '.'),
      ...(partition === undefined ? {} : { partition: partition(i) }),
    })),
  );
}

const popAll = (driver: EngineDriver): Popped =>
  driver.pop({ queue: 'q', group: GROUP, batch: 100_000, partitions: 0 });

function itemsOf(popped: Popped, status: NonNullable<AckItem['status']>): AckItem[] {
  return popped.messages.map((message) => ({
    partition: message.partitionNumber,
    id: message.id,
    lease: popped.lease,
    status,
  }));
}

const ids = (popped: Popped): string[] => popped.messages.map(({ id }) => id);

describe('the room for dead letters', () => {
  test.each(['dlq', 'failed'] as const)(
    'ends a target of %s where it is full: the rest is refused and delivered again',
    (status) => {
      const driver = driverWith({ deadLetterBytesMax: 4 * LETTER });
      pushMany(driver, 10);
      const answers = driver.ack(itemsOf(popAll(driver), status), GROUP);
      const filed = driver.deadLetters().length;
      expect(filed).toBe(4);
      expect(answers.map(({ error }) => error)).toEqual(
        answers.map((_, i) => (i < filed ? undefined : 'too much')),
      );
      expect(answers.map(({ dlq }) => dlq)).toEqual(answers.map((_, i) => i < filed));
      expect(answers.every(({ released }) => released)).toBe(true);
      const again = popAll(driver);
      expect(ids(again)).toEqual(['m4', 'm5', 'm6', 'm7', 'm8', 'm9']);
      // It goes on where it ended, also when only exhausted retries lead there.
      expect(driver.ack(itemsOf(again, status), GROUP)[0]).toMatchObject({ ok: true, dlq: true });
      expect(driver.deadLetters()).toHaveLength(8);
    },
  );

  test('is that of one step: later targets are settled in later steps', () => {
    const driver = driverWith({ deadLetterBytesMax: 2 * LETTER });
    pushMany(driver, 5, (i) => `p${i}`);
    const before = driver.entries.length;
    const answers = driver.ack(itemsOf(popAll(driver), 'dlq'), GROUP);
    expect(answers.every(({ ok, dlq, released }) => ok && dlq && released)).toBe(true);
    expect(driver.deadLetters()).toHaveLength(5);
    expect(driver.entries.length - before).toBe(1 + 3);
  });

  test('takes one letter whatever its size', () => {
    const driver = driverWith({ deadLetterBytesMax: 1 });
    pushMany(driver, 2);
    const answers = driver.ack(itemsOf(popAll(driver), 'dlq'), GROUP);
    expect(answers.map(({ ok }) => ok)).toEqual([true, false]);
  });

  test('counts the error text that letters share', () => {
    const driver = driverWith({ deadLetterBytesMax: 16 * LETTER });
    driver.push(Array.from({ length: 100 }, (_, i) => ({ queue: 'q', id: `m${i}`, data: i })));
    const items = itemsOf(popAll(driver), 'dlq');
    driver.ack([{ ...items[0]!, error: 'e'.repeat(8000) }, ...items.slice(1)], GROUP);
    expect(driver.deadLetters()).toHaveLength(9);
  });

  test('rolls a transaction back that needs more', () => {
    const driver = driverWith({ deadLetterBytesMax: 4 * LETTER });
    pushMany(driver, 10);
    const popped = popAll(driver);
    const bundle = (items: readonly AckItem[]) =>
      driver.cycle(() =>
        driver.engine.plan({
          kind: 'transaction',
          transactionId: driver.mintId(),
          acks: [ackCommand(items, { group: GROUP, hashKey: driver.hashKey })],
          push: undefined,
        }),
      );
    expect(bundle(itemsOf(popped, 'dlq'))).toMatchObject({ reason: 'rejected_ack' });
    expect(driver.deadLetters()).toEqual([]);
    expect(bundle(itemsOf(popped, 'dlq').slice(0, 3))).toMatchObject({ kind: 'transaction' });
    expect(driver.deadLetters()).toHaveLength(3);
  });
});

describe('the work of one ack', () => {
  test('is done in steps, each with some of the targets and in an entry of its own', () => {
    const driver = driverWith({ ackStepCostBytes: 10 * KIB });
    pushMany(driver, 10, (i) => `p${i}`);
    const items = itemsOf(popAll(driver), 'completed');
    const before = driver.entries.length;
    expect(driver.ack(items, GROUP).every(({ ok, released }) => ok && released)).toBe(true);
    expect(driver.entries.length - before).toBe(4);
    expect(driver.list()[0]?.messages).toMatchObject({ pending: 0, processing: 0, completed: 10 });
  });

  test('may be interrupted: what was not reached is still leased, what was done stays done', () => {
    const driver = driverWith({ ackStepCostBytes: 10 * KIB });
    pushMany(driver, 10, (i) => `p${i}`);
    const items = itemsOf(popAll(driver), 'completed');
    const command = ackCommand(items, { group: GROUP, hashKey: driver.hashKey });
    expect(driver.plan(command).next).toBeDefined();
    expect(driver.list()[0]?.messages).toMatchObject({ processing: 7, completed: 3 });
    expect(driver.ack(items, GROUP).every(({ ok, released }) => ok && released)).toBe(true);
    expect(driver.list()[0]?.messages).toMatchObject({ processing: 0, completed: 10 });
  });

  test('goes on where partitions were removed between two steps', () => {
    const driver = driverWith({ ackStepCostBytes: 1 });
    pushMany(driver, 3, (i) => `p${i}`);
    const items = itemsOf(popAll(driver), 'completed');
    const command = ackCommand(items, { group: GROUP, hashKey: driver.hashKey });
    const first = driver.plan(command);
    driver.deleteQueue('q');
    driver.push({ queue: 'q', partition: 'other' });
    let outcome = first;
    while (outcome.next !== undefined) outcome = driver.plan({ ...command, from: outcome.next });
    expect([...outcome.errors]).toEqual([
      ACK_ERROR.NONE,
      ACK_ERROR.UNKNOWN_PARTITION,
      ACK_ERROR.UNKNOWN_PARTITION,
    ]);
  });

  test('has an end: targets that are left after the last step can be sent again', () => {
    const driver = driverWith({ ackStepCostBytes: 1, ackStepsMax: 3 });
    pushMany(driver, 5, (i) => `p${i}`);
    const items = itemsOf(popAll(driver), 'completed');
    const errors = driver.ack(items, GROUP).map(({ error }) => error);
    expect(errors).toEqual([undefined, undefined, undefined, 'too much', 'too much']);
    expect(driver.ack(items.slice(3), GROUP).every(({ ok }) => ok)).toBe(true);
    expect(driver.list()[0]?.messages).toMatchObject({ pending: 0, processing: 0, completed: 5 });
  });

  test('has room for the whole of one batch, however small its messages are', () => {
    const { popBytesMax, ackCostBytesMax } = ENGINE_LIMITS_DEFAULT;
    const driver = driverWith({
      popBytesMax: popBytesMax / 64,
      ackCostBytesMax: ackCostBytesMax / 64,
    });
    driver.cycle(() => {
      for (let i = 0; i < 1500; i += 1) driver.push({ queue: 'q', partition: `p${i}` });
    });
    const popped = popAll(driver);
    expect(popped.messages.length).toBeGreaterThan(50);
    const items = itemsOf(popped, 'completed');
    const acks = [ackCommand(items, { group: GROUP, hashKey: driver.hashKey })];
    const bundle = {
      kind: 'transaction',
      transactionId: driver.mintId(),
      acks,
      push: undefined,
    } as const;
    expect(driver.cycle(() => driver.engine.plan(bundle))).toMatchObject({ kind: 'transaction' });
  });

  test('ends a search without a lease, and says so instead of calling the id unknown', () => {
    const driver = driverWith({ ackCostBytesMax: 10 * KIB });
    for (let i = 0; i < 20; i += 1) pushMany(driver, 1, () => 'p');
    driver.cycle(() => {
      for (let i = 0; i < 20; i += 1) {
        driver.push({ queue: 'q', partition: 'p', id: `n${i}`, data: 'x'.repeat(KIB) });
      }
    });
    const popped = driver.pop({ queue: 'q', group: GROUP, batch: 1 });
    driver.release(popped.lease);
    const partition = popped.messages[0]!.partitionNumber;
    const ackOf = (id: string) => driver.ack([{ partition, id }], GROUP)[0];
    expect(ackOf('nowhere')).toMatchObject({ ok: false, error: 'too much' });
    expect(ackOf('n2')).toMatchObject({ ok: true });
  });

  test('finds what a conflating pop delivered behind more than it may look at', () => {
    const driver = driverWith({ ackCostBytesMax: 8 * KIB });
    const pop = () => driver.pop({ queue: 'q', group: GROUP, conflation: true });
    pop();
    driver.cycle(() => {
      for (let i = 0; i < 40; i += 1)
        driver.push({ queue: 'q', id: `m${i}`, data: 'x'.repeat(KIB) });
    });
    const popped = pop();
    expect(ids(popped)).toEqual(['m39']);
    expect(driver.ack(itemsOf(popped, 'completed'), GROUP)).toMatchObject([
      { ok: true, released: true },
    ]);
  });

  test('is counted for the cycle, and begins anew with the next one', () => {
    const driver = driverWith();
    pushMany(driver, 10);
    const popped = popAll(driver);
    driver.cycle(() => {
      expect(driver.engine.cycleCostBytes).toBe(0);
      driver.ack(itemsOf(popped, 'completed'), GROUP);
      expect(driver.engine.cycleCostBytes).toBeGreaterThan(10 * KIB);
    });
    driver.cycle(() => expect(driver.engine.cycleCostBytes).toBe(0));
  });
});

test('many leases of one partition are told apart in linear time', () => {
  const driver = driverWith();
  driver.push({ queue: 'q', id: 'm' });
  const partition = driver.pop({ queue: 'q', group: GROUP }).messages[0]!.partitionNumber;
  const count = 60_000;
  const command = ackCommand([{ partition, id: 'm' }], { group: GROUP, hashKey: driver.hashKey });
  const repeat = (words: Uint32Array): Uint32Array =>
    Uint32Array.from({ length: words.length * count }, (_, i) => words[i % words.length]!);
  const leaseIds = Uint32Array.from({ length: count * 4 }, (_, i) => (i % 4 === 1 ? i : 7));
  const many = {
    ...command,
    itemCount: count,
    partitions: repeat(command.partitions),
    txnHashes: repeat(command.txnHashes),
    txnUuids: repeat(command.txnUuids),
    leaseKinds: new Uint8Array(count).fill(1),
    leaseIds,
    statuses: new Uint8Array(count).fill(ACK_STATUS.COMPLETED),
  };
  let outcome = driver.plan(many);
  while (outcome.next !== undefined) outcome = driver.plan({ ...many, from: outcome.next });
  expect(outcome.errors.every((error) => error !== 0)).toBe(true);
});
