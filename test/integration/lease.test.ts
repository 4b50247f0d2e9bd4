// Extending leases.

import { describe, expect, it } from 'vitest';
import { expectJson } from '../support/http-client.ts';
import { useBroker } from '../support/use-broker.ts';
import type { Batch, Extension, PopQuery } from '../support/wire.ts';

const UNKNOWN_LEASE = '0198f2c1-9a7b-7d20-8e31-4c5d6e7f8a90';

const broker = useBroker();

async function claimed(partitions: readonly string[], query: PopQuery = {}): Promise<Batch> {
  const queue = broker.queueName();
  await broker.client.push(
    partitions.map((partition) => ({ queue, partition, payload: 0, transactionId: 't' })),
  );
  const batch = await broker.client.pop(queue, { partitions: partitions.length, ...query });
  if (batch === undefined) throw new Error('nothing was claimed');
  return batch;
}

/** Seconds from now until the expiry that the answer names. */
function secondsLeft(extension: Extension): number {
  return (Date.parse(extension.expiresAt ?? '') - Date.now()) / 1000;
}

describe('extending a lease', () => {
  it('answers with the contract keys and covers every partition of the pop', async () => {
    const { leaseId } = await claimed(['a', 'b'], { leaseSeconds: 10 });
    const extension = await broker.client.extend(leaseId, 100);
    expect(Object.keys(extension).join()).toBe(
      'leaseId,success,renewed,newExpiresAt,expiresAt,lease_expires_at',
    );
    expect(extension).toMatchObject({ leaseId, success: true, renewed: 2 });
    expect(secondsLeft(extension)).toBeGreaterThan(90);
    expect(secondsLeft(extension)).toBeLessThan(110);
    const { newExpiresAt, expiresAt, lease_expires_at } = extension;
    expect([newExpiresAt, lease_expires_at]).toEqual([expiresAt, expiresAt]);
  });

  it('keeps the batch from others beyond its first expiry, and lets it be acknowledged', async () => {
    const batch = await claimed(['a'], { leaseSeconds: 1 });
    await broker.client.extend(batch.leaseId, 60);
    const patient = { wait: true, timeout: 2_500 };
    expect(await broker.client.pop(batch.queue, patient)).toBeUndefined();
    const { partitionId, leaseId } = batch;
    expect(await broker.client.ack([{ transactionId: 't', partitionId, leaseId }])).toMatchObject([
      { success: true, leaseReleased: true },
    ]);
  });

  it('never shortens it', async () => {
    const { leaseId } = await claimed(['a'], { leaseSeconds: 300 });
    expect(secondsLeft(await broker.client.extend(leaseId, 5))).toBeGreaterThan(280);
  });

  it.each([
    ['no body', undefined],
    ['an empty object', '{}'],
    ['a body that is no JSON', 'seconds=5'],
    ['seconds of another type', '{"seconds":"5"}'],
  ])('adds a minute with %s', async (_, body) => {
    const { leaseId } = await claimed(['a'], { leaseSeconds: 1 });
    const path = `/api/v1/lease/${leaseId}/extend`;
    const answer = await broker.client.request('POST', path, body === undefined ? {} : { body });
    const extension = expectJson<Extension>(answer, 200);
    expect(secondsLeft(extension)).toBeGreaterThan(50);
    expect(secondsLeft(extension)).toBeLessThan(70);
  });

  it('treats seconds below one as one', async () => {
    const { leaseId } = await claimed(['a'], { leaseSeconds: 1 });
    const extension = await broker.client.extend(leaseId, -5);
    expect(extension.success).toBe(true);
    expect(secondsLeft(extension)).toBeLessThan(3);
  });

  it.each([UNKNOWN_LEASE, 'no lease at all'])('says no to an unknown one: %s', async (leaseId) => {
    expect(await broker.client.extend(leaseId, 60)).toEqual({
      leaseId,
      success: false,
      renewed: 0,
      newExpiresAt: null,
      expiresAt: null,
      lease_expires_at: null,
    });
  });

  it('says no once it has expired or was settled', async () => {
    const expired = await claimed(['a'], { leaseSeconds: 1 });
    const settled = await broker.client.pop(expired.queue, { wait: true, timeout: 10_000 });
    expect((await broker.client.extend(expired.leaseId, 60)).success).toBe(false);
    const { partitionId, leaseId } = settled ?? expired;
    await broker.client.ack([{ transactionId: 't', partitionId, leaseId }]);
    expect((await broker.client.extend(leaseId, 60)).success).toBe(false);
  });
});
