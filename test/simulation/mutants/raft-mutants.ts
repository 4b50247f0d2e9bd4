// Planted bugs of the consensus core.

import { RaftNode, votersOf } from '@queen-ts/raft';
import type { Entry, PersistToken, Ready, ReadState } from '@queen-ts/raft';
import { Core, MembershipHistory, RaftLog } from '@queen-ts/raft/internals';
import type { Mutant } from './mutant.ts';
import { replaceGetter, replaceMethod } from './mutant.ts';

/** Undoes several replacements. */
function all(...undo: readonly (() => void)[]): () => void {
  return () => undo.forEach((run) => run());
}

/** The leader counts its own copy before its disk has it. */
const countSelfEarly: Mutant = {
  name: 'count-self-early',
  what: 'the leader counts itself before its own fsync is done',
  install: () => {
    const early = new WeakSet<PersistToken>();
    let isCounting = false;
    return all(
      replaceMethod(RaftNode.prototype, 'ready', (ready) => {
        return function (this: RaftNode): Ready {
          const batch = ready.call(this);
          const token = batch.persistUpTo;
          if (token === undefined || this.status.role !== 'leader') return batch;
          early.add(token);
          isCounting = true;
          this.persisted(token);
          isCounting = false;
          return batch;
        };
      }),
      replaceMethod(RaftNode.prototype, 'persisted', (persisted) => {
        return function (this: RaftNode, token: PersistToken): void {
          if (isCounting || !early.has(token)) persisted.call(this, token);
        };
      }),
    );
  },
};

/** A follower cuts its log at every append, also where nothing conflicts. */
const truncateAlways: Mutant = {
  name: 'truncate-always',
  what: 'a follower truncates its log at every append, not only on a conflict',
  install: () => {
    let comparisons = Infinity;
    return all(
      replaceMethod(RaftNode.prototype, 'step', (step) => {
        return function (this: RaftNode, message): void {
          comparisons = message.kind === 'append' ? 0 : Infinity;
          step.call(this, message);
          comparisons = Infinity;
        };
      }),
      replaceMethod(RaftLog.prototype, 'matches', (matches) => {
        return function (this: RaftLog, index: number, term: number): boolean {
          // The first comparison is the one of the previous entry, the others are of the new ones.
          comparisons += 1;
          return (comparisons === 1 || comparisons === Infinity) && matches.call(this, index, term);
        };
      }),
    );
  },
};

/** Figure 3.7: entries of earlier terms are committed by counting copies. */
const commitOldTerm: Mutant = {
  name: 'commit-old-term',
  what: 'a leader commits entries of earlier terms by counting copies',
  install: () =>
    replaceMethod(Core.prototype, 'becomeLeader', (becomeLeader) => {
      return function (this: Core, leadership): void {
        becomeLeader.call(this, { ...leadership, termStartIndex: 0 });
      };
    }),
};

/** A candidate takes everybody's consent for granted. */
const skipPreVote: Mutant = {
  name: 'skip-pre-vote',
  what: 'a node raises its term without asking whether it could win',
  install: () =>
    replaceMethod(Core.prototype, 'becomePreCandidate', (becomePreCandidate) => {
      return function (this: Core, election): void {
        becomePreCandidate.call(this, election);
        for (const id of votersOf(this.memberships.latest)) {
          if (id !== this.id) election.votes.set(id, true);
        }
      };
    }),
};

/** Reads are confirmed by the leader alone. */
const skipReadBarrier: Mutant = {
  name: 'skip-read-barrier',
  what: 'a leader answers reads without asking whether it still leads',
  install: () => {
    const waiting = new WeakMap<RaftNode, ReadState[]>();
    return all(
      replaceMethod(RaftNode.prototype, 'readIndex', () => {
        return function (this: RaftNode, contextId: number) {
          const { role, commitIndex } = this.status;
          if (role !== 'leader') return { ok: false, refusal: 'notLeader' } as const;
          const reads = waiting.get(this) ?? [];
          waiting.set(this, [...reads, { contextId, index: commitIndex }]);
          return { ok: true } as const;
        };
      }),
      replaceMethod(RaftNode.prototype, 'hasReady', (hasReady) => {
        return function (this: RaftNode): boolean {
          return hasReady.call(this) || (waiting.get(this)?.length ?? 0) > 0;
        };
      }),
      replaceMethod(RaftNode.prototype, 'ready', (ready) => {
        return function (this: RaftNode): Ready {
          const reads = waiting.get(this) ?? [];
          waiting.delete(this);
          const batch = ready.call(this);
          return { ...batch, readStates: [...batch.readStates, ...reads] };
        };
      }),
    );
  },
};

/** Two entries that commit together change places. */
const applyOutOfOrder: Mutant = {
  name: 'apply-out-of-order',
  what: 'two entries that commit together are applied in the wrong order',
  install: () =>
    replaceMethod(RaftNode.prototype, 'ready', (ready) => {
      return function (this: RaftNode): Ready {
        const batch = ready.call(this);
        const [a, b] = batch.committed.slice(-2);
        if (a?.type !== 'command' || b?.type !== 'command') return batch;
        const swapped: Entry[] = [
          { ...a, head: b.head, payload: b.payload },
          { ...b, head: a.head, payload: a.payload },
        ];
        return { ...batch, committed: [...batch.committed.slice(0, -2), ...swapped] };
      };
    }),
};

/** A leader does not wait for a change of members before it makes the next one. */
const overlappingChanges: Mutant = {
  name: 'overlapping-changes',
  what: 'a leader changes members while an earlier change is not committed',
  install: () => {
    let isProposing = false;
    return all(
      replaceMethod(RaftNode.prototype, 'proposeMembership', (proposeMembership) => {
        return function (this: RaftNode, change) {
          isProposing = true;
          const result = proposeMembership.call(this, change);
          isProposing = false;
          return result;
        };
      }),
      replaceGetter(MembershipHistory.prototype, 'latestIndex', (latestIndex) => {
        return function (this: MembershipHistory): number {
          return isProposing ? 0 : latestIndex.call(this);
        };
      }),
    );
  },
};

/** Planted bugs of the core. */
export const RAFT_MUTANTS: readonly Mutant[] = [
  countSelfEarly,
  truncateAlways,
  commitOldTerm,
  skipPreVote,
  skipReadBarrier,
  applyOutOfOrder,
  overlappingChanges,
];
