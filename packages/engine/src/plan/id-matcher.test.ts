import { ByteWriter, hash128, encodeUtf8 } from '@queen-ts/base';
import {
  ACK_STATUS,
  BlockReader,
  ID_WORDS,
  MINTED_TXN,
  payloadOf,
  PUSH_ITEM,
  writeBlock,
} from '@queen-ts/protocol';
import type { AckCommand, Id128, PushCommand } from '@queen-ts/protocol';
import { expect, test } from 'vitest';
import { ackCommand, pushCommand } from '../testing/commands.ts';
import { IdMatcher } from './id-matcher.ts';

const HASH_KEY = Uint32Array.of(1, 2, 3, 4);
const ID_BASE: Id128 = [0x01a0_0000, 0x0000_7000, 0x8000_0000, 1];
const MANY = 200_000;

/** A block of messages; undefined stands for a minted id. */
function blockOf(ids: readonly (string | undefined)[]): BlockReader {
  const items = ids.map((id) => ({ queue: 'q', ...(id === undefined ? {} : { id }) }));
  return stored(pushCommand(items, { idBase: ID_BASE, hashKey: HASH_KEY }));
}

/** A block of minted ids. */
function mintedBlock(count: number): BlockReader {
  const one = pushCommand([{ queue: 'q' }], { idBase: ID_BASE, hashKey: HASH_KEY });
  const itemColumns = new Uint32Array(count * PUSH_ITEM.WIDTH);
  for (let at = 0; at < itemColumns.length; at += PUSH_ITEM.WIDTH) {
    itemColumns[at + PUSH_ITEM.TXN_LENGTH] = MINTED_TXN;
  }
  return stored({ ...one, itemCount: count, itemColumns });
}

function stored(command: PushCommand): BlockReader {
  const writer = new ByteWriter({ capacity: 1024 });
  const positions = Uint32Array.from({ length: command.itemCount }, (_, i) => i);
  const range = { from: 0, toExclusive: command.itemCount };
  const place = { partitionNumber: 1, baseOffset: 0, createdUs: 1, messageId: ID_BASE };
  const blockSize = writeBlock(writer, { command, positions, ...range, ...place });
  return new BlockReader(payloadOf(writer.written()), { entryIndex: 1, blockStart: 0, blockSize });
}

/** An ack that names messages by the low words of their minted ids. */
function ackOfMinted(lowWords: readonly number[]): AckCommand {
  const txnUuids = new Uint32Array(lowWords.length * ID_WORDS);
  const txnHashes = new Uint32Array(lowWords.length * ID_WORDS);
  lowWords.forEach((low, i) => {
    txnUuids.set([ID_BASE[0], ID_BASE[1], ID_BASE[2], low], i * ID_WORDS);
    const text = encodeUtf8(`${low}`);
    hash128(HASH_KEY, text, 0, text.length, txnHashes, i * ID_WORDS);
  });
  const command = ackCommand([{ partition: 1, id: 'x' }], { hashKey: HASH_KEY });
  const statuses = new Uint8Array(lowWords.length).fill(ACK_STATUS.COMPLETED);
  return { ...command, itemCount: lowWords.length, txnHashes, txnUuids, statuses };
}

function match(command: AckCommand, block: BlockReader): number[] {
  const matcher = new IdMatcher(7);
  const items = Array.from({ length: command.itemCount }, (_, i) => i);
  matcher.start(command, items);
  matcher.scan(block, 0, block.count);
  matcher.resolveRepeats();
  return items.map((position) => matcher.offset(position));
}

const matchIds = (acked: readonly string[], stored: readonly (string | undefined)[]): number[] =>
  match(
    ackCommand(
      acked.map((id) => ({ partition: 1, id })),
      { hashKey: HASH_KEY },
    ),
    blockOf(stored),
  );

test('the k-th item of an id takes its k-th occurrence, and further ones the last', () => {
  expect(matchIds(['a', 'b', 'a', 'a'], ['a', 'a', 'b'])).toEqual([0, 2, 1, 1]);
  expect(matchIds(['b', 'a', 'x', 'b'], ['a', 'b', 'c', 'b'])).toEqual([1, 0, -1, 3]);
});

test('an item whose text is a UUID names a message that has it as its own id or as its text', () => {
  const minted = '01a00000-0000-7000-8000-000000000002';
  expect(matchIds([minted, 'z'], ['z', undefined])).toEqual([1, 0]);
  expect(matchIds([minted, minted, 'z'], ['z', undefined, minted])).toEqual([1, 2, 0]);
});

test('resolves ids in any order as looking each of them up would', () => {
  let seed = 1;
  const random = (below: number): number => {
    seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((seed / 2 ** 32) * below);
  };
  for (let round = 0; round < 300; round += 1) {
    const name = (): string => `m${random(12)}`;
    const block = Array.from({ length: 1 + random(12) }, name);
    const acked = Array.from({ length: 1 + random(12) }, name);
    const taken = new Map<string, number>();
    const expected = acked.map((id) => {
      const places = block.flatMap((other, offset) => (other === id ? [offset] : []));
      const k = taken.get(id) ?? 0;
      taken.set(id, k + 1);
      return places[Math.min(k, places.length - 1)] ?? -1;
    });
    expect(matchIds(acked, block)).toEqual(expected);
  }
});

// The times of these would be minutes if a part of the work were quadratic.
test('resolves many ids in reverse order', () => {
  const lowWords = Array.from({ length: MANY }, (_, i) => MANY - i);
  const offsets = match(ackOfMinted(lowWords), mintedBlock(MANY));
  expect(offsets.every((offset, i) => offset === MANY - 1 - i)).toBe(true);
});

test('resolves an id that is named many times', () => {
  const lowWords = Array.from({ length: MANY }, () => 2);
  const command = ackOfMinted([5, ...lowWords]);
  const offsets = match(command, mintedBlock(8));
  expect(offsets[0]).toBe(4);
  expect(offsets.slice(1).every((offset) => offset === 1)).toBe(true);
});

test('gives up on many ids that are not there', () => {
  const lowWords = Array.from({ length: MANY }, (_, i) => 0x8000_0000 + i);
  const offsets = match(ackOfMinted(lowWords), mintedBlock(MANY));
  expect(offsets.every((offset) => offset === -1)).toBe(true);
});
