// A group at work: many workers, random verdicts. What each pop delivers and each ack answers is
// compared with a model of the group's cursors, so that order, exclusion, retries and dead letters
// are checked together and not only one by one.

import { randomBelow, SeededRng } from '@queen-ts/base';
import { describe, expect, it } from 'vitest';
import { useBroker } from '../support/use-broker.ts';
import type { AckItem, AckVerdict, Message, PushItem } from '../support/wire.ts';

const SEED = Number(process.env['QUEEN_TEST_SEED'] ?? 7);
const WORKERS = 8;
const PARTITIONS = 12;
const MESSAGES_PER_PARTITION = 60;
const RETRY_LIMIT = 2;

const broker = useBroker();

/** What a worker says about the first message that it does not complete. */
type Verdict = 'completed' | 'retry' | 'failed' | 'dlq';

/** Where a group stands in one partition. */
interface Cursor {
  next: number;
  failures: number;
  /** Set from the delivery of a batch until its ack is sent. */
  isHeld: boolean;
}

describe(`a group of ${WORKERS} workers (QUEEN_TEST_SEED=${SEED})`, () => {
  it('gets each partition in order and to one worker at a time, whatever they answer', async () => {
    const queue = broker.queueName();
    await broker.client.configure(queue, { retryLimit: RETRY_LIMIT, leaseTime: 300 });
    const group = new GroupModel();
    const rng = new SeededRng(SEED);
    const pushed = pushAll(queue, rng);
    const workers = Array.from({ length: WORKERS }, () => work(queue, group, rng));
    await Promise.all([pushed, ...workers]);
    expect((await broker.client.queueRow(queue))?.messages).toEqual({
      total: PARTITIONS * MESSAGES_PER_PARTITION,
      pending: 0,
      processing: 0,
      completed: PARTITIONS * MESSAGES_PER_PARTITION - group.deadLetters,
      deadLetter: group.deadLetters,
    });
    expect(group.deadLetters).toBeGreaterThan(0);
  });
});

/** Pushes in small requests, so that the workers overtake it again and again. */
async function pushAll(queue: string, rng: SeededRng): Promise<void> {
  const items = shuffledItems(queue, rng);
  while (items.length > 0) await broker.client.push(items.splice(0, 1 + randomBelow(rng, 15)));
}

/** All messages: partitions mixed at random, each in the order of its payloads. */
function shuffledItems(queue: string, rng: SeededRng): PushItem[] {
  const open = Array.from({ length: PARTITIONS }, (_, i) => ({ partition: `p-${i}`, next: 0 }));
  const items: PushItem[] = [];
  while (open.length > 0) {
    const position = randomBelow(rng, open.length);
    const lane = open[position];
    if (lane === undefined || lane.next === MESSAGES_PER_PARTITION) {
      open.splice(position, 1);
      continue;
    }
    const { partition, next } = lane;
    items.push({ queue, partition, transactionId: `t-${next}`, payload: next });
    lane.next += 1;
  }
  return items;
}

async function work(queue: string, group: GroupModel, rng: SeededRng): Promise<void> {
  while (!group.isDone) {
    const batch = await broker.client.pop(queue, {
      consumerGroup: 'g',
      batch: 1 + randomBelow(rng, 20),
      partitions: 1 + randomBelow(rng, 3),
      wait: true,
      timeout: 300,
    });
    for (const messages of byPartition(batch?.messages ?? [])) group.deliver(messages);
    for (const messages of byPartition(batch?.messages ?? [])) {
      const completed = randomBelow(rng, messages.length + 1);
      const head = (['retry', 'failed', 'failed', 'dlq'] as const)[randomBelow(rng, 4)] ?? 'retry';
      const verdict = completed === messages.length ? 'completed' : head;
      const expected = group.settle(messages, completed, verdict);
      const answers = await broker.client.ack(ackItems(messages, completed, verdict), 'g');
      expect(answers).toMatchObject(answers.map(() => expected));
    }
  }
}

/** Names the last completed message and the head: the rest follows from them. */
function ackItems(messages: readonly Message[], completed: number, verdict: Verdict): AckItem[] {
  const named = [
    [messages[completed - 1], 'completed'],
    [messages[completed], verdict],
  ] as const;
  return named.flatMap(([message, status]) => {
    if (message === undefined) return [];
    const { transactionId, partitionId, leaseId } = message;
    return [{ transactionId, partitionId, leaseId, status }];
  });
}

function byPartition(messages: readonly Message[]): readonly Message[][] {
  return [...Map.groupBy(messages, ({ partition }) => partition).values()];
}

/** What the broker must do, written down as plainly as possible. */
class GroupModel {
  readonly #cursors = new Map<string, Cursor>();
  deadLetters = 0;

  get isDone(): boolean {
    const cursors = [...this.#cursors.values()];
    return (
      cursors.length === PARTITIONS && cursors.every(({ next }) => next === MESSAGES_PER_PARTITION)
    );
  }

  /** Checks a batch of one partition against the cursor. */
  deliver(messages: readonly Message[]): void {
    const cursor = this.#cursor(messages[0]?.partition ?? '');
    expect(cursor.isHeld, 'two workers hold the partition').toBe(false);
    expect(messages.map(({ offset }) => offset)).toEqual(messages.map((_, i) => cursor.next + i));
    expect(messages.map(({ data }) => data)).toEqual(messages.map(({ offset }) => offset));
    cursor.isHeld = true;
  }

  /** Moves the cursor as the ack will, and returns what every item of it must be answered. */
  settle(
    messages: readonly Message[],
    completed: number,
    verdict: Verdict,
  ): Pick<AckVerdict, 'success' | 'leaseReleased'> {
    const cursor = this.#cursor(messages[0]?.partition ?? '');
    cursor.isHeld = false;
    const hasRetryLeft = verdict === 'failed' && cursor.failures < RETRY_LIMIT;
    const isFiled = verdict === 'dlq' || (verdict === 'failed' && !hasRetryLeft);
    cursor.next += completed + (isFiled ? 1 : 0);
    if (isFiled) this.deadLetters += 1;
    if (hasRetryLeft) cursor.failures += 1;
    else if (verdict !== 'retry') cursor.failures = 0;
    return { success: true, leaseReleased: true };
  }

  #cursor(partition: string): Cursor {
    let cursor = this.#cursors.get(partition);
    if (cursor === undefined) {
      cursor = { next: 0, failures: 0, isHeld: false };
      this.#cursors.set(partition, cursor);
    }
    return cursor;
  }
}
