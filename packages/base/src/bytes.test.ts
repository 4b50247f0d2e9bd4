import { describe, expect, it } from 'vitest';
import { ByteReader, ByteWriter, CodecError, copyBytes } from './bytes.ts';
import { SeededRng } from './rng.ts';

describe('ByteWriter and ByteReader', () => {
  it('round-trip every type at its bounds, little-endian', () => {
    const writer = new ByteWriter({ capacity: 1 });
    writer.u8(255);
    writer.u16(0x0102);
    writer.u32(0x01020304);
    writer.uint53(Number.MAX_SAFE_INTEGER);
    writer.varint(0);
    writer.varint(127);
    writer.varint(128);
    writer.varint(Number.MAX_SAFE_INTEGER);
    writer.raw(Uint8Array.of(9, 8));
    writer.string('ä😀');
    writer.string('');
    const bytes = writer.written();
    expect([...bytes.subarray(0, 7)]).toEqual([255, 2, 1, 4, 3, 2, 1]);
    const reader = new ByteReader(bytes);
    expect(reader.u8()).toBe(255);
    expect(reader.u16()).toBe(0x0102);
    expect(reader.u32()).toBe(0x01020304);
    expect(reader.uint53()).toBe(Number.MAX_SAFE_INTEGER);
    expect([reader.varint(), reader.varint(), reader.varint(), reader.varint()]).toEqual([
      0,
      127,
      128,
      Number.MAX_SAFE_INTEGER,
    ]);
    expect([...reader.raw(2)]).toEqual([9, 8]);
    expect(reader.string()).toBe('ä😀');
    expect(reader.string()).toBe('');
    reader.expectEnd();
  });

  it('round-trip random varints and safe integers', () => {
    const rng = new SeededRng(2);
    const writer = new ByteWriter();
    const values = Array.from({ length: 2000 }, () =>
      Math.floor((rng.u32() * 2 ** 21 + (rng.u32() >>> 11)) / 2 ** (rng.u32() % 53)),
    );
    for (const value of values) {
      writer.varint(value);
      writer.uint53(value);
    }
    const reader = new ByteReader(writer.written());
    for (const value of values) {
      expect(reader.varint()).toBe(value);
      expect(reader.uint53()).toBe(value);
    }
  });

  it('reserve returns the start and survives growth; clear keeps the buffer', () => {
    const writer = new ByteWriter({ capacity: 4 });
    writer.u8(7);
    const at = writer.reserve(100);
    expect(at).toBe(1);
    writer.bytes.fill(1, at, at + 100);
    expect(writer.length).toBe(101);
    expect(writer.written()[0]).toBe(7);
    const { bytes } = writer;
    writer.clear();
    expect(writer.length).toBe(0);
    expect(writer.bytes).toBe(bytes);
  });

  it('refuses to grow past its limit', () => {
    const writer = new ByteWriter({ capacity: 4, sizeMax: 6 });
    writer.u32(1);
    writer.u16(1);
    expect(() => writer.u8(1)).toThrow(CodecError);
  });

  it('asserts the range of what it writes', () => {
    const writer = new ByteWriter();
    expect(() => writer.u8(256)).toThrow('u8 256');
    expect(() => writer.u16(-1)).toThrow('u16 -1');
    expect(() => writer.u32(2 ** 32)).toThrow('u32');
    expect(() => writer.uint53(1.5)).toThrow('uint53 1.5');
    expect(() => writer.varint(-1)).toThrow('varint -1');
    expect(() => writer.string('\ud800')).toThrow('surrogate');
  });

  it('throws CodecError at every cut of a record', () => {
    const writer = new ByteWriter();
    writer.u16(1);
    writer.u32(2);
    writer.uint53(3);
    writer.varint(300);
    writer.string('abc');
    const bytes = writer.written();
    const read = (toExclusive: number): void => {
      const reader = new ByteReader(bytes, 0, toExclusive);
      reader.u16();
      reader.u32();
      reader.uint53();
      reader.varint();
      reader.string();
      reader.expectEnd();
    };
    read(bytes.length);
    for (let size = 0; size < bytes.length; size++) expect(() => read(size)).toThrow(CodecError);
  });

  it('rejects bytes that no writer makes', () => {
    const float = (value: number): Uint8Array => {
      const bytes = new Uint8Array(8);
      new DataView(bytes.buffer).setFloat64(0, value, true);
      return bytes;
    };
    for (const value of [-1, 1.5, Number.NaN, Infinity, 2 ** 53, -0]) {
      expect(() => new ByteReader(float(value)).uint53()).toThrow(CodecError);
    }
    const bad = [[0x80, 0x00], [0x80], Array<number>(9).fill(0xff), Array<number>(8).fill(0x80)];
    for (const bytes of bad) {
      expect(() => new ByteReader(Uint8Array.from(bytes)).varint()).toThrow(CodecError);
    }
    expect(() => new ByteReader(Uint8Array.of(1, 0xff)).string()).toThrow(CodecError);
    expect(() => new ByteReader(Uint8Array.of(1, 2)).expectEnd()).toThrow(CodecError);
  });

  it('reads a part of a buffer that is itself a view', () => {
    const outer = Uint8Array.of(0, 0, 1, 2, 3, 4, 0);
    const reader = new ByteReader(outer.subarray(1, 6), 1, 5);
    expect(reader.u32()).toBe(0x04030201);
    expect(reader.position).toBe(5);
    expect(reader.remaining).toBe(0);
  });
});

describe('copyBytes', () => {
  it('copies exactly the range, short or long', () => {
    const source = Uint8Array.from({ length: 100 }, (_, i) => i + 1);
    for (const size of [0, 1, 15, 16, 17, 60]) {
      const target = new Uint8Array(100);
      copyBytes(source, 20, 20 + size, target, 5);
      const expected = new Uint8Array(100);
      for (let i = 0; i < size; i++) expected[5 + i] = source[20 + i]!;
      expect(target).toEqual(expected);
    }
  });
});
