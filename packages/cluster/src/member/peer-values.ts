// Plain values as bytes, for what members send each other beside raft messages: commands, outcomes and
// views are records of columns, so a tag before each value costs little and keeps one codec for all.
// What arrives comes from an authenticated peer in checksummed frames; bounds are checked all the same.
//
//   value = tag u8, then: UINT varint | FLOAT f64 | STRING varint size, UTF-8 | UTF16 varint count, u16…
//           BYTES varint size, bytes | WORDS varint count, u32… | FLOATS varint count, f64…
//           LIST varint count, values | RECORD varint count, (string, value)… | MAP the same with (value, value)
//   Numbers little-endian.

import { ByteReader, ByteWriter, CodecError } from '@queen-ts/base';

const TAG = {
  UNDEFINED: 0,
  NULL: 1,
  FALSE: 2,
  TRUE: 3,
  UINT: 4,
  FLOAT: 5,
  STRING: 6,
  UTF16: 7,
  BYTES: 8,
  WORDS: 9,
  FLOATS: 10,
  LIST: 11,
  RECORD: 12,
  MAP: 13,
} as const;

/** Values inside values, at most. */
const DEPTH_MAX = 16;

/** Encodes a value of null, undefined, booleans, numbers, strings, typed arrays, arrays, maps, records. */
export function encodeValue(value: unknown, sizeHint = 256): Uint8Array {
  const writer = new ByteWriter({ capacity: sizeHint });
  write(writer, value, 0);
  return writer.written();
}

/** Decodes one value. Byte arrays are views of `bytes`. Throws CodecError. */
export function decodeValue(bytes: Uint8Array): unknown {
  const reader = new ByteReader(bytes);
  const value = read(reader, 0);
  reader.expectEnd();
  return value;
}

function write(writer: ByteWriter, value: unknown, depth: number): void {
  if (depth > DEPTH_MAX) throw new CodecError('a value is nested too deeply');
  switch (typeof value) {
    case 'undefined':
      return writer.u8(TAG.UNDEFINED);
    case 'boolean':
      return writer.u8(value ? TAG.TRUE : TAG.FALSE);
    case 'number':
      return writeNumber(writer, value);
    case 'string':
      return writeString(writer, value);
    case 'object':
      return value === null ? writer.u8(TAG.NULL) : writeObject(writer, value, depth);
    default:
      throw new CodecError(`a ${typeof value} cannot be sent`);
  }
}

function writeNumber(writer: ByteWriter, value: number): void {
  if (Number.isSafeInteger(value) && value >= 0 && !Object.is(value, -0)) {
    writer.u8(TAG.UINT);
    writer.varint(value);
    return;
  }
  writer.u8(TAG.FLOAT);
  const at = writer.reserve(8);
  writer.view.setFloat64(at, value, true);
}

function writeString(writer: ByteWriter, value: string): void {
  if (value.isWellFormed()) {
    writer.u8(TAG.STRING);
    writer.string(value);
    return;
  }
  writer.u8(TAG.UTF16);
  writer.varint(value.length);
  for (let i = 0; i < value.length; i += 1) writer.u16(value.charCodeAt(i));
}

function writeObject(writer: ByteWriter, value: object, depth: number): void {
  if (value instanceof Uint8Array) {
    writer.u8(TAG.BYTES);
    writer.varint(value.length);
    writer.raw(value);
  } else if (value instanceof Uint32Array) {
    writer.u8(TAG.WORDS);
    writer.varint(value.length);
    const at = writer.reserve(value.length * 4);
    for (let i = 0; i < value.length; i += 1) writer.view.setUint32(at + i * 4, value[i]!, true);
  } else if (value instanceof Float64Array) {
    writer.u8(TAG.FLOATS);
    writer.varint(value.length);
    const at = writer.reserve(value.length * 8);
    for (let i = 0; i < value.length; i += 1) writer.view.setFloat64(at + i * 8, value[i]!, true);
  } else if (Array.isArray(value)) {
    writer.u8(TAG.LIST);
    writer.varint(value.length);
    for (const item of value as readonly unknown[]) write(writer, item, depth + 1);
  } else if (value instanceof Map) {
    writer.u8(TAG.MAP);
    writer.varint(value.size);
    for (const [key, item] of value as ReadonlyMap<unknown, unknown>) {
      write(writer, key, depth + 1);
      write(writer, item, depth + 1);
    }
  } else writeRecord(writer, value, depth);
}

function writeRecord(writer: ByteWriter, value: object, depth: number): void {
  const members = Object.entries(value);
  writer.u8(TAG.RECORD);
  writer.varint(members.length);
  for (const [name, member] of members) {
    writer.string(name);
    write(writer, member, depth + 1);
  }
}

function read(reader: ByteReader, depth: number): unknown {
  if (depth > DEPTH_MAX) throw new CodecError('a value is nested too deeply');
  const tag = reader.u8();
  switch (tag) {
    case TAG.UNDEFINED:
      return undefined;
    case TAG.NULL:
      return null;
    case TAG.FALSE:
      return false;
    case TAG.TRUE:
      return true;
    case TAG.UINT:
      return reader.varint();
    case TAG.FLOAT:
      return viewOf(reader.raw(8)).getFloat64(0, true);
    case TAG.STRING:
      return reader.string();
    case TAG.UTF16:
      return readUtf16(reader);
    case TAG.BYTES:
      return reader.raw(reader.varint());
    case TAG.WORDS:
      return readWords(reader);
    case TAG.FLOATS:
      return readFloats(reader);
    default:
      return readCollection(reader, tag, depth);
  }
}

function readCollection(reader: ByteReader, tag: number, depth: number): unknown {
  switch (tag) {
    case TAG.LIST: {
      // Every item takes a byte at least: a wrong count runs out of bytes, not of memory.
      const list: unknown[] = [];
      for (let left = reader.varint(); left > 0; left -= 1) list.push(read(reader, depth + 1));
      return list;
    }
    case TAG.RECORD:
      return readRecord(reader, depth);
    case TAG.MAP: {
      const map = new Map<unknown, unknown>();
      for (let left = reader.varint(); left > 0; left -= 1) {
        const key = read(reader, depth + 1);
        map.set(key, read(reader, depth + 1));
      }
      return map;
    }
    default:
      throw new CodecError(`unknown tag ${tag}`);
  }
}

function readRecord(reader: ByteReader, depth: number): Record<string, unknown> {
  const record: Record<string, unknown> = {};
  for (let left = reader.varint(); left > 0; left -= 1) {
    const name = reader.string();
    if (name === '__proto__') throw new CodecError('a record has a member that is none');
    record[name] = read(reader, depth + 1);
  }
  return record;
}

function readUtf16(reader: ByteReader): string {
  const units: string[] = [];
  for (let left = reader.varint(); left > 0; left -= 1) {
    units.push(String.fromCharCode(reader.u16()));
  }
  return units.join('');
}

function readWords(reader: ByteReader): Uint32Array {
  const count = reader.varint();
  const view = viewOf(reader.raw(count * 4));
  const words = new Uint32Array(count);
  for (let i = 0; i < count; i += 1) words[i] = view.getUint32(i * 4, true);
  return words;
}

function readFloats(reader: ByteReader): Float64Array {
  const count = reader.varint();
  const view = viewOf(reader.raw(count * 8));
  const floats = new Float64Array(count);
  for (let i = 0; i < count; i += 1) floats[i] = view.getFloat64(i * 8, true);
  return floats;
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
