import { ByteWriter, CodecError, idPlus, SeededRng } from '@queen-ts/base';
import { describe, expect, it } from 'vitest';
import type { PayloadReader } from './block.ts';
import { BLOCK_FLAG, BLOCK_HEADER_SIZE } from './block.ts';
import { BLOCK_FRAME, BlockReader, payloadOf } from './block-reader.ts';
import type { BlockFrames } from './block-reader.ts';
import { blockSize, writeBlock } from './block-writer.ts';
import type { BlockSource } from './block-writer.ts';
import { MINTED_TXN, PUSH_ITEM } from './commands.ts';
import type { Id128, PushCommand } from './commands.ts';

const ENCODER = new TextEncoder();
const DECODER = new TextDecoder();
const MESSAGE_ID: Id128 = [0x0198f2c1, 0x4d3a7c10, 0x9f2b6a1e, 0x5d0c7b00];

interface Item {
  /** Undefined when minted. */
  readonly txn: string | undefined;
  readonly payload: string;
}

function commandOf(items: readonly Item[], producerSub: string | null): PushCommand {
  const body = ENCODER.encode(items.map((item) => item.payload).join(' '));
  const text = ENCODER.encode(items.map((item) => item.txn ?? '').join(''));
  const itemColumns = new Uint32Array(items.length * PUSH_ITEM.WIDTH);
  const txnHashes = new Uint32Array(items.length * 4);
  let bodyAt = 0;
  let textAt = 0;
  items.forEach((item, i) => {
    const payloadSize = ENCODER.encode(item.payload).length;
    const txnSize = item.txn === undefined ? MINTED_TXN : ENCODER.encode(item.txn).length;
    itemColumns.set([textAt, txnSize, bodyAt, payloadSize, i], i * PUSH_ITEM.WIDTH);
    bodyAt += payloadSize + 1;
    if (txnSize === MINTED_TXN) return;
    textAt += txnSize;
    txnHashes.set([i + 1, i + 2, 0xffffffff - i, 7], i * 4);
  });
  return {
    kind: 'push',
    itemCount: items.length,
    queues: ['q'],
    body,
    text,
    itemColumns,
    txnHashes,
    groupColumns: new Uint32Array(0),
    order: Uint32Array.from(items.keys()),
    idBase: MESSAGE_ID,
    producerSub,
  };
}

function sourceOf(command: PushCommand, change: Partial<BlockSource> = {}): BlockSource {
  return {
    command,
    positions: command.order,
    from: 0,
    toExclusive: command.order.length,
    partitionNumber: 17,
    baseOffset: 2 ** 40,
    createdUs: 1_785_409_364_512_873,
    messageId: MESSAGE_ID,
    ...change,
  };
}

/** Writes the block after some other bytes, and returns those of the block alone. */
function written(source: BlockSource): Uint8Array {
  const writer = new ByteWriter({ capacity: 8 });
  writer.u32(0xdeadbeef);
  const size = writeBlock(writer, source);
  expect(size).toBe(blockSize(source));
  expect(writer.length).toBe(4 + size);
  return writer.written().slice(4);
}

function reader(bytes: Uint8Array, payloads: PayloadReader = payloadOf(bytes)): BlockReader {
  return new BlockReader(payloads, { entryIndex: 5, blockStart: 0, blockSize: bytes.length });
}

function itemsOf(block: BlockReader, first: number, count: number): Item[] {
  return itemsIn(block.frames(first, count), count);
}

function itemsIn({ bytes, spans }: BlockFrames, count: number): Item[] {
  return Array.from({ length: count }, (_, i) => {
    const row = i * BLOCK_FRAME.WIDTH;
    const cut = (start: number, size: number): string =>
      DECODER.decode(bytes.subarray(start, start + size));
    const txnSize = spans[row + BLOCK_FRAME.TXN_LENGTH]!;
    return {
      txn: txnSize === MINTED_TXN ? undefined : cut(spans[row + BLOCK_FRAME.TXN_START]!, txnSize),
      payload: cut(
        spans[row + BLOCK_FRAME.PAYLOAD_START]!,
        spans[row + BLOCK_FRAME.PAYLOAD_LENGTH]!,
      ),
    };
  });
}

const MIXED: readonly Item[] = [
  { txn: 't-1', payload: '{"n":9007199254740993,"x":1.0}' },
  { txn: undefined, payload: 'null' },
  { txn: '', payload: '"ä"' },
  { txn: 'ü'.repeat(300), payload: `[${'1,'.repeat(400)}1]` },
];

describe('append blocks', () => {
  it('give back header, ids, keys and frames', () => {
    const command = commandOf(MIXED, 'user-ü');
    const block = reader(written(sourceOf(command)));
    expect(block).toMatchObject({
      count: 4,
      partitionNumber: 17,
      baseOffset: 2 ** 40,
      createdUs: 1_785_409_364_512_873,
      flags: 0,
      producerSub: 'user-ü',
    });
    expect(itemsOf(block, 0, 4)).toEqual(MIXED);
    expect(itemsOf(block, 2, 1)).toEqual([MIXED[2]]);
    for (let ordinal = 0; ordinal < 4; ordinal++) {
      const isMinted = MIXED[ordinal]!.txn === undefined;
      expect(block.messageId(ordinal)).toEqual(idPlus(MESSAGE_ID, ordinal));
      expect(block.hasTransactionId(ordinal)).toBe(!isMinted);
      expect(block.keyEquals(ordinal, command.txnHashes, ordinal * 4)).toBe(!isMinted);
      expect(block.keyEquals(ordinal, Uint32Array.of(1, 2, 3, 4), 0)).toBe(false);
      const words = new Uint32Array(8);
      block.writeKey(ordinal, words, 0);
      block.writeMessageId(ordinal, words, 4);
      expect([...words.subarray(0, 4)]).toEqual([
        ...command.txnHashes.subarray(ordinal * 4, ordinal * 4 + 4),
      ]);
      expect([...words.subarray(4)]).toEqual([...block.messageId(ordinal)]);
      expect(block.traceId(ordinal)).toBeUndefined();
    }
  });

  it('keep their byte form', () => {
    const items: Item[] = [
      { txn: 'ab', payload: '1' },
      { txn: undefined, payload: '{}' },
    ];
    const bytes = written(sourceOf(commandOf(items, null), { baseOffset: 3, createdUs: 4 }));
    const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
    expect(hex.match(/.{1,32}/g)).toEqual([
      '02000000020000001100000000000000',
      '00000000000008400000000000001040',
      '0198f2c14d3a7c109f2b6a1e5d0c7b00',
      '0100000002000000ffffffff07000000',
      '00000000000000000000000000000000',
      '0200000001000000ffffffff02000000',
      '6162317b7d',
    ]);
  });

  it('leave the keys out when every id was minted', () => {
    const items = MIXED.map(({ payload }) => ({ txn: undefined, payload }));
    const command = commandOf(items, null);
    const bytes = written(sourceOf(command));
    const frames = items.reduce((sum, item) => sum + ENCODER.encode(item.payload).length, 0);
    expect(bytes.length).toBe(BLOCK_HEADER_SIZE + 4 * 8 + frames);
    const block = reader(bytes);
    expect(block.flags).toBe(BLOCK_FLAG.ALL_MINTED);
    expect(block.producerSub).toBeNull();
    expect(block.keyEquals(0, new Uint32Array(4), 0)).toBe(false);
    expect(itemsOf(block, 0, 4)).toEqual(items);
  });

  it('store the chosen positions only, in the given order', () => {
    const command = commandOf(MIXED, null);
    const positions = Uint32Array.of(9, 3, 0, 9);
    const block = reader(written(sourceOf(command, { positions, from: 1, toExclusive: 3 })));
    expect(itemsOf(block, 0, 2)).toEqual([MIXED[3], MIXED[0]]);
    expect(block.keyEquals(0, command.txnHashes, 12)).toBe(true);
  });

  it('are read in parts when they are large: header, tables, wanted frames', () => {
    const items = Array.from({ length: 500 }, (_, i) => ({
      txn: `t-${i}`,
      payload: JSON.stringify({ i, pad: 'x'.repeat(300) }),
    }));
    const bytes = written(sourceOf(commandOf(items, null)));
    const reads: number[] = [];
    const block = reader(bytes, {
      payload: ({ index, from, toExclusive }) => {
        expect(index).toBe(5);
        reads.push(toExclusive - from);
        return bytes.subarray(from, toExclusive);
      },
    });
    expect(itemsOf(block, 250, 2)).toEqual(items.slice(250, 252));
    expect(reads[0]).toBe(BLOCK_HEADER_SIZE);
    expect(reads[1]).toBe(BLOCK_HEADER_SIZE + 500 * 24);
    expect(reads[2]).toBeLessThan(1000);
    expect(reads).toHaveLength(3);
  });

  it('give single frames in any order, many of them with one read in ascending order', () => {
    const rng = new SeededRng(4);
    const items = Array.from({ length: 500 }, (_, i) => ({
      txn: i % 3 === 0 ? undefined : `t-${i}`,
      payload: JSON.stringify({ i, pad: 'x'.repeat(rng.u32() % 600) }),
    }));
    items[77] = { txn: 'huge', payload: 'y'.repeat(100_000) };
    const bytes = written(sourceOf(commandOf(items, null)));
    let reads = 0;
    const block = reader(bytes, {
      payload: ({ from, toExclusive }) => {
        reads += 1;
        return bytes.subarray(from, toExclusive);
      },
    });
    const seen = items.map((_, ordinal) => itemsIn(block.frame(ordinal), 1)[0]);
    expect(seen).toEqual(items);
    expect(reads).toBeLessThan(10);
    for (let run = 0; run < 500; run += 1) {
      const ordinal = rng.u32() % items.length;
      const frames = rng.u32() % 2 === 0 ? block.frame(ordinal) : block.frames(ordinal, 1);
      expect(itemsIn(frames, 1)).toEqual([items[ordinal]]);
    }
  });

  it('read back random appends', () => {
    const rng = new SeededRng(21);
    for (let run = 0; run < 300; run++) {
      const items = Array.from({ length: 1 + (rng.u32() % 20) }, () => ({
        txn: rng.u32() % 3 === 0 ? undefined : 'ä'.repeat(rng.u32() % 30),
        payload: 'p'.repeat(1 + (rng.u32() % 100)),
      }));
      const block = reader(written(sourceOf(commandOf(items, rng.u32() % 2 ? 'me' : null))));
      const first = rng.u32() % items.length;
      const count = 1 + (rng.u32() % (items.length - first));
      expect(itemsOf(block, first, count)).toEqual(items.slice(first, first + count));
    }
  });

  it('carry trace ids where a flag says so', () => {
    const plain = written(sourceOf(commandOf([{ txn: undefined, payload: '1' }], null)));
    const bytes = new Uint8Array(plain.length + 16);
    bytes.set(plain.subarray(0, BLOCK_HEADER_SIZE + 8));
    bytes.set(plain.subarray(BLOCK_HEADER_SIZE + 8), BLOCK_HEADER_SIZE + 24);
    bytes[1] = BLOCK_FLAG.ALL_MINTED | BLOCK_FLAG.HAS_TRACE_IDS;
    expect(reader(bytes).traceId(0)).toBeUndefined();
    bytes[BLOCK_HEADER_SIZE + 8 + 3] = 9;
    expect(reader(bytes).traceId(0)).toEqual([9, 0, 0, 0]);
    expect(itemsOf(reader(bytes), 0, 1)).toEqual([{ txn: undefined, payload: '1' }]);
  });
});

describe('damaged blocks', () => {
  const bytes = written(sourceOf(commandOf(MIXED, 'sub')));

  it.each([
    ['version', 0, 9],
    ['flags', 1, 0x80],
    ['sub that is not UTF-8', BLOCK_HEADER_SIZE + 4 * 24, 0xff],
    ['no message', 4, 0],
    ['more tables than bytes', 6, 0xff],
    ['offset that is no integer', 16, 1],
  ])('%s: CodecError', (_what, at, value) => {
    const damaged = bytes.slice();
    damaged[at] = value;
    if (_what.startsWith('offset')) damaged.fill(0x77, 16, 24);
    expect(() => reader(damaged)).toThrow(CodecError);
  });

  it('frames that do not fit, ordinals that do not exist, short reads: CodecError', () => {
    const damaged = bytes.slice();
    damaged.fill(0x7f, BLOCK_HEADER_SIZE + 4 * 16 + 4, BLOCK_HEADER_SIZE + 4 * 16 + 8);
    expect(() => reader(damaged).frames(0, 1)).toThrow(CodecError);
    expect(() => reader(bytes).frames(3, 2)).toThrow(CodecError);
    expect(() => reader(damaged).frame(0)).toThrow(CodecError);
    expect(() => reader(bytes).frame(-1)).toThrow(CodecError);
    expect(() => reader(bytes, { payload: () => bytes.subarray(1) })).toThrow(CodecError);
    expect(() => reader(bytes.subarray(0, 40))).toThrow(CodecError);
  });

  it('keeps trace ids, and takes no room for them where no message has one', () => {
    const command = commandOf(MIXED.slice(0, 2), 'sub');
    const without = written(sourceOf(command));
    const traceIds = Uint32Array.of(0, 0, 0, 0, 1, 2, 3, 4);
    const bytes = written(sourceOf({ ...command, traceIds }));
    expect(bytes.length).toBe(without.length + 32);
    const block = reader(bytes);
    expect([block.traceId(0), block.traceId(1)]).toEqual([undefined, [1, 2, 3, 4]]);
    expect(block.producerSub).toBe('sub');
    expect(itemsOf(block, 0, 2)).toEqual(MIXED.slice(0, 2));
    const first = { from: 0, toExclusive: 1 };
    expect(written(sourceOf({ ...command, traceIds }, first))).toEqual(
      written(sourceOf(command, first)),
    );
  });
});
