import { hash128, parseUuid } from '@queen-ts/base';
import { describe, expect, it } from 'vitest';
import { ACK_LEASE, ACK_STATUS, NO_PARTITION } from '../commands.ts';
import {
  ACK_ERROR_TEXT_LENGTH_MAX,
  ACK_ITEMS_MAX,
  DEFAULT_TENANT,
  QUEUE_MODE_GROUP,
} from '../limits.ts';
import { partitionIdText } from '../partition-id.ts';
import { AckItems } from './ack-items.ts';
import { parseAck } from './ack.ts';
import type { AckRequest } from './ack.ts';

const ENCODER = new TextEncoder();
const DECODER = new TextDecoder();
const HASH_KEY = Uint32Array.of(4, 3, 2, 1);
const LEASE = '0198f2c1-9a7b-7d20-8e31-4c5d6e7f8a90';

/** Shared on purpose: nothing of one request may show in the next. */
const scratch = new AckItems();

function parse(body: unknown): ReturnType<typeof parseAck> {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return parseAck(ENCODER.encode(text), { hashKey: HASH_KEY, tenant: DEFAULT_TENANT, scratch });
}

function request(body: unknown): AckRequest {
  const parsed = parse(body);
  if (parsed.kind !== 'request') throw new Error(`not an ack: ${JSON.stringify(parsed)}`);
  return parsed;
}

function hashOf(text: string): number[] {
  const bytes = ENCODER.encode(text);
  const out = new Uint32Array(4);
  hash128(HASH_KEY, bytes, 0, bytes.length, out, 0);
  return [...out];
}

function echoes({ echo }: AckRequest): string[] {
  return Array.from({ length: echo.spans.length / 2 }, (_, i) => {
    const start = echo.spans[i * 2]!;
    return DECODER.decode(echo.body.subarray(start, start + echo.spans[i * 2 + 1]!));
  });
}

describe('parseAck', () => {
  it('reads a single ack', () => {
    const single = request({
      transactionId: LEASE,
      partitionId: partitionIdText(17),
      consumerGroup: 'billing',
      leaseId: LEASE,
      status: 'failed',
      error: 'boom "ä"',
    });
    expect(single.command).toMatchObject({ kind: 'ack', group: 'billing', itemCount: 1 });
    expect([...single.command.partitions]).toEqual([17]);
    expect([...single.command.leaseKinds]).toEqual([ACK_LEASE.NAMED]);
    expect([...single.command.leaseIds]).toEqual([...parseUuid(LEASE)!]);
    expect([...single.command.txnHashes]).toEqual(hashOf(LEASE));
    expect([...single.command.txnUuids]).toEqual([...parseUuid(LEASE)!]);
    expect([...single.command.statuses]).toEqual([ACK_STATUS.FAILED]);
    expect(single.command.errors).toEqual(['boom "ä"']);
    expect(echoes(single)).toEqual([`"${LEASE}"`]);
  });

  it('reads a batch; the group of an item does not count', () => {
    const batch = request({
      consumerGroup: null,
      acknowledgments: [
        { transactionId: 'a', partitionId: '4', consumerGroup: 'other' },
        { transactionId: 'b\n', partitionId: '5', leaseId: '', status: null, error: null },
      ],
    });
    expect(batch.command).toMatchObject({ group: QUEUE_MODE_GROUP, itemCount: 2 });
    expect([...batch.command.partitions]).toEqual([4, 5]);
    expect([...batch.command.leaseKinds]).toEqual([ACK_LEASE.NONE, ACK_LEASE.NONE]);
    expect([...batch.command.txnHashes]).toEqual([...hashOf('a'), ...hashOf('b\n')]);
    expect([...batch.command.txnUuids]).toEqual(Array<number>(8).fill(0));
    expect([...batch.command.statuses]).toEqual([ACK_STATUS.COMPLETED, ACK_STATUS.COMPLETED]);
    expect(batch.command.errors).toBeUndefined();
    expect(echoes(batch)).toEqual(['"a"', '"b\\n"']);
  });

  it.each([
    ['completed', ACK_STATUS.COMPLETED],
    ['success', ACK_STATUS.COMPLETED],
    ['acked', ACK_STATUS.COMPLETED],
    ['OK', ACK_STATUS.COMPLETED],
    ['Failed', ACK_STATUS.FAILED],
    ['RETRY', ACK_STATUS.RETRY],
    ['dLq', ACK_STATUS.DLQ],
    ['', ACK_STATUS.UNKNOWN],
    ['done', ACK_STATUS.UNKNOWN],
    ['completed ', ACK_STATUS.UNKNOWN],
    ['x'.repeat(500), ACK_STATUS.UNKNOWN],
    [7, ACK_STATUS.UNKNOWN],
    [true, ACK_STATUS.UNKNOWN],
    [null, ACK_STATUS.COMPLETED],
  ])('status %j', (status, expected) => {
    expect(request({ status }).command.statuses[0]).toBe(expected);
  });

  it('reads an escaped spelling of every field', () => {
    const body =
      String.raw`{"acknowledgments":[{"transaction\u0049d":"\u0074","partitionId":"\u0037",` +
      String.raw`"leaseId":"\u0030${LEASE.slice(1)}","status":"\u0064lq","error":"\u0041"}]}`;
    const { command, echo } = request(body);
    expect([...command.txnHashes]).toEqual(hashOf('t'));
    expect([...command.partitions]).toEqual([7]);
    expect([...command.leaseIds]).toEqual([...parseUuid(LEASE)!]);
    expect([...command.statuses]).toEqual([ACK_STATUS.DLQ]);
    expect(command.errors).toEqual(['A']);
    expect(echoes({ kind: 'request', command, echo })).toEqual([String.raw`"\u0074"`]);
  });

  it('fails items, not the request, for values that mean nothing', () => {
    const { command, echo } = request({
      acknowledgments: [
        {},
        { transactionId: 5, partitionId: 4, leaseId: 4 },
        { transactionId: 'x', partitionId: 'abc', leaseId: 'nope' },
        { transactionId: 'z'.repeat(36), partitionId: '', leaseId: `g${LEASE.slice(1)}` },
        { transactionId: '\ud800', partitionId: '0', leaseId: null },
      ],
    });
    expect([...command.partitions]).toEqual(Array<number>(5).fill(NO_PARTITION));
    expect([...command.leaseKinds]).toEqual([
      ACK_LEASE.NONE,
      ACK_LEASE.MALFORMED,
      ACK_LEASE.MALFORMED,
      ACK_LEASE.MALFORMED,
      ACK_LEASE.NONE,
    ]);
    expect([...command.leaseIds]).toEqual(Array<number>(20).fill(0));
    expect([...command.txnUuids]).toEqual(Array<number>(20).fill(0));
    expect([...command.txnHashes.subarray(0, 8)]).toEqual(Array<number>(8).fill(0));
    expect([...command.txnHashes.subarray(16)]).toEqual([0, 0, 0, 0]);
    expect(echoes({ kind: 'request', command, echo }).slice(0, 3)).toEqual(['', '', '"x"']);
  });

  it('refuses more items than one pop can deliver, without reading them all', () => {
    const acknowledgments = Array.from({ length: ACK_ITEMS_MAX }, () => ({}));
    expect(request({ acknowledgments }).command.itemCount).toBe(ACK_ITEMS_MAX);
    const refused = parse(JSON.stringify({ acknowledgments: [...acknowledgments, 7, {}] }));
    expect(refused).toMatchObject({ kind: 'refused', code: 'too_large' });
  });

  it('keeps error texts: other types as JSON, long ones cut', () => {
    const long = 'e'.repeat(ACK_ERROR_TEXT_LENGTH_MAX + 1);
    const errors = ['a\n', null, { code: 1 }, long, '\ud800', ''];
    const { command } = request({ acknowledgments: errors.map((error) => ({ error })) });
    expect(command.errors).toEqual([
      'a\n',
      null,
      '{"code":1}',
      `${long.slice(0, ACK_ERROR_TEXT_LENGTH_MAX - 1)}…`,
      '\ufffd',
      '',
    ]);
  });

  it('takes the body itself for the item when there is no array', () => {
    expect(request('{}').command.itemCount).toBe(1);
    expect(request('{"acknowledgments":null,"partitionId":"3"}').command.partitions[0]).toBe(3);
    const last = request('{"acknowledgments":[1],"acknowledgments":null,"partitionId":"3"}');
    expect(last.command.itemCount).toBe(1);
    expect(parse('{"acknowledgments":[]}')).toEqual({ kind: 'nothing' });
  });

  it('lets the last of repeated members count', () => {
    const { command } = request(
      '{"acknowledgments":[{},{},{}],"consumerGroup":"a","acknowledgments":' +
        '[{"partitionId":"1","partitionId":"2"}],"consumerGroup":"b"}',
    );
    expect(command).toMatchObject({ itemCount: 1, group: 'b' });
    expect([...command.partitions]).toEqual([2]);
  });

  it.each([
    [7, QUEUE_MODE_GROUP],
    [['x'], QUEUE_MODE_GROUP],
    [null, QUEUE_MODE_GROUP],
    ['', ''],
    ['ä\n', 'ä\n'],
  ])('consumerGroup %j', (consumerGroup, expected) => {
    expect(request({ consumerGroup }).command.group).toBe(expected);
  });

  it('keeps growing columns apart from the request before', () => {
    const many = Array.from({ length: 300 }, (_, i) => ({
      transactionId: `t${i}`,
      partitionId: String(i + 1),
      leaseId: LEASE,
    }));
    const first = request({ acknowledgments: many });
    const second = request({ acknowledgments: many.map(() => ({})) });
    expect([...first.command.partitions]).toEqual(many.map((_, i) => i + 1));
    expect(echoes(first)[299]).toBe('"t299"');
    expect(second.command.leaseIds.every((word) => word === 0)).toBe(true);
    expect(second.command.itemCount).toBe(300);
  });

  it.each([
    ['', 'bad_body', /not valid JSON: expected a JSON value at byte 0/],
    ['[]', 'bad_body', /must be an object/],
    ['{"acknowledgments":{}}', 'bad_body', /"acknowledgments" must be an array/],
    ['{"acknowledgments":[{},3]}', 'bad_body', /^acknowledgments\[1\] must be an object/],
    ['{"acknowledgments":[{},3}', 'bad_body', /not valid JSON/],
    ['{"a":1', 'bad_body', /not valid JSON/],
    ['{} {}', 'bad_body', /the end of the body/],
    ['{"consumerGroup":"\\ud800"}', 'bad_body', /unpaired surrogate/],
    [`{"consumerGroup":"${'g'.repeat(412)}"}`, 'name_too_long', /^consumerGroup is too long/],
  ])('refuses %j', (body, code, message) => {
    const parsed = parse(body);
    expect(parsed).toMatchObject({ kind: 'refused', code });
    expect((parsed as { message: string }).message).toMatch(message);
  });
});
