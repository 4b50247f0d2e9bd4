// Random raft messages as a core could send them, for round trips and damage.

import { FORMAT_LIMITS } from '../transport-limits.ts';
import { membershipOf, toNodeId } from '@queen-ts/raft';
import type { Entry, EntryType, Message } from '@queen-ts/raft';
import fc from 'fast-check';

/** The connection that the messages belong to. */
export const PARTIES = { from: toNodeId(2), to: toNodeId(1), incarnation: 77 };

const safe = fc.oneof(fc.nat({ max: 300 }), fc.nat({ max: 2 ** 48 }));
const positive = safe.map((value) => value + 1);
const bytes = fc.oneof(
  fc.uint8Array({ maxLength: 40 }),
  // Large enough for data frames of their own.
  fc.nat({ max: 40_000 }).map((size) => new Uint8Array(size).fill(size % 251)),
);

const header = fc.record({
  from: fc.constant(PARTIES.from),
  to: fc.constant(PARTIES.to),
  incarnation: fc.constant(PARTIES.incarnation),
  term: safe,
});

const entryParts = fc.record({
  termStep: fc.nat({ max: 3 }),
  type: fc.constantFrom<EntryType>('command', 'noop', 'membership'),
  head: bytes,
  payload: bytes,
});

const append: fc.Arbitrary<Message> = fc
  .record({
    header,
    prev: fc.option(fc.record({ index: positive, term: positive })),
    commitIndex: safe,
    entries: fc.array(entryParts, { maxLength: 12 }),
  })
  .map(({ header: head, prev, commitIndex, entries: parts }) => {
    const prevIndex = prev?.index ?? 0;
    let term = prev?.term ?? 0;
    const entries = parts.map(({ termStep, ...rest }, i): Entry => {
      term = Math.max(1, term + termStep);
      return { ...rest, term, index: prevIndex + 1 + i };
    });
    const prevTerm = prev?.term ?? 0;
    const messageTerm = Math.max(head.term, term, 1);
    return {
      ...head,
      term: messageTerm,
      kind: 'append',
      prevIndex,
      prevTerm,
      entries,
      commitIndex,
    };
  });

const membership = fc
  .uniqueArray(
    fc.record({
      id: fc.integer({ min: 1, max: 2 ** 32 - 1 }).map(toNodeId),
      role: fc.constantFrom('voter' as const, 'learner' as const),
      incarnation: safe,
      address: fc.string({ unit: 'grapheme', maxLength: 30 }),
    }),
    { selector: ({ id }) => id, maxLength: 8 },
  )
  .map(membershipOf);

/** Any message from {@link PARTIES}.from to {@link PARTIES}.to. */
export const arbitraryMessage: fc.Arbitrary<Message> = fc.oneof(
  append,
  fc
    .record({ preVote: fc.boolean(), transfer: fc.boolean(), lastIndex: safe, lastTerm: safe })
    .chain((fields) =>
      header.map((head) => ({ ...head, kind: 'voteRequest' as const, ...fields })),
    ),
  fc
    .record({ preVote: fc.boolean(), granted: fc.boolean() })
    .chain((fields) => header.map((head) => ({ ...head, kind: 'voteReply' as const, ...fields }))),
  fc
    .record({ rejected: fc.boolean(), index: safe, hintIndex: safe, hintTerm: safe })
    .chain((fields) =>
      header.map((head) => ({ ...head, kind: 'appendReply' as const, ...fields })),
    ),
  fc
    .record({ readRound: safe })
    .chain((fields) => header.map((head) => ({ ...head, kind: 'heartbeat' as const, ...fields }))),
  fc
    .record({ readRound: safe, commitIndex: safe })
    .chain((fields) =>
      header.map((head) => ({ ...head, kind: 'heartbeatReply' as const, ...fields })),
    ),
  fc
    .record({ snapshot: fc.record({ index: positive, term: positive, membership }) })
    .chain((fields) => header.map((head) => ({ ...head, kind: 'snapshot' as const, ...fields }))),
  header.map((head) => ({ ...head, kind: 'timeoutNow' as const })),
  fc
    .record({ refusedIncarnation: safe })
    .chain((fields) =>
      header.map((head) => ({ ...head, kind: 'identityConflict' as const, ...fields })),
    ),
);

/** One entry of the given sizes, its payload a pattern. */
export function entryOf(place: {
  readonly index: number;
  readonly term?: number;
  readonly headSize?: number;
  readonly payloadSize: number;
}): Entry {
  const { index, term = 1, headSize = 8, payloadSize } = place;
  const head = new Uint8Array(headSize).fill(index % 251);
  const payload = new Uint8Array(payloadSize);
  for (let i = 0; i < payloadSize; i += 997) payload[i] = (i + index) % 256;
  return { index, term, type: 'command', head, payload };
}

/** More entries than one message may carry. */
export const TOO_MANY_ENTRIES = FORMAT_LIMITS.appendEntriesMax * 2 + 5;
