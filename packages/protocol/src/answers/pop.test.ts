import { ByteWriter } from '@queen-ts/base';
import { describe, expect, it } from 'vitest';
import { BLOCK_FLAG } from '../block.ts';
import { payloadOf } from '../block-reader.ts';
import { writeBlock } from '../block-writer.ts';
import type { BlockSpan, Claim, PopOutcome } from '../outcomes.ts';
import { parsePush } from '../requests/push.ts';
import { NO_OPENER } from '../sealing.ts';
import { renderPop, renderPopRefusal } from './pop.ts';

const ENCODER = new TextEncoder();
const DECODER = new TextDecoder();
const LEASE = '0198f2c1-9a7b-7d20-8e31-4c5d6e7f8a90';

/** Stores appends one after the other, as an entry's payload does. */
class Entry {
  readonly #writer = new ByteWriter();

  /** Appends raw items (JSON text) of one group and returns the span of all of them. */
  append(items: string, baseOffset: number, producerSub: string | null = null): BlockSpan {
    const command = parsePush(ENCODER.encode(`{"items":[${items}]}`), {
      hashKey: new Uint32Array(4),
      mintIds: () => [0, 0, 0, 0],
      producerSub,
      tenant: 't',
    });
    if (command.kind !== 'push') throw new Error(JSON.stringify(command));
    const blockStart = this.#writer.length;
    const blockSize = writeBlock(this.#writer, {
      command,
      positions: command.order,
      from: 0,
      toExclusive: command.itemCount,
      partitionNumber: 4,
      baseOffset,
      createdUs: Date.UTC(2026, 6, 30, 11, 2, 44, 512) * 1000 + 873,
      messageId: [0x0198f2c1, 0x4d3a7c10, 0x9f2b6a1e, 0x5d0c7b83],
    });
    const count = command.itemCount;
    return { entryIndex: 1, blockStart, blockSize, baseOffset, first: 0, count };
  }

  get bytes(): Uint8Array {
    return this.#writer.written();
  }

  render(outcome: Partial<PopOutcome>, queue = 'orders'): string | undefined {
    const whole: PopOutcome = {
      kind: 'pop',
      leaseId: [0x0198f2c1, 0x9a7b7d20, 0x8e314c5d, 0x6e7f8a90],
      autoAck: false,
      group: 'billing',
      claims: [],
      messageCount: 0,
      emptyReason: undefined,
      isCut: false,
      conflation: false,
      conflationConflict: false,
      ...outcome,
    };
    const body = rendered(whole, this.bytes, queue);
    return body && DECODER.decode(body);
  }
}

/** Renders plain payloads, which takes one step. */
function rendered(outcome: PopOutcome, bytes: Uint8Array, queue: string): Uint8Array | undefined {
  const source = { payloads: payloadOf(bytes), opener: NO_OPENER, queue };
  const step = renderPop(outcome, source).next();
  if (step.done !== true) throw new Error('a plain payload took a step');
  return step.value;
}

function claimOf(spans: readonly BlockSpan[], change: Partial<Claim> = {}): Claim {
  return {
    queue: 'orders',
    partition: 'cust-42',
    partitionNumber: 4,
    deliveryAttempt: 1,
    spans,
    ...change,
  };
}

describe('renderPop', () => {
  it('has the keys of the reference, in their order', () => {
    const entry = new Entry();
    const span = entry.append('{"queue":"q","transactionId":"t-1","payload":{"n":1}}', 17);
    expect(entry.render({ claims: [claimOf([span])] })).toBe(
      `{"success":true,"queue":"orders","partition":"cust-42",` +
        `"partitionId":"7175656e-7473-8000-8000-000000000004","leaseId":"${LEASE}",` +
        `"consumerGroup":"billing","messages":[` +
        `{"id":"0198f2c1-4d3a-7c10-9f2b-6a1e5d0c7b83","transactionId":"t-1","traceId":null,` +
        `"data":{"n":1},"producerSub":null,"createdAt":"2026-07-30T11:02:44.512873Z",` +
        `"partitionId":"7175656e-7473-8000-8000-000000000004","partition":"cust-42",` +
        `"leaseId":"${LEASE}","consumerGroup":"billing","deliveryAttempt":1,"offset":17}` +
        `],"partitionsClaimed":1}`,
    );
  });

  it('splices payloads verbatim', () => {
    const payloads = [
      '{"n":9007199254740993,"x":1.0}',
      '{"a":1,"a":2,"__proto__":0}',
      '[ 1 ,\t2 ]',
      '"\\ud800\\u00e4"',
    ];
    const entry = new Entry();
    const items = payloads.map((payload) => `{"queue":"q","payload":${payload}}`).join(',');
    const text = entry.render({ claims: [claimOf([entry.append(items, 0)])] })!;
    for (const payload of payloads) expect(text).toContain(`"data":${payload},"producerSub"`);
    expect(() => JSON.parse(text) as unknown).not.toThrow();
  });

  it('orders several claims and spans, each with its own names, ids and offsets', () => {
    const entry = new Entry();
    const a = entry.append('{"queue":"q","payload":0},{"queue":"q","payload":1}', 5, 'me "x"');
    const b = entry.append('{"queue":"q","payload":2,"transactionId":"q\\"\\n"}', 7);
    const text = entry.render(
      {
        group: 'g"1',
        claims: [
          claimOf([{ ...a, first: 1, count: 1 }, b]),
          claimOf([{ ...a, count: 1 }], {
            partition: 'p"2',
            partitionNumber: 9,
            deliveryAttempt: 3,
          }),
        ],
      },
      '',
    )!;
    const answer = JSON.parse(text) as { messages: Record<string, unknown>[] };
    expect(answer).toMatchObject({ queue: '', partition: 'cust-42', partitionsClaimed: 2 });
    expect(answer.messages).toMatchObject([
      { data: 1, offset: 6, producerSub: 'me "x"', transactionId: answer.messages[0]!.id },
      { data: 2, offset: 7, producerSub: null, transactionId: 'q"\n', partition: 'cust-42' },
      { data: 0, offset: 5, partition: 'p"2', deliveryAttempt: 3, consumerGroup: 'g"1' },
    ]);
    expect(answer.messages[0]!.id).toBe('0198f2c1-4d3a-7c10-9f2b-6a1e5d0c7b84');
    expect(answer.messages[2]!.partitionId).toBe('7175656e-7473-8000-8000-000000000009');
  });

  it('has no lease id at either level with commit on delivery', () => {
    const entry = new Entry();
    const claims = [claimOf([entry.append('{"queue":"q","payload":0}', 0)])];
    const text = entry.render({ claims, autoAck: true })!;
    expect(JSON.parse(text)).toMatchObject({ leaseId: '', messages: [{ leaseId: '' }] });
  });

  it('says nothing when nothing was delivered, unless conflation has to be echoed', () => {
    const entry = new Entry();
    expect(entry.render({})).toBeUndefined();
    expect(entry.render({ conflation: true })).toBe(
      '{"success":true,"queue":"orders","partition":"","partitionId":"","leaseId":"",' +
        '"consumerGroup":"billing","messages":[],"partitionsClaimed":0,"conflation":true}',
    );
    expect(entry.render({ conflationConflict: true })).toMatch(
      /"partitionsClaimed":0,"conflationConflict":true}$/,
    );
  });

  it('shows a trace id where one was stored', () => {
    const entry = new Entry();
    const span = entry.append('{"queue":"q","payload":0}', 0);
    const plain = entry.bytes;
    const traced = new Uint8Array(plain.length + 16);
    traced.set(plain.subarray(0, 56));
    traced.set(plain.subarray(56), 72);
    traced[1] = BLOCK_FLAG.ALL_MINTED | BLOCK_FLAG.HAS_TRACE_IDS;
    traced[71] = 5;
    const outcome: PopOutcome = {
      kind: 'pop',
      leaseId: [1, 2, 3, 4],
      autoAck: false,
      group: 'g',
      claims: [claimOf([{ ...span, blockSize: traced.length }])],
      messageCount: 1,
      emptyReason: undefined,
      isCut: false,
      conflation: false,
      conflationConflict: false,
    };
    const text = DECODER.decode(rendered(outcome, traced, 'q'));
    expect(JSON.parse(text)).toMatchObject({
      messages: [{ traceId: '00000000-0000-0000-0000-000000000005', data: 0 }],
    });
    traced[1] = BLOCK_FLAG.ALL_MINTED | BLOCK_FLAG.HAS_TRACE_IDS | BLOCK_FLAG.ENCRYPTED;
    expect(() => rendered(outcome, traced, 'q')).toThrow('this node has no key');
  });
});

describe('renderPopRefusal', () => {
  it('has the shape of a pop', () => {
    expect(DECODER.decode(renderPopRefusal('no "x"'))).toBe(
      '{"success":false,"error":"no \\"x\\"","messages":[]}',
    );
  });
});
