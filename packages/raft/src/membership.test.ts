import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { describeMembership } from './describe.ts';
import { ADDRESS_SIZE_BYTES_MAX, decodeMembership, encodeMembership } from './membership-codec.ts';
import {
  changedMembership,
  foundingMembership,
  MEMBER_COUNT_MAX,
  MembershipHistory,
  membershipOf,
  votersOf,
} from './membership.ts';
import type { Member, MembershipChange } from './membership.ts';
import { toNodeId } from './node-id.ts';
import { majorityOf } from './quorum.ts';

const MEMBER: fc.Arbitrary<Member> = fc.record({
  id: fc.integer({ min: 1, max: 2 ** 32 - 1 }).map(toNodeId),
  role: fc.constantFrom('voter', 'learner'),
  incarnation: fc.maxSafeNat(),
  address: fc.string({ unit: 'binary', maxLength: 40 }),
});
const MEMBERSHIP = fc
  .uniqueArray(MEMBER, { selector: ({ id }) => id, maxLength: 12 })
  .map(membershipOf);

describe('the membership codec', () => {
  it('returns what it was given, and equal bytes for equal members', () => {
    fc.assert(
      fc.property(MEMBERSHIP, (membership) => {
        const bytes = encodeMembership(membership);
        expect(decodeMembership(bytes)).toEqual(membership);
        expect(encodeMembership(membershipOf([...membership.members].reverse()))).toEqual(bytes);
      }),
      { numRuns: 1000, seed: 3 },
    );
  });

  it('decodes from the middle of a larger buffer', () => {
    const membership = founding([1, 2], [3]);
    const bytes = encodeMembership(membership);
    const larger = new Uint8Array(bytes.length + 10);
    larger.set(bytes, 5);
    expect(decodeMembership(larger.subarray(5, 5 + bytes.length))).toEqual(membership);
  });

  it('refuses every truncation, trailing bytes, other versions and roles', () => {
    const bytes = encodeMembership(founding([1, 2], [3]));
    for (let length = 0; length < bytes.length; length++) {
      expect(() => decodeMembership(bytes.subarray(0, length)), `${length}`).toThrow();
    }
    expect(() => decodeMembership(Uint8Array.from([...bytes, 0]))).toThrow('bytes after');
    expect(() => decodeMembership(bytes.with(0, 2))).toThrow('membership version');
    expect(() => decodeMembership(bytes.with(7, 3))).toThrow('member role 3');
  });

  it('limits addresses', () => {
    const withAddress = (sizeBytes: number): Member => ({
      id: toNodeId(1),
      role: 'voter',
      incarnation: 1,
      address: 'a'.repeat(sizeBytes),
    });
    expect(() =>
      encodeMembership(membershipOf([withAddress(ADDRESS_SIZE_BYTES_MAX)])),
    ).not.toThrow();
    expect(() => encodeMembership(membershipOf([withAddress(ADDRESS_SIZE_BYTES_MAX + 1)]))).toThrow(
      'address of 1025 bytes',
    );
  });
});

describe('changedMembership', () => {
  it('moves members through their roles and binds and forgets incarnations', () => {
    const added = change(founding([1, 2], []), {
      kind: 'addLearner',
      id: toNodeId(3),
      address: 'x',
    });
    expect(describeMembership(added)).toBe('v1? v2? l3');
    const promoted = change(added, { kind: 'promote', id: toNodeId(3) });
    expect(promoted.members[2]).toEqual({ id: 3, role: 'voter', incarnation: 77, address: 'x' });
    const demoted = change(promoted, { kind: 'demote', id: toNodeId(3) });
    expect(demoted.members[2]).toEqual({ id: 3, role: 'learner', incarnation: 0, address: 'x' });
    expect(describeMembership(change(demoted, { kind: 'remove', id: toNodeId(3) }))).toBe(
      'v1? v2?',
    );
  });

  it('never makes two sets of voters whose majorities could miss each other', () => {
    const kinds = fc.constantFrom('addLearner', 'promote', 'demote', 'remove');
    fc.assert(
      fc.property(MEMBERSHIP, kinds, fc.nat(), (membership, kind, pick) => {
        const member = membership.members[pick % Math.max(1, membership.members.length)];
        const id = member?.id ?? toNodeId(1);
        const changed = changedMembership(membership, { kind, id, address: '' }, 5);
        if (typeof changed === 'string') return;
        const before = votersOf(membership);
        const after = votersOf(changed);
        expect(after.length).toBeGreaterThanOrEqual(before.length === 0 ? 0 : 1);
        if (before.length === 0 || after.length === 0) return;
        const all = new Set([...before, ...after]);
        expect(majorityOf(before.length) + majorityOf(after.length)).toBeGreaterThan(all.size);
      }),
      { numRuns: 2000, seed: 4 },
    );
  });

  it('refuses one member too many', () => {
    const ids = Array.from({ length: MEMBER_COUNT_MAX }, (_, i) => i + 1);
    const id = toNodeId(1000);
    const full = founding([1], ids.slice(1));
    expect(changedMembership(full, { kind: 'addLearner', id, address: '' }, 0)).toBe(
      'tooManyMembers',
    );
  });
});

describe('membershipOf', () => {
  it('refuses a repeated id', () => {
    expect(() => founding([1, 2], [2])).toThrow('member 2 repeats');
  });
});

describe('MembershipHistory', () => {
  it('takes back what is truncated and keeps what is committed', () => {
    const [a, b, c] = [founding([1], []), founding([1, 2], []), founding([1, 2, 3], [])];
    const history = new MembershipHistory({ index: 0, membership: a });
    history.append(5, b);
    history.append(9, c);
    expect([history.latest, history.latestIndex]).toEqual([c, 9]);
    history.truncate(9);
    expect([history.latest, history.latestIndex]).toEqual([b, 5]);
    history.commit(7);
    expect(() => history.truncate(5)).toThrow('base truncated');
    history.append(8, a);
    history.truncate(6);
    expect(history.latest).toBe(b);
  });

  it('refuses to go back', () => {
    const membership = founding([1], []);
    const history = new MembershipHistory({ index: 4, membership });
    expect(() => history.append(4, membership)).toThrow('membership 4 after 4');
  });
});

function founding(voters: readonly number[], learners: readonly number[]) {
  return foundingMembership({ voters: voters.map(toNodeId), learners: learners.map(toNodeId) });
}

function change(membership: ReturnType<typeof founding>, wanted: MembershipChange) {
  const changed = changedMembership(membership, wanted, 77);
  if (typeof changed === 'string') throw new Error(changed);
  return changed;
}
