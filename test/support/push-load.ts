// Load for tests of lost power and full disks: batches of random size from one connection, until the
// broker answers no more, and everything that a broker holds of a queue.

import { randomBelow } from '@queen-ts/base';
import type { Rng } from '@queen-ts/base';
import type { HttpClient } from './http-client.ts';
import type { PushJournal, SentMessage } from './push-journal.ts';
import type { Message } from './wire.ts';

const PARTITIONS = ['a', 'b', 'c', 'd', 'e', 'f'];
const POPPED_MESSAGES_MAX = 200;

/** What one connection pushes. */
export interface PushLoad {
  readonly client: HttpClient;
  readonly journal: PushJournal;
  readonly rng: Rng;
  readonly queue: string;
  /** Begins every transaction id: no two loads of a test have the same. */
  readonly name: string;
  readonly batchMessagesMax: number;
  readonly payloadCharactersMax: number;
}

/** Pushes batch after batch; resolves when one of them got no answer or another one than `queued`. */
export async function pushUntilUnanswered(load: PushLoad): Promise<void> {
  for (let i = 0; ; i += 1) {
    if (!(await load.journal.push(load.client, randomBatch(load, i)))) return;
  }
}

/** Reads a queue with a group of its own, partition after partition, each in offset order. */
export async function readEverything(
  client: HttpClient,
  queue: string,
  consumerGroup: string,
): Promise<readonly Message[]> {
  const messages: Message[] = [];
  for (;;) {
    const query = { consumerGroup, autoAck: true, batch: POPPED_MESSAGES_MAX, partitions: 0 };
    const batch = await client.pop(queue, query);
    if (batch === undefined) return messages;
    messages.push(...batch.messages);
  }
}

function randomBatch(load: PushLoad, number: number): readonly SentMessage[] {
  const { rng, queue, name } = load;
  const count = 1 + randomBelow(rng, load.batchMessagesMax);
  return Array.from({ length: count }, (_, position) => {
    const transactionId = `${name}-${number}-${position}`;
    const partition = PARTITIONS[randomBelow(rng, PARTITIONS.length)] ?? '';
    const payload = transactionId.padEnd(randomBelow(rng, load.payloadCharactersMax), '.');
    return { queue, partition, transactionId, payload };
  });
}
