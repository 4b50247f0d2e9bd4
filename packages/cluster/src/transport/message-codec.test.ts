// Raft messages through the codec and the frames: intact, or not at all.

import { ByteReader, CodecError } from '@queen-ts/base';
import { channelOf, membershipOf, toNodeId } from '@queen-ts/raft';
import type { AppendMessage, Message } from '@queen-ts/raft';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeMessage, encodeMessage, splitAppend } from './message-codec.ts';
import { PeerProtocolError } from './peer-protocol-error.ts';
import {
  arbitraryMessage,
  entryOf,
  PARTIES,
  TOO_MANY_ENTRIES,
} from './testing/arbitrary-message.ts';
import { feed, framesOf, readerFor, throughTheWire } from './testing/wire.ts';
import { FORMAT_LIMITS } from './transport-limits.ts';

const HEADER = { ...PARTIES, term: 9 };

describe('a raft message', () => {
  it('arrives as it was sent, however the bytes are cut', () => {
    fc.assert(
      fc.property(arbitraryMessage, fc.integer({ min: 1, max: 70_000 }), (message, chunkSize) => {
        const { bytes } = framesOf(encodeMessage(message));
        const arrived: Message[] = [];
        const reader = readerFor(channelOf(message), PARTIES, {
          message: (got) => arrived.push(got),
        });
        feed(reader, bytes, chunkSize);
        expect(arrived).toEqual([message]);
        expect(reader.heldBytes).toBe(0);
      }),
      { seed: 1, numRuns: 300 },
    );
  });

  it('never arrives when any bit of its frames was flipped', () => {
    fc.assert(
      fc.property(
        arbitraryMessage,
        fc.nat(),
        fc.nat({ max: 7 }),
        fc.integer({ min: 1, max: 70_000 }),
        (message, place, bit, chunkSize) => {
          const { bytes } = framesOf(encodeMessage(message));
          bytes[place % bytes.length]! ^= 1 << bit;
          const arrived: Message[] = [];
          const reader = readerFor(channelOf(message), PARTIES, {
            message: (got) => arrived.push(got),
          });
          expect(() => feed(reader, bytes, chunkSize)).toThrow(PeerProtocolError);
          expect(arrived).toEqual([]);
        },
      ),
      { seed: 2, numRuns: 500 },
    );
  });

  it('never arrives when frames of it are missing, repeated or swapped', () => {
    const entries = [1, 2, 3].map((index) => entryOf({ index, payloadSize: 300_000 }));
    const message: AppendMessage = {
      ...HEADER,
      kind: 'append',
      prevIndex: 0,
      prevTerm: 0,
      commitIndex: 0,
      entries,
    };
    const { bytes, starts } = framesOf(encodeMessage(message));
    const frames = starts.map((start, i) => bytes.subarray(start, starts[i + 1] ?? bytes.length));
    expect(frames.length).toBeGreaterThan(4);
    const last = frames.length - 1;
    // The last frame is shorter, so that what takes its place does not fit.
    const orders = [
      frames.toSpliced(0, 1),
      frames.toSpliced(1, 1),
      frames.toSpliced(last, 1),
      frames.toSpliced(1, 0, frames[0]!),
      [...frames.slice(0, -1), frames[1]!],
    ];
    for (const order of orders) {
      const arrived: Message[] = [];
      const reader = readerFor('bulk', PARTIES, { message: (got) => arrived.push(got) });
      const readAll = (): void => order.forEach((frame) => reader.push(frame));
      if (order.length < frames.length && order[0] === frames[0]) readAll();
      else expect(readAll).toThrow(PeerProtocolError);
      expect(arrived).toEqual([]);
    }
  });

  it('is refused with a CodecError when its head is nonsense under a right checksum', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
        try {
          const { message } = decodeMessage(new ByteReader(bytes), PARTIES);
          expect(message.from).toBe(PARTIES.from);
        } catch (error) {
          expect(error).toBeInstanceOf(CodecError);
        }
      }),
      { seed: 3, numRuns: 3000 },
    );
  });

  it('is refused with a CodecError when a valid head was changed before the checksum', () => {
    fc.assert(
      fc.property(arbitraryMessage, fc.nat(), fc.nat({ max: 255 }), (message, place, value) => {
        const head = encodeMessage(message).head.slice();
        head[place % head.length] = value;
        try {
          decodeMessage(new ByteReader(head), PARTIES);
        } catch (error) {
          expect(error).toBeInstanceOf(CodecError);
        }
      }),
      { seed: 4, numRuns: 2000 },
    );
  });

  it('comes from whom the connection was authenticated for, whatever the sender writes', () => {
    const message: Message = { ...HEADER, kind: 'timeoutNow' };
    const forged = { ...message, from: toNodeId(9), incarnation: 5 };
    const { head } = encodeMessage(forged);
    expect(decodeMessage(new ByteReader(head), PARTIES).message).toEqual(message);
  });

  it('gives each entry a buffer of exactly its size', () => {
    const entries = [10, 100_000, 0].map((payloadSize, i) =>
      entryOf({ index: i + 6, payloadSize }),
    );
    const message: AppendMessage = {
      ...HEADER,
      kind: 'append',
      prevIndex: 5,
      prevTerm: 1,
      commitIndex: 5,
      entries,
    };
    const got = throughTheWire(message, 'bulk') as AppendMessage;
    expect(got).toEqual(message);
    expect(got.entries.map(({ head }) => head.buffer.byteLength)).toEqual([18, 100_008, 8]);
    expect(got.entries.map(({ payload }) => payload.buffer.byteLength)).toEqual([18, 100_008, 8]);
  });
});

describe('the head of an append', () => {
  const decodeAppend = (fields: readonly number[]): Message => {
    // Tag 3, term 9, then the fields as one-byte varints.
    const bytes = Uint8Array.from([3, 9, ...fields]);
    return decodeMessage(new ByteReader(bytes), PARTIES).message;
  };

  it('is accepted with the largest term that may be in it', () => {
    expect(decodeAppend([5, 4, 5, 1, 0, 5, 0, 0])).toMatchObject({
      entries: [{ term: 9, index: 6 }],
    });
  });

  it.each([
    ['an entry of a term beyond the sender’s', [5, 4, 5, 1, 0, 6, 0, 0]],
    ['an entry of term 0', [0, 0, 0, 1, 0, 0, 0, 0]],
    ['an entry of an unknown type', [5, 4, 5, 1, 3, 1, 0, 0]],
    ['a term before index 1', [0, 4, 0, 0]],
    ['no term before a later entry', [5, 0, 0, 0]],
    ['more entries than it holds', [5, 4, 5, 2, 0, 1, 0, 0]],
    ['a number that is not in its shortest form', [5, 4, 5, 0x80, 0]],
  ])('is refused with %s', (_, fields) => {
    expect(() => decodeAppend(fields)).toThrow(CodecError);
  });

  it('is refused before it allocates more than a message may hold', () => {
    // Two payloads of 2^27 - 1 bytes, each allowed alone.
    const size = [0xff, 0xff, 0xff, 0x3f];
    expect(() => decodeAppend([5, 4, 5, 2, 0, 0, 0, ...size, 0, 0, 0, ...size])).toThrow(
      /message of \d+ bytes/,
    );
  });

  it('is refused with more entries than one message may carry', () => {
    expect(() => decodeAppend([5, 4, 5, 0x81, 0x80, 2])).toThrow(/append of 32769 entries/);
  });
});

describe('a membership in a snapshot message', () => {
  const members = [
    { id: toNodeId(1), role: 'voter' as const, incarnation: 5, address: 'a:1' },
    { id: toNodeId(2), role: 'learner' as const, incarnation: 0, address: '' },
  ];
  const snapshot = { index: 3, term: 2, membership: membershipOf(members) };
  const { head } = encodeMessage({ ...HEADER, kind: 'snapshot', snapshot });

  it.each([
    ['a member twice', (bytes: Uint8Array) => bytes.with(12, 1)],
    ['member 0', (bytes: Uint8Array) => bytes.with(5, 0)],
    ['an unknown role', (bytes: Uint8Array) => bytes.with(6, 2)],
    ['more members than a group may have', (bytes: Uint8Array) => bytes.with(4, 65)],
    ['index 0', (bytes: Uint8Array) => bytes.with(2, 0)],
  ])('is refused with %s', (_, change) => {
    expect(decodeMessage(new ByteReader(head), PARTIES).message).toMatchObject({ snapshot });
    expect(() => decodeMessage(new ByteReader(change(head)), PARTIES)).toThrow(CodecError);
  });
});

describe('splitting an append', () => {
  const appendOf = (count: number, payload: Uint8Array): AppendMessage => ({
    ...HEADER,
    kind: 'append',
    prevIndex: 5,
    prevTerm: 1,
    commitIndex: 7,
    entries: Array.from({ length: count }, (_, i) => ({
      term: i < 3 ? 1 : 2,
      index: 6 + i,
      type: 'command' as const,
      head: new Uint8Array(0),
      payload,
    })),
  });

  it('leaves what fits as it is', () => {
    expect(splitAppend(appendOf(0, new Uint8Array(0)))).toEqual([appendOf(0, new Uint8Array(0))]);
    expect(splitAppend(appendOf(9, new Uint8Array(1)))).toEqual([appendOf(9, new Uint8Array(1))]);
  });

  it.each([
    ['entries', TOO_MANY_ENTRIES, new Uint8Array(0), 3],
    // One buffer over and over: half of the limit and a byte.
    ['bytes', 3, new Uint8Array(FORMAT_LIMITS.messageBytesMax / 2 + 1), 3],
  ])('cuts too many %s into appends that follow each other', (_, count, payload, pieceCount) => {
    const whole = appendOf(count, payload);
    const pieces = splitAppend(whole);
    expect(pieces).toHaveLength(pieceCount);
    expect(pieces.flatMap(({ entries }) => entries).length).toBe(count);
    let { prevIndex, prevTerm } = whole;
    for (const piece of pieces) {
      expect(piece).toMatchObject({ prevIndex, prevTerm, commitIndex: 7, term: 9 });
      expect(() => encodeMessage(piece)).not.toThrow();
      prevIndex = piece.entries.at(-1)!.index;
      prevTerm = piece.entries.at(-1)!.term;
    }
    expect(prevIndex).toBe(5 + count);
  });
});
