// The stored form of an entry: its frozen bytes, and every bit of it flipped.

import { InvariantError, randomBelow, SeededRng } from '@queen-ts/base';
import type { Entry } from '@queen-ts/raft';
import { describe, expect, it } from 'vitest';

import {
  checkPayloadChunk,
  decodeRecord,
  encodeRecord,
  ENTRY_BYTES_MAX,
  payloadChunk,
} from './record.ts';
import { entryOf } from './testing/fixtures.ts';

describe('records', () => {
  it('decode to what was encoded', () => {
    const rng = new SeededRng(2);
    for (let round = 0; round < 300; round++) {
      const entry = entryOf({
        index: 1 + randomBelow(rng, 2 ** 31) * 2 ** 20,
        term: 1 + randomBelow(rng, 2 ** 31) * 2 ** 20,
        headBytes: randomBelow(rng, 500),
        payloadBytes: randomBelow(rng, 5) * 65_536 + randomBelow(rng, 3),
      });
      const { header, chunk0 } = encodeRecord(entry, rng.u32());
      expect(decodeRecord(chunk0)).toEqual({ header, head: entry.head });
      for (let chunk = 1; chunk <= header.payloadChecksums.length; chunk++) {
        expect(
          checkPayloadChunk(header, chunk, payloadChunk(entry.payload, chunk)),
        ).toBeUndefined();
      }
    }
  });

  it('keep the bytes of format version 1', () => {
    const entry: Entry = {
      index: 2 ** 33 + 5,
      term: 3,
      type: 'membership',
      head: Uint8Array.of(0xaa, 0xbb),
      payload: Uint8Array.of(1),
    };
    expect(Buffer.from(encodeRecord(entry, 0x01020304).chunk0).toString('hex')).toBe(
      'ae77bb77' + // checksum
        '01030000' + // version, type
        '0000000000000003' + // term
        '0000000200000005' + // index
        '01020304' + // checksum of the record before
        '00000002' + // head length
        '00000001' + // payload length
        'a505df1b' + // checksum of payload chunk 1
        'aabb',
    );
  });

  it('notice every flipped bit and every cut of chunk 0', () => {
    const { chunk0 } = encodeRecord(entryOf({ index: 7, headBytes: 40, payloadBytes: 70_000 }), 99);
    for (let bit = 0; bit < chunk0.length * 8; bit++) {
      const damaged = chunk0.slice();
      damaged[bit >> 3] = (damaged[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      expect(typeof decodeRecord(damaged)).toBe('string');
    }
    for (let length = 0; length < chunk0.length; length++) {
      expect(typeof decodeRecord(chunk0.subarray(0, length))).toBe('string');
    }
  });

  it('notice a payload chunk that is changed, short, long or another one', () => {
    const entry = entryOf({ index: 7, payloadBytes: 140_000 });
    const { header } = encodeRecord(entry, 0);
    const first = payloadChunk(entry.payload, 1);
    expect(checkPayloadChunk(header, 2, first)).toBe('checksum mismatch');
    expect(checkPayloadChunk(header, 3, first)).toContain('65536 bytes where 8928');
    expect(checkPayloadChunk(header, 1, first.subarray(1))).toContain('65535 bytes where 65536');
    expect(
      checkPayloadChunk(
        header,
        1,
        first.map((byte, i) => (i === 9 ? byte ^ 1 : byte)),
      ),
    ).toBe('checksum mismatch');
  });

  it('differ in checksum when any record before them differs', () => {
    const entry = entryOf({ index: 7 });
    expect(encodeRecord(entry, 1).header.checksum).not.toBe(encodeRecord(entry, 2).header.checksum);
  });

  it('refuse entries beyond the limit', () => {
    const entry = {
      ...entryOf({ index: 1, headBytes: 1 }),
      payload: new Uint8Array(ENTRY_BYTES_MAX),
    };
    expect(() => encodeRecord(entry, 0)).toThrow(InvariantError);
  });
});
