import { decodeUtf8, encodeUtf8, formatUuid, readIdWords } from '@queen-ts/base';
import type { Id128 } from '@queen-ts/base';
import { describe, expect, test } from 'vitest';
import { renderRolledBack, renderTransaction } from '../answers/transaction.ts';
import { ACK_LEASE, ACK_STATUS, PUSH_ITEM } from '../commands.ts';
import { ACK_ITEMS_MAX, QUEUE_MODE_GROUP } from '../limits.ts';
import type { AckOutcome, PushOutcome } from '../outcomes.ts';
import { partitionIdText } from '../partition-id.ts';
import { parseTransaction } from './transaction.ts';
import type { TransactionRequest } from './transaction.ts';

const LEASE_A = '01a00000-0000-7000-8000-00000000000a';
const LEASE_B = '01a00000-0000-7000-8000-00000000000b';
const TRACE = '0123e4d5-6789-4abc-8def-0123456789ab';
const PARTITION = partitionIdText(4);

function parse(body: unknown) {
  let minted = 0;
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return parseTransaction(encodeUtf8(text), {
    hashKey: Uint32Array.of(1, 2, 3, 4),
    mintIds: (count): Id128 => {
      minted += count;
      return [0x01a0_0000, 0x0000_7000, 0x8000_0000, minted];
    },
    producerSub: null,
    tenant: 't',
  });
}

function request(body: unknown): TransactionRequest {
  const parsed = parse(body);
  if (parsed.kind !== 'request') throw new Error(JSON.stringify(parsed));
  return parsed;
}

/** Status and reason of a body that is no transaction; the code of a refusal. */
function problem(body: unknown): string {
  const parsed = parse(body);
  if (parsed.kind === 'request') return 'accepted';
  return parsed.kind === 'refused' ? parsed.code : `${parsed.status} ${parsed.reason}`;
}

function ack(fields: object = {}): object {
  return { type: 'ack', transactionId: 'm', partitionId: PARTITION, ...fields };
}

/** Leases of all acks, in order. */
function leases({ command }: TransactionRequest): (string | undefined)[] {
  return command.acks.flatMap(({ itemCount, leaseKinds, leaseIds }) =>
    Array.from({ length: itemCount }, (_, item) =>
      leaseKinds[item] === ACK_LEASE.NAMED
        ? formatUuid(readIdWords(leaseIds, item * 4))
        : leaseKinds[item] === ACK_LEASE.NONE
          ? undefined
          : 'malformed',
    ),
  );
}

describe('the operations of a transaction', () => {
  test('become one push and one ack for each group, in the order of the request', () => {
    const { command, echo } = request({
      operations: [
        ack({ transactionId: 'a', consumerGroup: 'g', status: 'retry' }),
        {
          type: 'push',
          items: [
            { queue: 'q', payload: 1 },
            { queue: 'r', payload: [2] },
          ],
        },
        ack({ transactionId: 'b', consumerGroup: null }),
        { type: 'push', queue: 'q', partition: 'p', payload: '3', transactionId: 'x' },
        ack({ transactionId: 'c', consumerGroup: 'g', status: 'dlq', error: 'why' }),
      ],
    });
    expect(command.acks.map(({ group, itemCount }) => [group, itemCount])).toEqual([
      ['g', 2],
      [QUEUE_MODE_GROUP, 1],
    ]);
    expect([...command.acks[0]!.statuses]).toEqual([ACK_STATUS.RETRY, ACK_STATUS.DLQ]);
    expect(command.acks[0]!.errors).toEqual([null, 'why']);
    expect(command.push).toMatchObject({ itemCount: 3, queues: ['q', 'r'] });
    expect([...echo.sources]).toEqual([0, -1, -1, 1, -1, 0]);
    expect([...echo.positions]).toEqual([0, 0, 1, 0, 2, 1]);
  });

  test('keep payloads as they were sent', () => {
    const text = '{ "n":1.0,"n":9007199254740993 }';
    const { command } = request(`{"operations":[{"payload":${text},"queue":"q","type":"push"}]}`);
    const { body, itemColumns } = command.push!;
    const start = itemColumns[PUSH_ITEM.PAYLOAD_START]!;
    const end = start + itemColumns[PUSH_ITEM.PAYLOAD_LENGTH]!;
    expect(decodeUtf8(body, start, end)).toBe(text);
  });

  test('keep trace ids that are UUIDs and ignore others', () => {
    const { command } = request({
      operations: [
        { type: 'push', queue: 'q', payload: 1 },
        { type: 'push', queue: 'q', payload: 1, traceId: TRACE },
        { type: 'push', items: [{ queue: 'q', payload: 1, traceId: 'no uuid' }] },
      ],
    });
    const { traceIds } = command.push!;
    const texts = [0, 1, 2].map((item) => formatUuid(readIdWords(traceIds!, item * 4)));
    expect(texts).toEqual([formatUuid([0, 0, 0, 0]), TRACE, formatUuid([0, 0, 0, 0])]);
    expect(
      request({ operations: [{ type: 'push', queue: 'q', payload: 1 }] }).command.push,
    ).not.toHaveProperty('traceIds');
  });

  test('collapse repeats over all push operations', () => {
    const item = { queue: 'q', payload: 1, transactionId: 'x' };
    const { command } = request({
      operations: [
        { type: 'push', items: [item] },
        { type: 'push', ...item },
      ],
    });
    const firsts = [0, 1].map(
      (position) =>
        command.push!.itemColumns[position * PUSH_ITEM.WIDTH + PUSH_ITEM.FIRST_POSITION],
    );
    expect(firsts).toEqual([0, 0]);
  });
});

describe('the lease of an ack in a transaction', () => {
  test('is its own', () => {
    const operations = [ack({ leaseId: LEASE_A }), ack({ leaseId: LEASE_B }), ack()];
    expect(leases(request({ operations }))).toEqual([LEASE_A, LEASE_B, undefined]);
  });

  test('is the only one that the request names, wherever', () => {
    const operations = [ack({ leaseId: LEASE_A }), ack(), ack({ consumerGroup: 'g', leaseId: '' })];
    expect(leases(request({ operations }))).toEqual([LEASE_A, LEASE_A, LEASE_A]);
    expect(leases(request({ operations: [ack()], requiredLeases: [LEASE_B] }))).toEqual([LEASE_B]);
    const upper = { operations: [ack({ leaseId: LEASE_A }), ack()] };
    expect(leases(request({ ...upper, requiredLeases: [LEASE_A.toUpperCase()] }))).toEqual([
      LEASE_A,
      LEASE_A,
    ]);
  });

  test('is none when the request names several, or none', () => {
    const operations = [ack()];
    expect(leases(request({ operations, requiredLeases: [LEASE_A, LEASE_B] }))).toEqual([
      undefined,
    ]);
    expect(leases(request({ operations, requiredLeases: [] }))).toEqual([undefined]);
  });

  test('matches nothing when the only one named is no lease id', () => {
    expect(leases(request({ operations: [ack()], requiredLeases: ['x'] }))).toEqual(['malformed']);
    expect(leases(request({ operations: [ack({ leaseId: 'x' }), ack()] }))).toEqual([
      'malformed',
      'malformed',
    ]);
  });
});

describe('a transaction that makes no sense', () => {
  test.each([
    ['malformed JSON', '{"operations":[', '400 bad_request'],
    ['no object', '[]', '400 bad_request'],
    ['operations that are no array', { operations: {} }, '400 bad_request'],
    [
      'requiredLeases that are no array',
      { operations: [ack()], requiredLeases: 'x' },
      '400 bad_request',
    ],
    ['a lease that is no text', { operations: [ack()], requiredLeases: [1] }, '400 bad_request'],
    ['an operation that is no object', { operations: [1] }, '400 bad_request'],
    ['an operation without a type', { operations: [{ queue: 'q' }] }, '400 bad_request'],
    ['an unknown type', { operations: [{ type: 'kv' }] }, '400 bad_request'],
    ['items that are no array', { operations: [{ type: 'push', items: 1 }] }, '400 bad_request'],
    ['key-value riders', { operations: [ack()], kv: [{}] }, '400 not_supported'],
    ['timer riders', { timers: [{}] }, '400 not_supported'],
    ['position riders', { positions: [{}] }, '400 not_supported'],
    ['nothing to do', {}, '200 bad_request'],
    ['empty operations', { operations: [], kv: [], timers: [], positions: [] }, '200 bad_request'],
    [
      'an inline push without a payload',
      { operations: [{ type: 'push', queue: 'q' }] },
      '200 bad_request',
    ],
    ['a partition id that is none', { operations: [ack({ partitionId: 'x' })] }, '200 bad_request'],
    [
      'a name that is too long',
      { operations: [{ type: 'push', queue: 'q'.repeat(500), payload: 1 }] },
      'name_too_long',
    ],
    [
      'a group name that is too long',
      { operations: [ack({ consumerGroup: 'g'.repeat(500) })] },
      'name_too_long',
    ],
    [
      'a transaction id that is too long',
      { operations: [{ type: 'push', queue: 'q', payload: 1, transactionId: 'x'.repeat(70_000) }] },
      'bad_request',
    ],
    [
      'more acks than one pop can deliver',
      { operations: Array.from({ length: ACK_ITEMS_MAX + 1 }, () => ack()) },
      'too_large',
    ],
  ])('%s', (_, body, expected) => {
    expect(problem(body)).toBe(expected);
  });

  test('is answered as rolled back', () => {
    const parsed = parse({});
    if (parsed.kind !== 'rolledBack') throw new Error(parsed.kind);
    const bytes = renderRolledBack(parsed);
    expect(JSON.parse(decodeUtf8(bytes, 0, bytes.length)!)).toEqual({
      transactionId: formatUuid(parsed.transactionId),
      success: false,
      reason: 'bad_request',
      error: parsed.message,
      results: [],
    });
  });
});

describe('the answer of a committed transaction', () => {
  test('has one result for each part, in request order', () => {
    const parsed = request({
      operations: [
        {
          type: 'push',
          items: [
            { queue: 'q', payload: 1 },
            { queue: 'r', payload: 2, transactionId: 'ü"' },
          ],
        },
        ack({ transactionId: 'm\u00e4' }),
        { type: 'push', queue: 'r', payload: 2, transactionId: 'ü"' },
      ],
    });
    const push: PushOutcome = {
      kind: 'push',
      statuses: Uint8Array.of(0, 0, 1),
      offsets: Float64Array.of(0, 0, 0),
      messageIds: Uint32Array.of(1, 0, 0, 1, 1, 0, 0, 2, 1, 0, 0, 2),
      errors: undefined,
    };
    const acked: AckOutcome = {
      kind: 'ack',
      errors: Uint8Array.of(0),
      leaseReleased: Uint8Array.of(1),
      deadLettered: Uint8Array.of(1),
      noops: Uint8Array.of(0),
      statuses: [ACK_STATUS.DLQ],
    };
    const { transactionId } = parsed.command;
    const outcome = { kind: 'transaction', transactionId, acks: [acked], push } as const;
    const bytes = renderTransaction(outcome, parsed);
    const id = (low: number): string => formatUuid([1, 0, 0, low]);
    const second = {
      type: 'push',
      success: true,
      transactionId: 'ü"',
      messageId: id(2),
      queueName: 'r',
    };
    expect(JSON.parse(decodeUtf8(bytes, 0, bytes.length)!)).toEqual({
      transactionId: formatUuid(transactionId),
      success: true,
      results: [
        {
          index: 0,
          type: 'push',
          success: true,
          transactionId: id(1),
          messageId: id(1),
          queueName: 'q',
        },
        { index: 1, ...second },
        { index: 2, type: 'ack', success: true, transactionId: 'mä', error: null, dlq: true },
        { index: 3, ...second, duplicate: true },
      ],
    });
  });
});
