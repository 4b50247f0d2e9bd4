// Repeated requests (decisions D2): a request that had effects is remembered by its id on every node,
// and a repeat, also one that reaches another leader, is answered with the first outcome instead of
// being planned again. A pop under a lease is remembered by its lease.

import { idsEqual } from '@queen-ts/base';
import { readOutcome } from '@queen-ts/protocol';
import type {
  BlockSpan,
  Claim,
  Command,
  Outcome,
  PopCommand,
  PopOutcome,
  RequestId,
} from '@queen-ts/protocol';
import type { State } from '../state.ts';
import type { RecentRequests } from '../tables/recent-requests.ts';
import { liveLeases } from './leases.ts';
import { takeSpans } from './spans.ts';

/** The memory that a request belongs to. */
export function memoryOf(state: State, request: RequestId): RecentRequests {
  return request.isClientKey ? state.clientRequests : state.mintedRequests;
}

/** The first outcome of a request that is a repeat; undefined when it is none. */
export function recall(state: State, command: Command, request: RequestId): Outcome | undefined {
  if (command.kind === 'pop' && !command.autoAck) return recallClaim(state, command);
  const bytes = memoryOf(state, request).find(request.words);
  if (bytes === undefined) return undefined;
  const outcome = readOutcome(bytes, command);
  if (outcome?.kind === 'pop') return withoutRemoved(state, outcome);
  if (outcome !== undefined) return outcome;
  const message = 'this Idempotency-Key was used for another request before';
  return { kind: 'refused', code: 'bad_request', message };
}

/** The pop without messages that retention removed since: nothing may read them any more. */
function withoutRemoved(state: State, outcome: PopOutcome): PopOutcome {
  const { numbers, logStart } = state.partitions;
  const claims = outcome.claims.flatMap((claim) => {
    const row = numbers.get(claim.partitionNumber);
    if (row === 0) return [];
    const spans = claim.spans.flatMap((span) => retainedPart(span, logStart.get(row)));
    return spans.length === 0 ? [] : [{ ...claim, spans }];
  });
  const counts = claims.flatMap(({ spans }) => spans.map(({ count }) => count));
  return { ...outcome, claims, messageCount: counts.reduce((sum, count) => sum + count, 0) };
}

function retainedPart(span: BlockSpan, logStart: number): BlockSpan[] {
  const removed = Math.max(0, logStart - span.baseOffset - span.first);
  if (removed >= span.count) return [];
  return [{ ...span, first: span.first + removed, count: span.count - removed }];
}

/**
 * What a pop claimed before, as its lease still holds it. A lease that ended, because the claim was
 * given back for want of a receiver or ran out, is no memory: then the pop claims anew.
 */
function recallClaim(state: State, command: PopCommand): Outcome | undefined {
  const rows = liveLeases(state, command.leaseId);
  if (rows.length === 0) return undefined;
  const claims = rows.flatMap((row) => claimOf(state, command, row));
  const spans = claims.flatMap((claim) => claim.spans);
  if (spans.length === 0) return undefined;
  const groupOf = (row: number) => state.groups.get(state.cursors.index.groupOf(row));
  return {
    kind: 'pop',
    leaseId: command.leaseId,
    autoAck: false,
    group: command.group,
    claims: claims.toSorted((a, b) => a.partitionNumber - b.partitionNumber),
    messageCount: spans.reduce((sum, span) => sum + span.count, 0),
    emptyReason: undefined,
    isCut: false,
    conflation: rows.some((row) => groupOf(row)?.conflation === true),
    conflationConflict: rows.some(
      (row) => command.conflation !== undefined && command.conflation !== groupOf(row)?.conflation,
    ),
  };
}

/** One partition of a claim; none when the lease is another group's or its messages are gone. */
function claimOf(state: State, command: PopCommand, row: number): Claim[] {
  const { cursors, partitions } = state;
  const group = state.groups.get(cursors.index.groupOf(row));
  const partitionRow = cursors.index.partitionOf(row);
  const isHeld = idsEqual(cursors.leaseId(row), command.leaseId);
  if (group === undefined || group.name !== command.group || !isHeld) return [];
  const toExclusive = cursors.deliveries.leaseToExclusive.get(row);
  const first = group.conflation ? toExclusive - 1 : cursors.deliveries.leaseFrom.get(row);
  const from = Math.max(first, partitions.logStart.get(partitionRow));
  if (from >= toExclusive) return [];
  const { spans } = takeSpans(state, { row: partitionRow, from, toExclusive }, Infinity);
  return [
    {
      queue: group.queue.name,
      partition: partitions.names.nameText(partitionRow),
      partitionNumber: partitions.number.get(partitionRow),
      deliveryAttempt: Math.max(1, cursors.deliveries.attemptCount.get(row)),
      spans,
    },
  ];
}
