// Producers that send much of what they push twice, to different members, and consumers of two groups
// that ack, half ack or forget. Judged: the log, the memory of ids, order and acks.

import { randomBelow } from '@queen-ts/base';
import type { Rng } from '@queen-ts/base';
import type { AckItem, AckVerdict, Batch, Verdict as PushVerdict } from '../../support/wire.ts';
import { checkDedup } from '../checkers/dedup.ts';
import { checkLog } from '../checkers/log.ts';
import { checkQueue } from '../checkers/queue.ts';
import { partitionKey } from '../history/records.ts';
import type {
  AckEffect,
  AckRecord,
  Delivery,
  NodeContents,
  PopRecord,
  PushRecord,
} from '../history/records.ts';
import { mapOutcome } from './member-client.ts';
import type { MemberClient } from './member-client.ts';
import { createQueue, insist, POP_WAIT_MS, untilEmpty } from './consuming.ts';
import type { NamedVerdict, Workload, WorkloadContext } from './workload.ts';

const QUEUE = 'chaos-log';
const PARTITIONS = ['a', 'b', 'c', 'd', 'e'];
const GROUPS = ['g1', 'g2'];
const PRODUCERS = 3;
const CONSUMERS_PER_GROUP = 2;
const BATCH_MAX = 5;
const LEASE_SECONDS = 4;
const PAUSE_MS_MAX = 20;

interface SentItem {
  readonly partition: string;
  readonly transactionId: string;
  readonly payload: string;
}

/** Pushes and ordered consumption. */
export class LogWorkload implements Workload {
  readonly reads = [{ queue: QUEUE, partitions: PARTITIONS }];
  readonly #context: WorkloadContext;
  readonly #pushes: PushRecord[] = [];
  readonly #pops: PopRecord[] = [];
  readonly #acks: AckRecord[] = [];
  readonly #inDoubt = new Map<string, SentItem>();
  #sentCount = 0;

  constructor(context: WorkloadContext) {
    this.#context = context;
  }

  prepare(): Promise<void> {
    const options = { leaseTime: LEASE_SECONDS, retryLimit: 1_000_000, dedupWindowSeconds: 3600 };
    return createQueue(this.#context, QUEUE, options);
  }

  async run(signal: AbortSignal): Promise<void> {
    const producers = Array.from({ length: PRODUCERS }, () => this.#produce(signal));
    const consumers = GROUPS.flatMap((group) =>
      Array.from({ length: CONSUMERS_PER_GROUP }, () => this.#consume(group, signal)),
    );
    await Promise.all([...producers, ...consumers]);
  }

  async settle(): Promise<void> {
    const client = this.#context.client();
    for (const item of this.#inDoubt.values()) {
      await insist('a push in doubt', () => this.#push(client, [item]));
    }
    for (const group of GROUPS) await this.#drain(client, group);
    client.close();
  }

  judge(contents: readonly NodeContents[]): readonly NamedVerdict[] {
    const own = contents.map((node) => ofQueue(node, QUEUE));
    const held = own[0]?.partitions ?? new Map();
    const queue = checkQueue({
      queue: QUEUE,
      groups: GROUPS,
      pops: this.#pops,
      acks: this.#acks,
      held,
      deadLetters: new Map(),
    });
    return [
      { checker: 'log (I1, I2)', ...checkLog(mostKnown(this.#pushes), own) },
      { checker: 'dedup (I2)', ...checkDedup(this.#pushes) },
      { checker: 'queue (I3, I6)', ...queue },
    ];
  }

  async #produce(signal: AbortSignal): Promise<void> {
    const rng = this.#context.rng();
    const client = this.#context.client();
    while (!signal.aborted) {
      const items = Array.from({ length: 1 + randomBelow(rng, BATCH_MAX) }, () => this.#item(rng));
      const isSentTwice = randomBelow(rng, 3) === 0;
      const requests = [this.#push(client, items)];
      if (isSentTwice) requests.push(this.#push(client, items));
      await Promise.all(requests);
      await pause(rng);
    }
    client.close();
  }

  #item(rng: Rng): SentItem {
    this.#sentCount += 1;
    const transactionId = `t${this.#sentCount}`;
    const partition = PARTITIONS[randomBelow(rng, PARTITIONS.length)] ?? '';
    return { partition, transactionId, payload: JSON.stringify({ n: transactionId }) };
  }

  async #push(client: MemberClient, items: readonly SentItem[]) {
    const body = {
      items: items.map(({ payload, ...item }) => {
        return { queue: QUEUE, ...item, payload: JSON.parse(payload) as unknown };
      }),
    };
    const asked = await client.ask('POST', '/api/v1/push', { body });
    const answers = mapOutcome(asked.outcome, ({ text }) => JSON.parse(text) as PushVerdict[]);
    items.forEach((item, position) => {
      const outcome = mapOutcome(answers, (verdicts) => {
        const { offset = -1, message_id: messageId = '', status } = verdicts[position] ?? {};
        return { offset, messageId, isDuplicate: status === 'duplicate' };
      });
      const { startUs, endUs } = asked;
      this.#pushes.push({ startUs, endUs, queue: QUEUE, ...item, outcome });
      if (outcome.kind === 'unknown') this.#inDoubt.set(item.transactionId, item);
    });
    return asked;
  }

  async #consume(group: string, signal: AbortSignal): Promise<void> {
    const rng = this.#context.rng();
    const client = this.#context.client();
    while (!signal.aborted) {
      const popped = await this.#pop(client, group);
      if (popped === undefined) continue;
      const { batch, delivery } = popped;
      const count = delivery.messages.length;
      const fate = randomBelow(rng, 10);
      // One in ten forgets its batch, one in ten handles only a part of it.
      if (fate === 0) continue;
      const acked = fate === 1 ? 1 + randomBelow(rng, count) : count;
      await this.#ack(client, { group, batch, delivery, acked });
    }
    client.close();
  }

  async #pop(client: MemberClient, group: string) {
    const query = `consumerGroup=${group}&batch=10&wait=true&timeout=${POP_WAIT_MS}`;
    const { startUs, endUs, outcome } = await client.ask(
      'GET',
      `/api/v1/pop/queue/${QUEUE}?${query}`,
    );
    const batch = mapOutcome(outcome, ({ status, text }) => {
      return status === 204 ? undefined : (JSON.parse(text) as Batch);
    });
    const delivery = mapOutcome(batch, (value) => value && deliveryOf(value));
    this.#pops.push({ startUs, endUs, queue: QUEUE, group, outcome: delivery });
    if (batch.kind !== 'ok' || delivery.kind !== 'ok') return undefined;
    if (batch.value === undefined || delivery.value === undefined) return undefined;
    return { batch: batch.value, delivery: delivery.value };
  }

  async #ack(
    client: MemberClient,
    work: {
      readonly group: string;
      readonly batch: Batch;
      readonly delivery: Delivery;
      readonly acked: number;
    },
  ) {
    const { group, batch, delivery, acked } = work;
    const { partitionId, leaseId } = batch;
    const acknowledgments = delivery.messages.slice(0, acked).map(({ transactionId }): AckItem => {
      return { transactionId, partitionId, leaseId, status: 'completed' };
    });
    const body = { acknowledgments, consumerGroup: group };
    const asked = await client.ask('POST', '/api/v1/ack/batch', { body });
    const from = delivery.messages[0]?.offset ?? 0;
    const { startUs, endUs } = asked;
    const { partition } = delivery;
    const outcome = mapOutcome(asked.outcome, ({ text }) =>
      effectOf(JSON.parse(text) as AckVerdict[]),
    );
    const where = { queue: QUEUE, group, partition, leaseId };
    this.#acks.push({ startUs, endUs, ...where, from, to: from + acked, outcome });
    return asked;
  }

  /** Consumes and acks all that is left. */
  #drain(client: MemberClient, group: string): Promise<void> {
    return untilEmpty(LEASE_SECONDS, async () => {
      const popped = await this.#pop(client, group);
      if (popped === undefined) return false;
      const acked = popped.delivery.messages.length;
      await insist('an ack', () => this.#ack(client, { group, ...popped, acked }));
      return true;
    });
  }
}

function deliveryOf({ partition, leaseId, messages }: Batch): Delivery {
  return {
    leaseId,
    partition,
    messages: messages.map(({ offset, transactionId, data }) => {
      return { offset, transactionId, payload: JSON.stringify(data) };
    }),
  };
}

function effectOf(verdicts: readonly AckVerdict[]): AckEffect {
  return verdicts.every(({ success, noop }) => success && !noop) ? 'applied' : 'none';
}

/** What a node holds of one queue. */
function ofQueue({ node, partitions }: NodeContents, queue: string): NodeContents {
  const isOwn = ([key]: readonly [string, unknown]): boolean => {
    return key.startsWith(partitionKey(queue, ''));
  };
  return { node, partitions: new Map([...partitions].filter(isOwn)) };
}

/** One record a message: what is known of it after everything that was sent. */
function mostKnown(pushes: readonly PushRecord[]): readonly PushRecord[] {
  const rank = { ok: 2, unknown: 1, refused: 0 };
  const known = new Map<string, PushRecord>();
  for (const push of pushes) {
    const before = known.get(push.transactionId);
    const isMore = before === undefined || rank[push.outcome.kind] > rank[before.outcome.kind];
    if (isMore) known.set(push.transactionId, push);
  }
  return [...known.values()];
}

async function pause(rng: Rng): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, randomBelow(rng, PAUSE_MS_MAX)));
}
