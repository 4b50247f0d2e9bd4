// What the workloads have in common: a queue of their own, single messages, and a drained queue.

import { eventually } from '../../support/eventually.ts';
import type { Answer } from '../../support/http-client.ts';
import type { Batch, Message } from '../../support/wire.ts';
import type { Outcome } from '../history/records.ts';
import type { MemberClient } from './member-client.ts';
import type { WorkloadContext } from './workload.ts';

/** Longest time that a healed cluster may take to serve a request. */
const HEALED_DEADLINE_MS = 60_000;

/** How long pops wait for messages. */
export const POP_WAIT_MS = 1000;

/** Repeats a request that may be repeated until it is answered 2xx. */
export async function insist(
  what: string,
  request: () => Promise<{ readonly outcome: Outcome<Answer> }>,
): Promise<Answer> {
  return eventually(
    what,
    async () => {
      const { outcome } = await request();
      if (outcome.kind === 'ok') return outcome.value;
      throw new Error(outcome.reason);
    },
    HEALED_DEADLINE_MS,
  );
}

/** Creates a queue while all members are well. */
export async function createQueue(
  context: WorkloadContext,
  queue: string,
  options: Readonly<Record<string, number>>,
): Promise<void> {
  const client = context.client();
  const body = { queue, options };
  await insist(`queue ${queue}`, () => client.ask('POST', '/api/v1/configure', { body }));
  client.close();
}

/** One message under a lease of its own. */
export interface TakenMessage extends Pick<Batch, 'partitionId' | 'leaseId'> {
  readonly message: Message;
}

/** Pops one message; undefined if none came. */
export async function takeOne(
  client: MemberClient,
  queue: string,
): Promise<TakenMessage | undefined> {
  const path = `/api/v1/pop/queue/${queue}?batch=1&wait=true&timeout=${POP_WAIT_MS}`;
  const { outcome } = await client.ask('GET', path);
  if (outcome.kind !== 'ok' || outcome.value.status === 204) return undefined;
  const { partitionId, leaseId, messages } = JSON.parse(outcome.value.text) as Batch;
  const [message] = messages;
  if (message === undefined) throw new Error('a batch without a message');
  return { partitionId, leaseId, message };
}

/**
 * Repeats `step`, which says whether it found something, until it has found nothing for two lease times:
 * then no forgotten lease can bring anything back.
 */
export async function untilEmpty(
  leaseSeconds: number,
  step: () => Promise<boolean>,
): Promise<void> {
  const emptyMs = leaseSeconds * 1000 * 2;
  let emptySinceMs = performance.now();
  while (performance.now() - emptySinceMs < emptyMs) {
    if (await step()) emptySinceMs = performance.now();
  }
}
