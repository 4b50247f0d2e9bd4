import { SeededRng } from '@queen-ts/base';
import { describe, expect, it } from 'vitest';
import { PUSH_STATUS } from '../outcomes.ts';
import type { PushOutcome } from '../outcomes.ts';
import type { PushCommand } from '../commands.ts';
import { parsePush } from '../requests/push.ts';
import { JsonWriter } from './json-writer.ts';
import { renderPush } from './push.ts';

const ENCODER = new TextEncoder();
const DECODER = new TextDecoder();

function commandOf(items: readonly object[]): PushCommand {
  const parsed = parsePush(ENCODER.encode(JSON.stringify({ items })), {
    hashKey: new Uint32Array(4),
    mintIds: () => [1, 2, 3, 4],
    producerSub: null,
    tenant: 't',
  });
  if (parsed.kind !== 'push') throw new Error(`not a push: ${JSON.stringify(parsed)}`);
  return parsed;
}

function outcomeOf(count: number, change: Partial<PushOutcome> = {}): PushOutcome {
  const messageIds = new Uint32Array(count * 4);
  for (let i = 0; i < count; i++) messageIds.set([0x0198f2c1, 0x4d3a7c10, 0x9f2b6a1e, i], i * 4);
  return {
    kind: 'push',
    statuses: new Uint8Array(count),
    offsets: Float64Array.from({ length: count }, (_, i) => i),
    messageIds,
    errors: undefined,
    ...change,
  };
}

describe('renderPush', () => {
  it('has the keys of the reference, in their order', () => {
    const body = renderPush(
      outcomeOf(1),
      commandOf([{ queue: 'orders', payload: 1, transactionId: 't-1' }]),
    );
    expect(DECODER.decode(body)).toBe(
      '[{"index":0,"message_id":"0198f2c1-4d3a-7c10-9f2b-6a1e00000000",' +
        '"transaction_id":"t-1","queueName":"orders","status":"queued","offset":0}]',
    );
  });

  it('answers the message id as the transaction id of an item that sent none', () => {
    const body = renderPush(outcomeOf(1), commandOf([{ queue: 'q', payload: 1 }]));
    expect(JSON.parse(DECODER.decode(body))).toMatchObject([
      {
        message_id: '0198f2c1-4d3a-7c10-9f2b-6a1e00000000',
        transaction_id: '0198f2c1-4d3a-7c10-9f2b-6a1e00000000',
      },
    ]);
  });

  it('keeps request order over several queues and renders duplicates and errors', () => {
    const command = commandOf([
      { queue: 'b"1', partition: 'p', payload: 1, transactionId: 'x' },
      { queue: 'a', payload: 1, transactionId: '' },
      { queue: 'b"1', partition: 'p', payload: 1, transactionId: 'x' },
    ]);
    const outcome = outcomeOf(3, {
      statuses: Uint8Array.of(PUSH_STATUS.QUEUED, PUSH_STATUS.ERROR, PUSH_STATUS.DUPLICATE),
      offsets: Float64Array.of(Number.MAX_SAFE_INTEGER, 0, 10),
      errors: new Map([[1, { code: 'too_large', message: 'say "when"' }]]),
    });
    const answer = JSON.parse(DECODER.decode(renderPush(outcome, command))) as unknown[];
    expect(answer).toEqual([
      {
        index: 0,
        message_id: '0198f2c1-4d3a-7c10-9f2b-6a1e00000000',
        transaction_id: 'x',
        queueName: 'b"1',
        status: 'queued',
        offset: Number.MAX_SAFE_INTEGER,
      },
      {
        index: 1,
        message_id: '0198f2c1-4d3a-7c10-9f2b-6a1e00000001',
        transaction_id: '',
        queueName: 'a',
        status: 'error',
        error: 'say "when"',
        code: 'too_large',
      },
      {
        index: 2,
        message_id: '0198f2c1-4d3a-7c10-9f2b-6a1e00000002',
        transaction_id: 'x',
        queueName: 'b"1',
        status: 'duplicate',
        offset: 10,
      },
    ]);
  });
});

describe('JsonWriter', () => {
  it('escapes random text as JSON.parse reads it', () => {
    const rng = new SeededRng(8);
    for (let run = 0; run < 2000; run++) {
      const text = String.fromCodePoint(
        ...Array.from({ length: rng.u32() % 20 }, () =>
          rng.u32() % 2 === 0 ? rng.u32() % 0x80 : 0xe000 + (rng.u32() % 0x10000),
        ),
      );
      const bytes = ENCODER.encode(`<${text}>`);
      const writer = new JsonWriter(1);
      writer.raw(ENCODER.encode('"'));
      writer.text(bytes, 1, bytes.length - 1);
      writer.raw(ENCODER.encode('"'));
      expect(JSON.parse(DECODER.decode(writer.finish()))).toBe(text);
    }
  });

  it('writes integers of every length and instants', () => {
    const values = [0, 9, 10, 99, 100, 12_345, 2 ** 32, Number.MAX_SAFE_INTEGER];
    const writer = new JsonWriter(0);
    for (const value of values) {
      writer.integer(value);
      writer.raw(ENCODER.encode(','));
    }
    writer.timestampUs(0);
    const expected = `${values.join(',')},1970-01-01T00:00:00.000000Z`;
    expect(DECODER.decode(writer.finish())).toBe(expected);
  });
});
