import { ACK_STATUS } from '@queen-ts/protocol';
import { describe, expect, test } from 'vitest';
import { ENGINE_LIMITS_DEFAULT } from '../limits.ts';
import type { EngineLimits } from '../limits.ts';
import { ackCommand } from '../testing/commands.ts';
import { EngineDriver } from '../testing.ts';
import type { AckItem, Popped } from '../testing.ts';

const GROUP = 'g';
const KIB = 1024;

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
      const driver = driverWith({ deadLetterBytesMax: 4 * KIB });
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

  test('is that of the whole command: later targets keep their leases', () => {
    const driver = driverWith({ deadLetterBytesMax: 2 * KIB });
    pushMany(driver, 4, (i) => `p${i}`);
    const popped = popAll(driver);
    const answers = driver.ack(itemsOf(popped, 'dlq'), GROUP);
    expect(answers.map(({ ok, released }) => [ok, released])).toEqual([
      [true, true],
      [true, true],
      [false, false],
      [false, false],
    ]);
    const rest = itemsOf(popped, 'dlq').slice(2);
    expect(driver.ack(rest, GROUP).every(({ ok, released }) => ok && released)).toBe(true);
  });

  test('takes one letter whatever its size', () => {
    const driver = driverWith({ deadLetterBytesMax: 1 });
    pushMany(driver, 2);
    const answers = driver.ack(itemsOf(popAll(driver), 'dlq'), GROUP);
    expect(answers.map(({ ok }) => ok)).toEqual([true, false]);
  });

  test('counts the error text that letters share', () => {
    const driver = driverWith({ deadLetterBytesMax: 64 * KIB });
    driver.push(Array.from({ length: 100 }, (_, i) => ({ queue: 'q', id: `m${i}`, data: i })));
    const items = itemsOf(popAll(driver), 'dlq');
    driver.ack([{ ...items[0]!, error: 'e'.repeat(4000) }, ...items.slice(1)], GROUP);
    expect(driver.deadLetters()).toHaveLength(17);
  });

  test('rolls a transaction back that needs more', () => {
    const driver = driverWith({ deadLetterBytesMax: 4 * KIB });
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
  test('ends between two targets; those not looked at can be sent again', () => {
    const driver = driverWith({ ackCostBytesMax: 5 * KIB });
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
    expect(popped.messages.length).toBeGreaterThan(700);
    expect(driver.ack(itemsOf(popped, 'completed'), GROUP).every(({ ok }) => ok)).toBe(true);
  });

  test('ends a search without a lease, and says so instead of calling the id unknown', () => {
    const driver = driverWith({ ackCostBytesMax: 8 * KIB });
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
  const outcome = driver.plan({
    ...command,
    itemCount: count,
    partitions: repeat(command.partitions),
    txnHashes: repeat(command.txnHashes),
    txnUuids: repeat(command.txnUuids),
    leaseKinds: new Uint8Array(count).fill(1),
    leaseIds,
    statuses: new Uint8Array(count).fill(ACK_STATUS.COMPLETED),
  });
  expect(outcome.errors.every((error) => error !== 0)).toBe(true);
});
