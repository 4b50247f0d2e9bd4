import { describe, expect, it } from 'vitest';
import { DEFAULT_TENANT, QUEUE_MODE_GROUP } from '../limits.ts';
import { parsePop } from './pop.ts';
import type { PopContext, PopPath, PopRequest } from './pop.ts';

const QUEUE: PopPath = { kind: 'queue', queue: 'orders' };
const PINNED: PopPath = { kind: 'partition', queue: 'orders', partition: 'p' };
const LABELS: PopPath = { kind: 'labels' };

function parse(
  path: PopPath,
  query: Readonly<Record<string, string>>,
  change: Partial<PopContext> = {},
): ReturnType<typeof parsePop> {
  return parsePop(path, (name) => (Object.hasOwn(query, name) ? query[name] : undefined), {
    mintIds: () => [1, 2, 3, 4],
    tenant: DEFAULT_TENANT,
    defaultTimeoutMs: 30_000,
    defaultSubscriptionMode: 'all',
    ...change,
  });
}

function request(
  path: PopPath,
  query: Readonly<Record<string, string>>,
  change: Partial<PopContext> = {},
): PopRequest {
  const parsed = parse(path, query, change);
  if (parsed.kind !== 'request') throw new Error(`not a pop: ${JSON.stringify(parsed)}`);
  return parsed;
}

describe('parsePop', () => {
  it('has the defaults of the reference', () => {
    expect(request(QUEUE, {})).toEqual({
      kind: 'request',
      wait: false,
      timeoutMs: 30_000,
      command: {
        kind: 'pop',
        scope: QUEUE,
        group: QUEUE_MODE_GROUP,
        leaseId: [1, 2, 3, 4],
        batch: 200,
        partitions: 1,
        autoAck: false,
        leaseSeconds: 0,
        subscription: { mode: 'all' },
        conflation: undefined,
      },
    });
  });

  it('reads every parameter', () => {
    const parsed = request(QUEUE, {
      batch: '50',
      partitions: '4',
      wait: 'true',
      timeout: '10000',
      leaseSeconds: '120',
      consumerGroup: 'billing',
      subscriptionFrom: '2026-01-01T00:00:00Z',
      conflation: 'false',
      autopilot: 'true',
      unknown: 'x',
    });
    expect(parsed).toMatchObject({
      wait: true,
      timeoutMs: 10_000,
      command: {
        batch: 50,
        partitions: 4,
        leaseSeconds: 120,
        group: 'billing',
        subscription: { mode: 'from', fromUs: Date.UTC(2026, 0, 1) * 1000 },
        conflation: false,
      },
    });
  });

  it.each([
    ['batch', '0', { batch: 1 }],
    ['batch', '-5', { batch: 1 }],
    ['partitions', '0', { partitions: 0 }],
    ['partitions', '-1', { partitions: 0 }],
    ['partitions', '1000', { partitions: 1000 }],
    ['leaseSeconds', '0', { leaseSeconds: 0 }],
    ['leaseSeconds', '-3', { leaseSeconds: 0 }],
    ['autoAck', 'true', { autoAck: true, leaseId: [0, 0, 0, 0] }],
    ['commitOnDelivery', 'true', { autoAck: true, leaseId: [0, 0, 0, 0] }],
    ['consumerGroup', '', { group: '' }],
  ])('%s=%s', (name, value, expected) => {
    expect(request(QUEUE, { [name]: value }).command).toMatchObject(expected);
  });

  it.each([
    ['0', 1],
    ['00000000000000000000000000002', 2],
    ['600000', 600_000],
    ['600001', 600_000],
    ['18446744073709551615', 600_000],
  ])('timeout=%s', (timeout, expected) => {
    expect(request(QUEUE, { timeout }).timeoutMs).toBe(expected);
  });

  it('either spelling of commit on delivery wins, and a pinned pop claims one partition', () => {
    expect(request(QUEUE, { autoAck: 'false', commitOnDelivery: 'true' }).command.autoAck).toBe(
      true,
    );
    expect(request(PINNED, { partitions: '9' }).command).toMatchObject({
      scope: PINNED,
      partitions: 1,
    });
  });

  it('reads labels, and refuses a discovery pop without any', () => {
    expect(request(LABELS, { namespace: 'n', wait: 'true' })).toMatchObject({
      wait: true,
      command: { scope: { kind: 'labels', namespace: 'n', task: '' } },
    });
    expect(request(LABELS, { task: 't' }).command.scope).toMatchObject({ task: 't' });
    expect(parse(LABELS, { namespace: '' })).toEqual({
      kind: 'popRefused',
      message: 'namespace or task is required',
    });
  });

  it.each([
    [{ subscriptionMode: 'new' }, { mode: 'new' }],
    [{ subscriptionMode: ' New-Only ' }, { mode: 'new' }],
    [{ subscriptionMode: 'new_only' }, { mode: 'new' }],
    [{ subscriptionMode: 'NEWONLY' }, { mode: 'new' }],
    [{ subscriptionMode: 'all' }, { mode: 'all' }],
    [{ subscriptionMode: 'whatever' }, { mode: 'all' }],
    [{ subscriptionFrom: 'NOW' }, { mode: 'new' }],
    [{ subscriptionFrom: 'now', subscriptionMode: 'all' }, { mode: 'new' }],
    [
      { subscriptionFrom: '1970-01-01', subscriptionMode: 'new' },
      { mode: 'from', fromUs: 0 },
    ],
    [{ subscriptionFrom: 'yesterday', subscriptionMode: 'new' }, { mode: 'new' }],
    [{ subscriptionFrom: '' }, { mode: 'all' }],
  ])('subscription of %j', (query, expected) => {
    const { command } = request(QUEUE, { consumerGroup: 'g', ...query });
    expect(command.subscription).toEqual(expected);
  });

  it('takes the default mode from the configuration, but never for queue mode', () => {
    const change: Partial<PopContext> = { defaultSubscriptionMode: 'new', defaultTimeoutMs: 5 };
    expect(request(QUEUE, { consumerGroup: 'g' }, change)).toMatchObject({
      timeoutMs: 5,
      command: { subscription: { mode: 'new' } },
    });
    expect(request(QUEUE, {}, change).command.subscription).toEqual({ mode: 'all' });
    const queueMode = { subscriptionFrom: 'now', subscriptionMode: 'new' };
    expect(request(QUEUE, queueMode).command.subscription).toEqual({ mode: 'all' });
  });

  it('conflates for named groups without commit on delivery, as wide as the batch up to 64', () => {
    const group = { consumerGroup: 'g', conflation: 'true' };
    expect(request(QUEUE, group).command).toMatchObject({ conflation: true, partitions: 64 });
    expect(request(QUEUE, { ...group, batch: '7' }).command.partitions).toBe(7);
    expect(request(QUEUE, { ...group, partitions: '3' }).command.partitions).toBe(3);
    expect(parse(QUEUE, { conflation: 'true' })).toMatchObject({ kind: 'popRefused' });
    expect(parse(QUEUE, { ...group, autoAck: 'true' })).toEqual({
      kind: 'popRefused',
      message: 'conflation cannot be combined with autoAck or commitOnDelivery',
    });
  });

  it.each([
    ['wait', '1'],
    ['wait', ''],
    ['autoAck', 'True'],
    ['commitOnDelivery', 'yes'],
    ['conflation', '0'],
    ['autopilot', 'on'],
    ['batch', ''],
    ['batch', '1.5'],
    ['batch', '2147483648'],
    ['batch', ' 1'],
    ['batch', '1e3'],
    ['partitions', '-2147483649'],
    ['leaseSeconds', 'ten'],
    ['timeout', '-1'],
    ['timeout', '18446744073709551616'],
    ['consumerGroup', '\ud800'],
  ])('a bad %s=%j is a plain-text 400 that names it', (name, value) => {
    const parsed = parse(QUEUE, { [name]: value });
    expect(parsed.kind).toBe('badQuery');
    expect((parsed as { message: string }).message).toContain(name);
  });

  it('holds names to the budget', () => {
    const path = (queue: number, partition: number): PopPath => ({
      kind: 'partition',
      queue: 'q'.repeat(queue),
      partition: 'p'.repeat(partition),
    });
    expect(parse(path(11, 400), { consumerGroup: 'g'.repeat(400) }).kind).toBe('request');
    expect(parse(path(12, 400), {})).toMatchObject({ kind: 'refused', code: 'name_too_long' });
    expect(parse(path(12, 1), { consumerGroup: 'g'.repeat(400) })).toMatchObject({
      kind: 'refused',
      message: expect.stringMatching(/^consumerGroup is too long/) as string,
    });
  });
});
