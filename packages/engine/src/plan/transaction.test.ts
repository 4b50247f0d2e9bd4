import { PUSH_STATUS, QUEUE_MODE_GROUP } from '@queen-ts/protocol';
import { describe, expect, test } from 'vitest';
import { EngineDriver, dump } from '../testing.ts';
import type { AckItem, Popped } from '../testing.ts';

/** A driver with three messages a, b, c in one partition, popped by group g. */
function withBatch(): { readonly driver: EngineDriver; readonly popped: Popped } {
  const driver = new EngineDriver();
  driver.push(['a', 'b', 'c'].map((id) => ({ queue: 'q', id })));
  return { driver, popped: driver.pop({ queue: 'q', group: 'g' }) };
}

function itemOf(popped: Popped, id: string, fields: Partial<AckItem> = {}): AckItem {
  const partition = popped.messages[0]!.partitionNumber;
  return { partition, id, lease: popped.lease, ...fields };
}

/** Runs a transaction that must change nothing, and returns why it did not. */
function reasonOf(driver: EngineDriver, parts: Parameters<EngineDriver['transact']>[0]): string {
  const before = { rows: dump(driver.engine).join('\n'), entries: driver.entries.length };
  const outcome = driver.transact(parts);
  expect({ rows: dump(driver.engine).join('\n'), entries: driver.entries.length }).toEqual(before);
  if (outcome.kind === 'transaction') return 'committed';
  return outcome.kind === 'refused' ? `refused ${outcome.code}` : outcome.reason;
}

describe('a transaction', () => {
  test('acks and pushes in one entry', () => {
    const { driver, popped } = withBatch();
    const before = driver.entries.length;
    const outcome = driver.transact({
      acks: { g: ['a', 'b', 'c'].map((id) => itemOf(popped, id)) },
      push: [{ queue: 'next', partition: 'p', id: 'x', data: 1 }, { queue: 'other' }],
    });
    expect(outcome.kind).toBe('transaction');
    expect(driver.entries.length).toBe(before + 1);
    expect(driver.pop({ queue: 'q', group: 'g' }).messages).toEqual([]);
    expect(driver.pop({ queue: 'next' }).messages).toMatchObject([{ id: 'x', data: 1 }]);
    expect(driver.pop({ queue: 'other' }).messages).toHaveLength(1);
  });

  test('acks for several groups, failures and dead letters included', () => {
    const { driver, popped } = withBatch();
    const second = driver.pop({ queue: 'q', group: 'h' });
    const outcome = driver.transact({
      acks: {
        g: [itemOf(popped, 'a'), itemOf(popped, 'b', { status: 'dlq', error: 'bad' })],
        h: [itemOf(second, 'a'), itemOf(second, 'b', { status: 'retry' })],
      },
    });
    const { acks } = outcome as Extract<typeof outcome, { kind: 'transaction' }>;
    expect(acks.map((ack) => [...ack.deadLettered])).toEqual([
      [0, 1],
      [0, 0],
    ]);
    expect(driver.deadLetters()).toMatchObject([{ id: 'b', group: 'g', error: 'bad' }]);
    const ids = (group: string): string[] =>
      driver.pop({ queue: 'q', group }).messages.map((message) => message.id);
    expect([ids('g'), ids('h')]).toEqual([['c'], ['b', 'c']]);
  });

  test('stores a repeat inside it once and says so', () => {
    const driver = new EngineDriver();
    driver.configure('q', { dedupWindowSeconds: 0 });
    const item = { queue: 'q', id: 'x' };
    const outcome = driver.transact({ push: [item, item] });
    const { push } = outcome as Extract<typeof outcome, { kind: 'transaction' }>;
    expect([...push!.statuses]).toEqual([PUSH_STATUS.QUEUED, PUSH_STATUS.DUPLICATE]);
    expect(driver.pop({ queue: 'q' }).messages).toHaveLength(1);
  });

  test('commits an unfenced ack of a message that is acked already', () => {
    const { driver, popped } = withBatch();
    const all = ['a', 'b', 'c'].map((id) => itemOf(popped, id));
    driver.ack(all, 'g');
    const { partition } = all[0]!;
    const outcome = driver.transact({
      acks: { g: [{ partition, id: 'a' }] },
      push: [{ queue: 'next' }],
    });
    expect(outcome.kind).toBe('transaction');
    expect(driver.pop({ queue: 'next' }).messages).toHaveLength(1);
  });

  test('of acks that are all done and of nothing to push has no effect', () => {
    const { driver, popped } = withBatch();
    const all = ['a', 'b', 'c'].map((id) => itemOf(popped, id));
    driver.ack(all, 'g');
    const { partition } = all[0]!;
    expect(reasonOf(driver, { acks: { g: [{ partition, id: 'a' }] } })).toBe('committed');
  });
});

describe('a transaction changes nothing', () => {
  const PUSH = [{ queue: 'next', id: 'x' }];

  test('when a lease is not held', () => {
    const { driver, popped } = withBatch();
    const other = itemOf(popped, 'a', { lease: driver.mintId() });
    expect(reasonOf(driver, { acks: { g: [itemOf(popped, 'b'), other] }, push: PUSH })).toBe(
      'rejected_ack',
    );
    const malformed = itemOf(popped, 'a', { lease: 'malformed' });
    expect(reasonOf(driver, { acks: { g: [malformed] } })).toBe('rejected_ack');
    driver.wait(100);
    expect(reasonOf(driver, { acks: { g: [itemOf(popped, 'a')] } })).toBe('rejected_ack');
  });

  test('when a lease was settled before: repeats are for acks alone', () => {
    const { driver, popped } = withBatch();
    const all = ['a', 'b', 'c'].map((id) => itemOf(popped, id));
    driver.ack(all, 'g');
    expect(reasonOf(driver, { acks: { g: all }, push: PUSH })).toBe('rejected_ack');
  });

  test('when a fenced ack names a message that its lease does not hold any more', () => {
    const { driver, popped } = withBatch();
    driver.ack([itemOf(popped, 'a')], 'g');
    expect(reasonOf(driver, { acks: { g: [itemOf(popped, 'a')] }, push: PUSH })).toBe(
      'rejected_ack',
    );
  });

  test('when an unfenced failure names a message that is acked', () => {
    const { driver, popped } = withBatch();
    driver.ack([itemOf(popped, 'a')], 'g');
    const { partition } = itemOf(popped, 'a');
    const failed = { partition, id: 'a', status: 'failed' } as const;
    expect(reasonOf(driver, { acks: { g: [failed] } })).toBe('rejected_ack');
  });

  test('for an unknown partition, group, message or status', () => {
    const { driver, popped } = withBatch();
    const good = itemOf(popped, 'a');
    expect(reasonOf(driver, { acks: { g: [{ ...good, partition: 99 }] } })).toBe('rejected_ack');
    expect(reasonOf(driver, { acks: { nobody: [good] } })).toBe('rejected_ack');
    expect(reasonOf(driver, { acks: { [QUEUE_MODE_GROUP]: [good] } })).toBe('rejected_ack');
    expect(reasonOf(driver, { acks: { g: [{ ...good, id: 'z' }] } })).toBe('rejected_ack');
    expect(reasonOf(driver, { acks: { g: [{ ...good, status: 'unknown' }] } })).toBe(
      'rejected_ack',
    );
  });

  test('when a pushed id is a duplicate, acks included; the text says of what', () => {
    const { driver, popped } = withBatch();
    const parts = {
      acks: { g: [itemOf(popped, 'a')] },
      push: [{ queue: 'new' }, { queue: 'q', id: 'b' }],
    };
    expect(reasonOf(driver, parts)).toBe('duplicate');
    const outcome = driver.transact(parts);
    expect(outcome).toMatchObject({ kind: 'rolledBack' });
    expect((outcome as { message: string }).message).toContain('"b": q/Default has it at offset 1');
  });

  test('when the acks are wrong and the pushes too, because of the acks', () => {
    const { driver, popped } = withBatch();
    const acks = { g: [itemOf(popped, 'z')] };
    expect(reasonOf(driver, { acks, push: [{ queue: 'q', id: 'b' }] })).toBe('rejected_ack');
  });

  test('when the pushes of one partition are too large', () => {
    const driver = new EngineDriver({ entryBytesMax: 400 });
    const push = [{ queue: 'a' }, { queue: 'b', data: 'x'.repeat(500) }];
    expect(reasonOf(driver, { push })).toBe('too_large');
  });

  test('while pushes are paused, unless it only acks', () => {
    const { driver, popped } = withBatch();
    driver.admin({ kind: 'maintenance', requests: 'push', paused: true }, 'maintenance');
    const acks = { g: [itemOf(popped, 'a')] };
    expect(reasonOf(driver, { acks, push: PUSH })).toBe('refused maintenance');
    expect(driver.transact({ acks }).kind).toBe('transaction');
  });
});

describe('a random bundle', () => {
  test('is all or nothing', () => {
    const driver = new EngineDriver();
    driver.push(Array.from({ length: 40 }, (_, i) => ({ queue: 'q', id: `m${i}` })));
    let state = 7;
    const below = (limit: number): number => {
      state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
      return (state >>> 8) % limit;
    };
    let committed = 0;
    for (let round = 0; round < 60; round += 1) {
      const popped = driver.pop({ queue: 'q', group: 'g', batch: 4, leaseSeconds: 5 });
      if (popped.messages.length === 0) driver.wait(6);
      const acks = popped.messages.map((message) =>
        itemOf(popped, message.id, {
          status: (['completed', 'completed', 'failed', 'dlq'] as const)[below(4)]!,
          ...(below(8) === 0 && { lease: driver.mintId() }),
        }),
      );
      const push = [{ queue: 'out', id: `out-${below(80)}` }];
      const parts = acks.length === 0 ? { push } : { acks: { g: acks }, push };
      const before = dump(driver.engine).join('\n');
      const outcome = driver.transact(parts);
      const isUnchanged = dump(driver.engine).join('\n') === before;
      expect(isUnchanged).toBe(outcome.kind !== 'transaction');
      if (outcome.kind === 'transaction') committed += 1;
    }
    expect(committed).toBeGreaterThan(10);
    expect(committed).toBeLessThan(60);
  });
});
