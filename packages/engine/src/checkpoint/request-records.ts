// The outcomes of recent requests: one record for each chunk of their memory, as it is there.

import type { ByteReader, ByteWriter } from '@queen-ts/base';
import type { State } from '../state.ts';
import type { RequestChunk } from '../tables/recent-requests.ts';
import { RECORD } from './format.ts';

/** A chunk and which memory it belongs to. */
export interface FrozenRequests {
  readonly isClientKeys: boolean;
  readonly chunk: RequestChunk;
}

/** The chunks of both memories, oldest first. */
export function freezeRequests(state: State): FrozenRequests[] {
  const chunksOf = (isClientKeys: boolean): FrozenRequests[] =>
    (isClientKeys ? state.clientRequests : state.mintedRequests)
      .freeze()
      .map((chunk) => ({ isClientKeys, chunk }));
  return [...chunksOf(false), ...chunksOf(true)];
}

/** Writes one chunk. */
export function writeRequests(writer: ByteWriter, { isClientKeys, chunk }: FrozenRequests): void {
  writer.u8(RECORD.REQUESTS);
  writer.u8(isClientKeys ? 1 : 0);
  writer.varint(chunk.lastUs);
  writer.varint(chunk.bytes.length);
  writer.raw(chunk.bytes);
}

/** Reads the fields of a chunk after the kind byte; returns the ids that are remembered by it alone. */
export function readRequests(reader: ByteReader, state: State): number {
  const memory = reader.u8() === 1 ? state.clientRequests : state.mintedRequests;
  const lastUs = reader.varint();
  const before = memory.count;
  memory.restore({ lastUs, bytes: reader.raw(reader.varint()) });
  return memory.count - before;
}
