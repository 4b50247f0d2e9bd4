// The first record: what is there once, and how many rows of each kind follow.

import { CodecError } from '@queen-ts/base';
import type { ByteReader, ByteWriter } from '@queen-ts/base';
import { EFFECT, readEffect, writeEffect } from '@queen-ts/protocol';
import type { State } from '../state.ts';
import { NO_ROWS, RECORD, ROW_COUNT_NAMES, STATE_FORMAT_VERSION } from './format.ts';
import type { RowCounts } from './format.ts';

/** Writes what the state has once. */
export function writeState(writer: ByteWriter, state: State, counts: RowCounts): void {
  const { identity, closedUs, closedIndex, digest } = state;
  const [a, b] = digest.lanes();
  writer.u8(RECORD.STATE);
  writer.u8(STATE_FORMAT_VERSION);
  writer.varint(closedUs);
  writer.varint(closedIndex);
  writer.u32(a);
  writer.u32(b);
  writer.varint(state.nextQueue);
  writer.varint(state.nextGroup);
  writer.varint(state.nextPartition);
  writer.varint(state.nextDeadLetter);
  for (const name of ROW_COUNT_NAMES) writer.varint(counts[name]);
  writeEffect(writer, { kind: EFFECT.MAINTENANCE, ...state.maintenance }, closedUs);
  writer.u8(identity === undefined ? 0 : 1);
  if (identity === undefined) return;
  const [k0 = 0, k1 = 0, k2 = 0, k3 = 0] = identity.hashKey;
  const { clusterId } = identity;
  const genesis = { kind: EFFECT.GENESIS, clusterId, hashKey: [k0, k1, k2, k3] } as const;
  writeEffect(writer, genesis, closedUs);
}

/** Reads the fields after the kind byte into an empty state; returns the promised counts. */
export function readState(reader: ByteReader, state: State): RowCounts {
  const version = reader.u8();
  if (version !== STATE_FORMAT_VERSION) {
    throw new CodecError(
      `state format version ${version}, this program reads ${STATE_FORMAT_VERSION} only`,
    );
  }
  state.closedUs = reader.varint();
  state.nowUs = state.closedUs;
  state.closedIndex = reader.varint();
  state.entryIndex = state.closedIndex;
  state.digest.restore(reader.u32(), reader.u32());
  state.nextQueue = reader.varint();
  state.nextGroup = reader.varint();
  state.nextPartition = reader.varint();
  state.nextDeadLetter = reader.varint();
  const counts = { ...NO_ROWS };
  for (const name of ROW_COUNT_NAMES) counts[name] = reader.varint();
  const maintenance = readEffect(reader, state.closedUs);
  if (maintenance.kind !== EFFECT.MAINTENANCE) {
    throw new CodecError(`maintenance of kind ${maintenance.kind}`);
  }
  const { pushPaused, popPaused } = maintenance;
  state.maintenance = { pushPaused, popPaused };
  if (reader.u8() === 0) return counts;
  const genesis = readEffect(reader, state.closedUs);
  if (genesis.kind !== EFFECT.GENESIS) throw new CodecError(`identity of kind ${genesis.kind}`);
  const { clusterId, hashKey } = genesis;
  state.identity = { clusterId, hashKey: Uint32Array.from(hashKey) };
  return counts;
}
