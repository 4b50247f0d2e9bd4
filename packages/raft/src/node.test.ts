import { SeededRng } from '@queen-ts/base';
import { describe, expect, it } from 'vitest';
import { encodeMembership } from './membership-codec.ts';
import { membershipOf } from './membership.ts';
import { channelOf } from './messages.ts';
import type { Message, VoteReply } from './messages.ts';
import { toNodeId } from './node-id.ts';
import type { NodeId } from './node-id.ts';
import { RaftNode } from './node.ts';
import type { RaftNodeOptions } from './options.ts';
import type { Entry, LogReader } from './ports.ts';
import type { Ready } from './ready.ts';
import { MemoryLogStore } from './testing/memory-log-store.ts';

const NO_BYTES = new Uint8Array(0);
const DATA = { head: NO_BYTES, payload: NO_BYTES };
const [A, B, C] = [toNodeId(1), toNodeId(2), toNodeId(3)];

describe('the protocol between core and driver', () => {
  it('asks for ready and advance in turn', () => {
    const { node } = nodeOf({});
    expect(() => node.advance()).toThrow('advance without ready');
    node.ready();
    expect(() => node.ready()).toThrow('ready before advance');
    expect(node.hasReady()).toBe(false);
    node.advance();
  });

  it('returns an empty batch when there is nothing to do', () => {
    const { node } = nodeOf({});
    expect(node.hasReady()).toBe(false);
    expect(node.ready()).toEqual({
      entries: [],
      mustSync: false,
      messages: [],
      messagesAfterPersist: [],
      committed: [],
      readStates: [],
      snapshotsToSend: [],
    });
  });

  it('gives one persist at a time and holds back what depends on a later one', () => {
    const { node } = leaderOf({ voters: [A] });
    expect(node.propose(DATA).ok).toBe(true);
    const first = take(node);
    expect([first.mustSync, first.entries.length]).toEqual([true, 1]);
    node.propose(DATA);
    expect(node.hasReady()).toBe(false);
    expect(take(node)).toMatchObject({ entries: [], mustSync: false });
    expect(() => node.persisted({ term: 9, index: 9 })).toThrow('persisted 9/9');
    node.persisted(tokenOf(first));
    const second = take(node);
    expect(second.entries.map(({ index }) => index)).toEqual([3]);
    expect(second.committed.map(({ index }) => index)).toEqual([2]);
  });

  it('syncs once per batch and saves no hard state for a commit alone', () => {
    const { node } = leaderOf({ voters: [A] });
    for (let i = 0; i < 10; i++) node.propose(DATA);
    const batch = take(node);
    expect([batch.entries.length, batch.hardState]).toEqual([10, undefined]);
    node.persisted(tokenOf(batch));
    const after = take(node);
    expect([after.committed.length, after.mustSync]).toEqual([10, false]);
  });

  it('puts the messages that wait for nothing among those that may leave', () => {
    const { node } = nodeOf({ hardState: { term: 3, votedFor: 0, commitIndex: 0 } });
    node.step(appendTo(A, { prevIndex: 0, prevTerm: 0, entries: [] }));
    const ready = take(node);
    expect(ready.messages.map(({ kind }) => kind)).toEqual(['appendReply']);
    expect([ready.messagesAfterPersist, ready.mustSync]).toEqual([[], false]);
  });

  it('shows a term won back under the same role as news', () => {
    const { node } = leaderOf({ voters: [A, B] });
    node.step(voteRequestTo(A, { term: 5, transfer: true }));
    finish(node);
    for (let tick = 0; tick < 40; tick++) node.tick();
    finish(node);
    node.step(voteReplyTo(A, { term: 6, preVote: true }));
    finish(node);
    node.step(voteReplyTo(A, { term: 6, preVote: false }));
    expect(take(node).softState).toMatchObject({ role: 'leader', term: 6 });
  });
});

describe('the members a node starts with', () => {
  const three = membershipOf([
    { id: A, role: 'voter', incarnation: 100, address: '' },
    { id: B, role: 'voter', incarnation: 200, address: 'b:1' },
    { id: C, role: 'learner', incarnation: 0, address: 'c:1' },
  ]);
  const hardState = { term: 1, votedFor: 0, commitIndex: 2 } as const;
  const head = encodeMembership(three);
  const entries = [
    entryOf(1, 1),
    { ...entryOf(2, 1), type: 'membership', head },
    entryOf(3, 1),
  ] as const;

  it.each([
    ['by the index of the store', (log: MemoryLogStore): LogReader => log],
    ['by reading all of it', withoutMembershipIndexes],
  ])('are read from a complete log, applied or not, %s', (_how, readerOf) => {
    for (const appliedIndex of [0, 2]) {
      const log = readerOf(storeOf(entries));
      const { node } = nodeOf({ log, hardState, appliedIndex, voters: [A] });
      expect(node.status).toMatchObject({ membership: three, membershipIndex: 2 });
    }
  });

  it('must be given when the log does not reach back', () => {
    const log = storeOf(entries);
    log.compactNow(2);
    const options = { log, hardState, appliedIndex: 2 };
    expect(() => nodeOf(options)).toThrow('the log starts at 3, and no membership was given');
    expect(nodeOf({ ...options, membership: three }).node.status.membership).toBe(three);
  });
});

describe('what a node refuses', () => {
  it.each([
    ['a heartbeat as slow as the election', { heartbeatTicks: 10 }, 'heartbeat every 10'],
    ['no incarnation', { incarnation: 0 }, 'incarnation 0'],
    ['no room for anything', { limits: limitsOf(0) }, 'limits are at least 1 byte'],
  ])('%s', (_what, options, message) => {
    expect(() => nodeOf(options)).toThrow(message);
  });

  it('a log of a later term than the hard state', () => {
    const log = new MemoryLogStore();
    log.begin([{ index: 1, term: 4, type: 'noop', ...DATA }]);
    const hardState = { term: 3, votedFor: 0, commitIndex: 0 } as const;
    expect(() => nodeOf({ log, hardState })).toThrow('log ends in term 4, hard state is of term 3');
  });

  it('messages for somebody else, or from itself', () => {
    const { node } = nodeOf({});
    expect(() => node.step(appendTo(B, {}))).toThrow('message to 2 arrived at 1');
    expect(() => node.step({ ...appendTo(A, {}), from: A })).toThrow('message of 1 to itself');
  });

  it('two leaders in one term', () => {
    const { node } = leaderOf({ voters: [A] });
    const { term } = node.status;
    expect(() => node.step({ ...appendTo(A, {}), term })).toThrow('two leaders in term 1: 1 and 2');
  });

  it('an append that contradicts what is committed', () => {
    const { node } = nodeOf({ hardState: { term: 3, votedFor: 0, commitIndex: 0 } });
    const entries = [entryOf(1, 1), entryOf(2, 1)];
    node.step(appendTo(A, { prevIndex: 0, prevTerm: 0, entries, commitIndex: 2 }));
    const conflicting = [entryOf(1, 1), entryOf(2, 2)];
    expect(() => node.step(appendTo(A, { prevIndex: 0, entries: conflicting }))).toThrow(
      'committed entry 2 has term 2 elsewhere',
    );
  });
});

describe('what a follower commits', () => {
  it('ends where the append ends, although the log and the commit index go on', () => {
    const log = storeOf([entryOf(1, 1), entryOf(2, 1), entryOf(3, 1)]);
    const { node } = nodeOf({ log, hardState: { term: 1, votedFor: 0, commitIndex: 0 } });
    const entries = [entryOf(2, 1)];
    node.step(appendTo(A, { term: 2, prevIndex: 1, prevTerm: 1, entries, commitIndex: 9 }));
    expect(node.status).toMatchObject({ commitIndex: 2, lastIndex: 3 });
  });
});

describe('voting', () => {
  const hardState = { term: 5, votedFor: 0, commitIndex: 0 } as const;

  it.each([
    ['an older term', { term: 4 }, false],
    ['the current term', { term: 5 }, true],
    ['a newer term', { term: 9 }, true],
  ])('answers a candidate of %s', (_what, fields, granted) => {
    const { node } = nodeOf({ hardState });
    node.step(voteRequestTo(A, fields));
    expect(voteOf(take(node))).toMatchObject({ granted, term: Math.max(5, fields.term) });
  });

  it('gives the vote once, and again only to the same candidate', () => {
    const { node } = nodeOf({ hardState: { ...hardState, votedFor: C } });
    node.step(voteRequestTo(A, { term: 5, from: B }));
    expect(voteOf(take(node)).granted).toBe(false);
    node.step(voteRequestTo(A, { term: 5, from: C }));
    expect(voteOf(take(node)).granted).toBe(true);
  });

  it('answers a pre-vote without entering its term or spending the vote', () => {
    const { node } = nodeOf({ hardState });
    node.step(voteRequestTo(A, { term: 6, preVote: true }));
    expect(voteOf(take(node))).toMatchObject({ granted: true, term: 6 });
    node.step(voteRequestTo(A, { term: 5, preVote: true }));
    expect(voteOf(take(node))).toMatchObject({ granted: false, term: 5 });
    expect(node.status).toMatchObject({ term: 5, votedFor: 0 });
  });

  it('stops when its disk was refused', () => {
    const { node } = nodeOf({ hardState, incarnation: 7 });
    const header = { from: B, to: A, term: 5, incarnation: 1 };
    node.step({ ...header, kind: 'identityConflict', refusedIncarnation: 6 });
    expect(node.status.isIdentityRefused).toBe(false);
    node.step({ ...header, kind: 'identityConflict', refusedIncarnation: 7 });
    expect(take(node).softState?.isIdentityRefused).toBe(true);
    node.step(voteRequestTo(A, { term: 6 }));
    expect(voteOf(take(node)).granted).toBe(false);
  });
});

describe('channelOf', () => {
  it('keeps entries and snapshots off the control connection', () => {
    expect(channelOf(appendTo(A, {}))).toBe('bulk');
    expect(channelOf(voteRequestTo(A, {}))).toBe('control');
    expect(channelOf({ ...voteReplyTo(A, {}), kind: 'heartbeat', readRound: 0 })).toBe('control');
  });
});

function limitsOf(sizeBytes: number): RaftNodeOptions['limits'] {
  return {
    maxAppendBytes: sizeBytes,
    maxInflightBytes: sizeBytes,
    maxUncommittedBytes: sizeBytes,
  };
}

function nodeOf(options: Partial<RaftNodeOptions>): { node: RaftNode } {
  const node = new RaftNode({
    id: A,
    incarnation: 100,
    voters: [A, B, C],
    learners: [],
    log: new MemoryLogStore(),
    hardState: { term: 0, votedFor: 0, commitIndex: 0 },
    appliedIndex: 0,
    rng: new SeededRng(1),
    electionTicks: 10,
    heartbeatTicks: 2,
    limits: limitsOf(10_000),
    ...options,
  });
  return { node };
}

function storeOf(entries: readonly Entry[]): MemoryLogStore {
  const log = new MemoryLogStore();
  log.begin(entries);
  log.sync();
  return log;
}

/** The store as one that keeps no index of membership entries. */
function withoutMembershipIndexes(log: MemoryLogStore): LogReader {
  return {
    firstIndex: log.firstIndex,
    lastIndex: log.lastIndex,
    term: (index) => log.term(index),
    entries: (range) => log.entries({ ...range, maxBytes: 0 }),
    payload: (range) => log.payload(range),
  };
}

/** A node that leads term 1 with everything persisted and applied. */
function leaderOf(options: { voters: readonly NodeId[] }): { node: RaftNode } {
  const { node } = nodeOf(options);
  node.campaign();
  finish(node);
  if (options.voters.length > 1) {
    node.step(voteReplyTo(A, { term: 1, preVote: true }));
    finish(node);
    node.step(voteReplyTo(A, { term: 1, preVote: false }));
    finish(node);
  }
  expect(node.status.role).toBe('leader');
  return { node };
}

function take(node: RaftNode): Ready {
  const ready = node.ready();
  node.advance();
  return ready;
}

/** Handles batches until there are none, with every persist done at once. */
function finish(node: RaftNode): void {
  while (node.hasReady()) {
    const ready = take(node);
    if (ready.persistUpTo !== undefined) node.persisted(ready.persistUpTo);
  }
}

function tokenOf(ready: Ready): { term: number; index: number } {
  if (ready.persistUpTo === undefined) throw new Error('the batch has nothing to persist');
  return ready.persistUpTo;
}

function voteOf(ready: Ready): VoteReply {
  const reply = [...ready.messages, ...ready.messagesAfterPersist].find(
    (message) => message.kind === 'voteReply',
  );
  if (reply === undefined) throw new Error('no vote in the batch');
  return reply;
}

function appendTo(to: NodeId, fields: object): Message {
  const header = { from: B, to, term: 3, incarnation: 200 };
  const place = { prevIndex: 0, prevTerm: 0, entries: [], commitIndex: 0 };
  return { ...header, kind: 'append', ...place, ...fields };
}

function voteRequestTo(to: NodeId, fields: object): Message {
  const header = { from: B, to, term: 1, incarnation: 200 };
  const log = { lastIndex: 0, lastTerm: 0 };
  return { ...header, kind: 'voteRequest', preVote: false, transfer: false, ...log, ...fields };
}

function voteReplyTo(to: NodeId, fields: object): VoteReply {
  const header = { from: B, to, term: 1, incarnation: 200 };
  return { ...header, kind: 'voteReply', preVote: false, granted: true, ...fields };
}

function entryOf(index: number, term: number) {
  return { index, term, type: 'command', ...DATA } as const;
}
