// The byte form of a cursor row: a flags byte says which of its three optional parts follow, and
// offsets end as sizes, so that an idle cursor takes a few bytes.
//
//   varint partition, varint group, u8 CURSOR_FLAG, varint next
//   RETRIED   varint retry count
//   LEASED    lease id, time of expiry, varint from, varint size
//   ATTEMPTED varint from, varint count
//   SETTLED   lease id, varint from, varint size

import { CodecError } from '@queen-ts/base';
import type { ByteReader, ByteWriter } from '@queen-ts/base';
import { EFFECT, ZERO_ID } from './effects.ts';
import type { CursorPutEffect } from './effects.ts';
import { readId, readTime, writeId, writeTime } from './fields.ts';

const CURSOR_FLAG = { RETRIED: 1, LEASED: 2, ATTEMPTED: 4, SETTLED: 8 } as const;
const CURSOR_FLAGS_ALL = 15;

/** Writes the fields of a cursor row. Times are relative to `nowUs`. */
export function writeCursorPut(writer: ByteWriter, effect: CursorPutEffect, nowUs: number): void {
  const isLeased = effect.leaseToExclusive !== 0;
  const isSettled = effect.settledToExclusive !== 0;
  const flags =
    (effect.retryCount > 0 ? CURSOR_FLAG.RETRIED : 0) |
    (isLeased ? CURSOR_FLAG.LEASED : 0) |
    (effect.attemptCount > 0 ? CURSOR_FLAG.ATTEMPTED : 0) |
    (isSettled ? CURSOR_FLAG.SETTLED : 0);
  writer.varint(effect.partition);
  writer.varint(effect.group);
  writer.u8(flags);
  writer.varint(effect.next);
  if (effect.retryCount > 0) writer.varint(effect.retryCount);
  if (isLeased) {
    writeId(writer, effect.leaseId);
    writeTime(writer, effect.leaseExpiresUs, nowUs);
    writer.varint(effect.leaseFrom);
    writer.varint(effect.leaseToExclusive - effect.leaseFrom);
  }
  if (effect.attemptCount > 0) {
    writer.varint(effect.attemptFrom);
    writer.varint(effect.attemptCount);
  }
  if (isSettled) {
    writeId(writer, effect.settledLeaseId);
    writer.varint(effect.settledFrom);
    writer.varint(effect.settledToExclusive - effect.settledFrom);
  }
}

/** Reads the fields of a cursor row. */
export function readCursorPut(reader: ByteReader, nowUs: number): CursorPutEffect {
  const partition = reader.varint();
  const group = reader.varint();
  const flags = reader.u8();
  if (flags > CURSOR_FLAGS_ALL) throw new CodecError(`cursor flags ${flags}`);
  const next = reader.varint();
  const retryCount = flags & CURSOR_FLAG.RETRIED ? reader.varint() : 0;
  const isLeased = (flags & CURSOR_FLAG.LEASED) !== 0;
  const leaseId = isLeased ? readId(reader) : ZERO_ID;
  const leaseExpiresUs = isLeased ? readTime(reader, nowUs) : 0;
  const leaseFrom = isLeased ? reader.varint() : 0;
  const leaseToExclusive = isLeased ? leaseFrom + reader.varint() : 0;
  const isAttempted = (flags & CURSOR_FLAG.ATTEMPTED) !== 0;
  const attemptFrom = isAttempted ? reader.varint() : 0;
  const attemptCount = isAttempted ? reader.varint() : 0;
  const isSettled = (flags & CURSOR_FLAG.SETTLED) !== 0;
  const settledLeaseId = isSettled ? readId(reader) : ZERO_ID;
  const settledFrom = isSettled ? reader.varint() : 0;
  const settledToExclusive = isSettled ? settledFrom + reader.varint() : 0;
  return {
    kind: EFFECT.CURSOR_PUT,
    partition,
    group,
    next,
    retryCount,
    leaseId,
    leaseExpiresUs,
    leaseFrom,
    leaseToExclusive,
    attemptFrom,
    attemptCount,
    settledLeaseId,
    settledFrom,
    settledToExclusive,
  };
}
