// Crashes under load: SIGKILL at random moments while several connections push and a consumer group
// works. After each restart, what the broker holds is compared with everything it had answered.

import { randomBelow, SeededRng } from '@queen-ts/base';
import { afterAll, describe, expect, it } from 'vitest';
import { BrokerProcess } from '../support/broker-process.ts';
import { eventually } from '../support/eventually.ts';
import type { HttpClient } from '../support/http-client.ts';
import { PushJournal } from '../support/push-journal.ts';
import type { SentMessage } from '../support/push-journal.ts';
import type { Message } from '../support/wire.ts';

const SEED = Number(process.env['QUEEN_TEST_SEED'] ?? 20_261);
const CRASHES = 10;
const QUEUE = 'ledger';
const GROUP = 'worker';
const PARTITIONS = ['a', 'b', 'c', 'd', 'e', 'f'];
const CONNECTIONS = 6;
const BATCH_MESSAGES_MAX = 40;
const PAYLOAD_CHARACTERS_MAX = 600;
const REPEATED_BATCHES = 5;

let broker: BrokerProcess | undefined;

afterAll(async () => {
  await broker?.dispose();
});

describe(`killed ${CRASHES} times under load (QUEEN_TEST_SEED=${SEED})`, () => {
  it('a broker keeps everything it answered, once, in order, and delivers on where it was', async () => {
    const rng = new SeededRng(SEED);
    const process = (broker = await BrokerProcess.launch());
    const journal = new PushJournal();
    const worker = new GroupJournal();
    for (let crash = 1; crash <= CRASHES; crash += 1) {
      await crashUnderLoad({ process, rng, journal, worker, crash });
      // The crash came in the middle of something, or this test shows nothing.
      expect(journal.batchesInDoubt).toBeGreaterThan(0);
      await journal.resolveDoubts(process.client);
      for (let i = 0; i < REPEATED_BATCHES; i += 1) {
        await journal.repeatAnswered(process.client, randomBelow(rng, journal.answeredBatches));
      }
      journal.verify(await readAll(process.client, `audit-${crash}`));
    }
    await eventually(
      'the group to consume everything',
      async () => {
        await worker.consume(process.client, rng);
        return worker.completedCount === journal.sentCount;
      },
      30_000,
    );
  });
});

interface CrashOptions {
  readonly process: BrokerProcess;
  readonly rng: SeededRng;
  readonly journal: PushJournal;
  readonly worker: GroupJournal;
  /** Number of the crash: keeps transaction ids apart. */
  readonly crash: number;
}

/** Loads a running broker, kills it at a random moment, and starts it again. */
async function crashUnderLoad(options: CrashOptions): Promise<void> {
  const { process, rng, journal, worker } = options;
  const { client } = process;
  const killAfterBatches = journal.answeredBatches + 10 + randomBelow(rng, 100);
  const load = Array.from({ length: CONNECTIONS }, (_, connection) =>
    pushUntilCrash({ ...options, client, connection }),
  );
  const consumer = (async () => {
    while (await worker.consume(client, rng));
  })();
  const ended = Promise.allSettled([...load, consumer]);
  await eventually('some load', () => journal.answeredBatches >= killAfterBatches, 20_000);
  await pauseBeforeKill(rng, 20);
  await process.kill();
  for (const result of await ended) {
    if (result.status === 'rejected') throw result.reason;
  }
  if (randomBelow(rng, 3) === 0) {
    // A crash of the recovery itself.
    process.startUnawaited();
    await pauseBeforeKill(rng, 500);
    await process.kill();
  }
  await process.start();
}

/** The moment of a crash is random by design: nothing is waited for. */
async function pauseBeforeKill(rng: SeededRng, millisecondsMax: number): Promise<void> {
  const durationMs = randomBelow(rng, millisecondsMax);
  await new Promise((resolve) => setTimeout(resolve, durationMs));
}

async function pushUntilCrash(
  options: CrashOptions & { readonly client: HttpClient; readonly connection: number },
): Promise<void> {
  const { rng, journal, client, crash, connection } = options;
  for (let i = 0; ; i += 1) {
    const count = 1 + randomBelow(rng, BATCH_MESSAGES_MAX);
    const batch = Array.from({ length: count }, (_, position): SentMessage => {
      const transactionId = `${crash}-${connection}-${i}-${position}`;
      return {
        queue: QUEUE,
        partition: PARTITIONS[randomBelow(rng, PARTITIONS.length)] ?? '',
        transactionId,
        payload: transactionId.padEnd(randomBelow(rng, PAYLOAD_CHARACTERS_MAX), '.'),
      };
    });
    if (!(await journal.push(client, batch))) return;
  }
}

/** Reads everything with a group of its own, partition after partition, each in offset order. */
async function readAll(client: HttpClient, consumerGroup: string): Promise<readonly Message[]> {
  const messages: Message[] = [];
  for (;;) {
    const query = { consumerGroup, autoAck: true, batch: 2000, partitions: 0 };
    const batch = await client.pop(QUEUE, query);
    if (batch === undefined) return messages;
    messages.push(...batch.messages);
  }
}

/** What a working group got and acknowledged: its cursor must never go back and never skip. */
class GroupJournal {
  /** Next offset by partition, as far as acks were answered. */
  readonly #certain = new Map<string, number>();
  /** Next offset by partition if the acks whose answer was lost took effect. */
  readonly #possible = new Map<string, number>();

  /** Messages whose acknowledgement was answered. */
  get completedCount(): number {
    return [...this.#certain.values()].reduce((sum, next) => sum + next, 0);
  }

  /** Pops once and acknowledges what came; false when the broker is gone. */
  async consume(client: HttpClient, rng: SeededRng): Promise<boolean> {
    const batch = await client
      .pop(QUEUE, {
        consumerGroup: GROUP,
        batch: 1 + randomBelow(rng, 60),
        partitions: 3,
        leaseSeconds: 1,
        wait: true,
        timeout: 500,
      })
      .catch(() => null);
    if (batch === null) return false;
    if (batch === undefined) return true;
    const ends = this.#checkDelivery(batch.messages);
    for (const [partition, next] of ends) this.#possible.set(partition, next);
    const verdicts = await client
      .ack(
        batch.messages.map(({ transactionId, partitionId, leaseId }) => ({
          transactionId,
          partitionId,
          leaseId,
        })),
        GROUP,
      )
      .catch(() => null);
    if (verdicts === null) return false;
    // A lease that ended before its ack came is no fault of the broker: the batch comes again.
    if (!verdicts.every(({ success }) => success)) return true;
    for (const [partition, next] of ends) this.#certain.set(partition, next);
    return true;
  }

  /** Returns the next offset of each partition once the messages are acknowledged. */
  #checkDelivery(messages: readonly Message[]): ReadonlyMap<string, number> {
    const ends = new Map<string, number>();
    for (const { partition, offset } of messages) {
      const inBatch = ends.get(partition);
      const certain = this.#certain.get(partition) ?? 0;
      const possible = Math.max(certain, this.#possible.get(partition) ?? 0);
      const isExpected =
        inBatch === undefined ? offset === certain || offset === possible : offset === inBatch;
      if (!isExpected) {
        throw new Error(
          `${GROUP} got ${partition} offset ${offset}, not ${inBatch ?? `${certain} or ${possible}`}`,
        );
      }
      ends.set(partition, offset + 1);
    }
    // What the broker delivers first shows whether the ack in doubt took effect.
    for (const partition of ends.keys()) {
      const first = messages.find((message) => message.partition === partition)?.offset ?? 0;
      this.#certain.set(partition, first);
      this.#possible.delete(partition);
    }
    return ends;
  }
}
