// The byte form of queue options: a varint count, then the values in the order of
// `QUEUE_OPTION_NAMES`: zigzag varints, booleans as 0 or 1, texts. A reader that knows more options
// than the entry has gives the missing ones their defaults.

import { CodecError } from '@queen-ts/base';
import type { ByteReader, ByteWriter } from '@queen-ts/base';
import { CONFIGURED_QUEUE_DEFAULTS, QUEUE_OPTION_NAMES } from '../queue-options.ts';
import type { QueueOptionName, QueueOptions } from '../queue-options.ts';

/** Writes all options. */
export function writeQueueOptions(writer: ByteWriter, options: QueueOptions): void {
  writer.varint(QUEUE_OPTION_NAMES.length);
  for (const name of QUEUE_OPTION_NAMES) {
    const value = options[name];
    if (typeof value === 'string') writer.string(value);
    else if (typeof value === 'boolean') writer.u8(value ? 1 : 0);
    else writer.varint(value < 0 ? -value * 2 - 1 : value * 2);
  }
}

/** Reads all options. Throws CodecError when there are more than this build knows. */
export function readQueueOptions(reader: ByteReader): QueueOptions {
  const count = reader.varint();
  if (count > QUEUE_OPTION_NAMES.length) throw new CodecError(`${count} queue options`);
  const values: Partial<Record<QueueOptionName, number | boolean | string>> = {};
  for (const name of QUEUE_OPTION_NAMES.slice(0, count)) {
    values[name] = readOption(reader, typeof CONFIGURED_QUEUE_DEFAULTS[name]);
  }
  return { ...CONFIGURED_QUEUE_DEFAULTS, ...(values as Partial<QueueOptions>) };
}

function readOption(reader: ByteReader, type: string): number | boolean | string {
  if (type === 'string') return reader.string();
  if (type === 'boolean') {
    const value = reader.u8();
    if (value > 1) throw new CodecError(`boolean ${value}`);
    return value === 1;
  }
  const zigzag = reader.varint();
  return zigzag % 2 === 0 ? zigzag / 2 : -(zigzag + 1) / 2;
}
