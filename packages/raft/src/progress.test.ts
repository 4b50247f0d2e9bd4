import { describe, expect, it } from 'vitest';
import { toNodeId } from './node-id.ts';
import { INFLIGHT_COUNT_MAX, Progress } from './progress.ts';

describe('Progress as a probe', () => {
  it('sends one append and waits for its answer', () => {
    const peer = progressAt(10);
    expect([peer.state, peer.isPaused]).toEqual(['probe', false]);
    peer.sent(12, 100);
    expect([peer.isPaused, peer.nextIndex]).toEqual([true, 10]);
    peer.allowProbe();
    expect(peer.isPaused).toBe(false);
  });

  it('goes back to the hint, at least by one, and never below what is known to match', () => {
    const peer = progressAt(10);
    expect(peer.rejected(9, 5)).toBe(true);
    expect(peer.nextIndex).toBe(6);
    expect(peer.rejected(5, 5)).toBe(true);
    expect(peer.nextIndex).toBe(5);
    peer.accepted(2);
    expect(peer.rejected(4, 0)).toBe(true);
    expect(peer.nextIndex).toBe(3);
  });

  it('ignores a refusal of something else than it asked', () => {
    const peer = progressAt(10);
    expect(peer.rejected(7, 3)).toBe(false);
    expect(peer.nextIndex).toBe(10);
  });
});

describe('Progress as a replica', () => {
  it('moves on with what it sends, until the window is full, and opens it with acks', () => {
    const peer = replicaAt(5);
    peer.sent(6, 400);
    expect([peer.nextIndex, peer.inflightBytes, peer.isPaused]).toEqual([7, 400, false]);
    peer.sent(9, 700);
    expect([peer.nextIndex, peer.inflightBytes, peer.isPaused]).toEqual([10, 1100, true]);
    expect(peer.accepted(6)).toBe(true);
    expect([peer.inflightBytes, peer.isPaused]).toEqual([700, false]);
    expect(peer.accepted(9)).toBe(true);
    expect([peer.matchIndex, peer.inflightBytes]).toEqual([9, 0]);
  });

  it('bounds the number of appends too', () => {
    const peer = replicaAt(0);
    for (let index = 1; index <= INFLIGHT_COUNT_MAX; index++) {
      expect(peer.isPaused).toBe(false);
      peer.sent(index, 1);
    }
    expect(peer.isPaused).toBe(true);
  });

  it('does not count an append without entries', () => {
    const peer = replicaAt(5);
    peer.sent(5, 0);
    expect([peer.nextIndex, peer.inflightBytes]).toEqual([6, 0]);
  });

  it('treats acks that come late or twice as old news', () => {
    const peer = replicaAt(5);
    peer.sent(8, 10);
    peer.accepted(8);
    expect([peer.accepted(8), peer.accepted(6), peer.matchIndex]).toEqual([false, false, 8]);
  });

  it('becomes a probe when an append is refused that the peer should have taken', () => {
    const peer = replicaAt(5);
    peer.sent(8, 10);
    expect(peer.rejected(4, 4)).toBe(false);
    expect(peer.rejected(8, 5)).toBe(true);
    expect([peer.state, peer.nextIndex, peer.inflightBytes]).toEqual(['probe', 6, 0]);
  });
});

describe('Progress during a snapshot', () => {
  it('sends nothing and believes no refusal', () => {
    const peer = replicaAt(5);
    peer.becomeSnapshot();
    expect([peer.isPaused, peer.rejected(9, 1)]).toEqual([true, false]);
    expect(() => peer.sent(6, 1)).toThrow('append to 2 during a snapshot');
  });

  it('probes after the snapshot when it arrived, at the first index when it did not', () => {
    const peer = replicaAt(5);
    peer.becomeSnapshot();
    peer.snapshotFinished(40);
    expect([peer.state, peer.nextIndex, peer.isPaused]).toEqual(['probe', 41, true]);
    peer.becomeSnapshot();
    peer.snapshotFailed(30);
    expect([peer.state, peer.nextIndex, peer.isPaused]).toEqual(['probe', 30, true]);
  });
});

function progressAt(nextIndex: number): Progress {
  return new Progress({ id: toNodeId(2), nextIndex, heardAtTick: 0, inflightBytesMax: 1000 });
}

function replicaAt(matchIndex: number): Progress {
  const peer = progressAt(matchIndex + 1);
  peer.accepted(matchIndex);
  peer.becomeReplicate();
  return peer;
}
