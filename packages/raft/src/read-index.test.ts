import { describe, expect, it } from 'vitest';
import { toNodeId } from './node-id.ts';
import { READ_COUNT_MAX, READ_ROUND_COUNT_MAX, ReadRounds } from './read-index.ts';

const [A, B, C] = [toNodeId(1), toNodeId(2), toNodeId(3)];
const VOTERS = [A, B, C];

describe('ReadRounds', () => {
  it('answers a round when a majority confirmed it or a later one', () => {
    const reads = new ReadRounds();
    reads.add(11);
    reads.add(12);
    expect(reads.start(5)).toBe(true);
    reads.add(13);
    reads.start(8);
    expect(reads.newest).toBe(2);
    expect(reads.takeConfirmed(VOTERS, A)).toEqual([]);
    reads.confirm(C, 1);
    expect(reads.takeConfirmed(VOTERS, A)).toEqual([
      { contextId: 11, index: 5 },
      { contextId: 12, index: 5 },
    ]);
    reads.confirm(B, 2);
    expect(reads.takeConfirmed(VOTERS, A)).toEqual([{ contextId: 13, index: 8 }]);
    expect(reads.takeConfirmed(VOTERS, A)).toEqual([]);
  });

  it('does not take a late confirmation of an earlier round for a newer one', () => {
    const reads = new ReadRounds();
    reads.add(1);
    reads.start(1);
    reads.add(2);
    reads.start(2);
    reads.confirm(B, 2);
    reads.confirm(B, 1);
    expect(reads.takeConfirmed(VOTERS, A)).toHaveLength(2);
  });

  it('does not count a leader that is no voter', () => {
    const reads = new ReadRounds();
    reads.add(1);
    reads.start(1);
    reads.confirm(B, 1);
    expect(reads.takeConfirmed([B, C], A)).toEqual([]);
    reads.confirm(C, 1);
    expect(reads.takeConfirmed([B, C], A)).toHaveLength(1);
  });

  it('bounds the rounds on their way; later reads share the next one', () => {
    const reads = new ReadRounds();
    for (let i = 0; i < READ_ROUND_COUNT_MAX; i++) {
      reads.add(i);
      expect(reads.start(1)).toBe(true);
    }
    reads.add(100);
    reads.add(101);
    expect(reads.start(1)).toBe(false);
    expect(reads.hasWaiting).toBe(true);
    reads.confirm(B, 1);
    expect(reads.takeConfirmed(VOTERS, A)).toHaveLength(1);
    expect(reads.start(2)).toBe(true);
    expect(reads.hasWaiting).toBe(false);
  });

  it('bounds the reads, and has room again when they are answered', () => {
    const reads = new ReadRounds();
    for (let i = 0; i < READ_COUNT_MAX; i++) expect(reads.add(i)).toBe(true);
    expect(reads.add(-1)).toBe(false);
    reads.start(1);
    expect(reads.add(-1)).toBe(false);
    reads.confirm(B, 1);
    expect(reads.takeConfirmed(VOTERS, A)).toHaveLength(READ_COUNT_MAX);
    expect(reads.add(-1)).toBe(true);
  });
});
