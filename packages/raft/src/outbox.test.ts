import { describe, expect, it } from 'vitest';
import type { AppendReply, Message } from './messages.ts';
import { toNodeId } from './node-id.ts';
import { HELD_MESSAGE_COUNT_MAX, Outbox } from './outbox.ts';

const HEADER = { from: toNodeId(1), to: toNodeId(2), incarnation: 1 };

describe('Outbox', () => {
  it('holds back what speaks of a term that is not durable, except pre-votes', () => {
    const outbox = new Outbox(4);
    const heartbeat = { ...HEADER, kind: 'heartbeat', readRound: 0 } as const;
    const vote = { ...HEADER, kind: 'voteReply', granted: true } as const;
    outbox.send({ ...heartbeat, term: 4 });
    outbox.send({ ...heartbeat, term: 5 });
    outbox.send({ ...vote, preVote: true, term: 6 });
    outbox.send({ ...vote, preVote: false, term: 6 });
    expect(outbox.takeMessages().map(nameOf)).toEqual(['heartbeat 4', 'voteReply 6']);
    expect(outbox.takeMessagesAfterPersist().map(nameOf)).toEqual(['heartbeat 5', 'voteReply 6']);
  });

  it('keeps only the last of consecutive acks to the same leader', () => {
    const outbox = new Outbox(4);
    outbox.sendAfterPersist(ackOf({ index: 5 }));
    outbox.sendAfterPersist(ackOf({ index: 7 }));
    outbox.sendAfterPersist(ackOf({ index: 7, rejected: true }));
    outbox.sendAfterPersist(ackOf({ index: 6 }));
    outbox.sendAfterPersist(ackOf({ index: 8, to: toNodeId(3) }));
    outbox.sendAfterPersist(ackOf({ index: 9, to: toNodeId(3), term: 5 }));
    const kept = outbox.takeMessagesAfterPersist() as AppendReply[];
    expect(kept.map(({ to, term, index, rejected }) => [to, term, index, rejected])).toEqual([
      [2, 4, 7, false],
      [2, 4, 7, true],
      [2, 4, 6, false],
      [3, 4, 8, false],
      [3, 5, 9, false],
    ]);
  });

  it('drops what is too much while a disk stalls', () => {
    const outbox = new Outbox(4);
    for (let i = 0; i < HELD_MESSAGE_COUNT_MAX + 5; i++) {
      outbox.sendAfterPersist(ackOf({ index: i, rejected: true }));
    }
    expect(outbox.takeMessagesAfterPersist()).toHaveLength(HELD_MESSAGE_COUNT_MAX);
  });
});

function ackOf(fields: Partial<AppendReply> & { index: number }): AppendReply {
  const defaults = { term: 4, rejected: false, hintIndex: 0, hintTerm: 0 };
  return { ...HEADER, kind: 'appendReply', ...defaults, ...fields };
}

function nameOf({ kind, term }: Message): string {
  return `${kind} ${term}`;
}
