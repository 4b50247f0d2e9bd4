// Fields that several effects share: ids and times.

import { CodecError } from '@queen-ts/base';
import type { ByteReader, ByteWriter } from '@queen-ts/base';
import type { Id128 } from '../commands.ts';

/** Largest distance of a time to its entry's: keeps the zigzag form within 53 bits. */
const DISTANCE_MAX = 2 ** 52 - 1;

/** Writes an id as four little-endian u32, first word first. */
export function writeId(writer: ByteWriter, id: Id128): void {
  const at = writer.reserve(16);
  const view = writer.view;
  view.setUint32(at, id[0], true);
  view.setUint32(at + 4, id[1], true);
  view.setUint32(at + 8, id[2], true);
  view.setUint32(at + 12, id[3], true);
}

/** Reads an id. */
export function readId(reader: ByteReader): Id128 {
  return [reader.u32(), reader.u32(), reader.u32(), reader.u32()];
}

/** Writes a time as its zigzag distance from `nowUs`. */
export function writeTime(writer: ByteWriter, timeUs: number, nowUs: number): void {
  const distance = timeUs - nowUs;
  if (Math.abs(distance) > DISTANCE_MAX) throw new CodecError(`time ${timeUs} at ${nowUs}`);
  writer.varint(distance < 0 ? -distance * 2 - 1 : distance * 2);
}

/** Reads a time written relative to the same `nowUs`. */
export function readTime(reader: ByteReader, nowUs: number): number {
  const zigzag = reader.varint();
  const timeUs = nowUs + (zigzag % 2 === 0 ? zigzag / 2 : -(zigzag + 1) / 2);
  if (!Number.isSafeInteger(timeUs)) throw new CodecError(`time ${timeUs}`);
  return timeUs;
}
