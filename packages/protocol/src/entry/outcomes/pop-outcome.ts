// The outcome of a pop that commits on delivery as it is remembered for a repeat of the request: where
// the messages are. A pop under a lease is remembered by its lease.
//
//   u8 flags (1 conflation, 2 conflict), varint claims, then for each
//   queue, partition, varint number, varint attempt, varint spans, then for each
//   varint entry, block start, block size, base offset, first, count

import type { ByteReader, ByteWriter } from '@queen-ts/base';
import type { PopCommand } from '../../commands.ts';
import type { BlockSpan, Claim, PopOutcome } from '../../outcomes.ts';
import { ZERO_ID } from '../effects.ts';

const FLAG = { CONFLATION: 1, CONFLICT: 2 } as const;

/** Writes an outcome with claims. */
export function writePopOutcome(writer: ByteWriter, outcome: PopOutcome): void {
  writer.u8(
    (outcome.conflation ? FLAG.CONFLATION : 0) | (outcome.conflationConflict ? FLAG.CONFLICT : 0),
  );
  writer.varint(outcome.claims.length);
  for (const claim of outcome.claims) {
    writer.string(claim.queue);
    writer.string(claim.partition);
    writer.varint(claim.partitionNumber);
    writer.varint(claim.deliveryAttempt);
    writer.varint(claim.spans.length);
    for (const span of claim.spans) writeSpan(writer, span);
  }
}

/** Reads the outcome of a pop. */
export function readPopOutcome(reader: ByteReader, command: PopCommand): PopOutcome {
  const flags = reader.u8();
  const claims: Claim[] = [];
  for (let left = reader.varint(); left > 0; left -= 1) claims.push(readClaim(reader));
  const spans = claims.flatMap((claim) => claim.spans);
  return {
    kind: 'pop',
    leaseId: ZERO_ID,
    autoAck: true,
    group: command.group,
    claims,
    messageCount: spans.reduce((sum, span) => sum + span.count, 0),
    emptyReason: undefined,
    isCut: false,
    conflation: (flags & FLAG.CONFLATION) !== 0,
    conflationConflict: (flags & FLAG.CONFLICT) !== 0,
  };
}

function writeSpan(writer: ByteWriter, span: BlockSpan): void {
  writer.varint(span.entryIndex);
  writer.varint(span.blockStart);
  writer.varint(span.blockSize);
  writer.varint(span.baseOffset);
  writer.varint(span.first);
  writer.varint(span.count);
}

function readClaim(reader: ByteReader): Claim {
  const queue = reader.string();
  const partition = reader.string();
  const partitionNumber = reader.varint();
  const deliveryAttempt = reader.varint();
  const spans: BlockSpan[] = [];
  for (let left = reader.varint(); left > 0; left -= 1) {
    spans.push({
      entryIndex: reader.varint(),
      blockStart: reader.varint(),
      blockSize: reader.varint(),
      baseOffset: reader.varint(),
      first: reader.varint(),
      count: reader.varint(),
    });
  }
  return { queue, partition, partitionNumber, deliveryAttempt, spans };
}
