// Members change one voter at a time (dissertation 4.1 with the correction of 2015, ADR 0002): a leader
// appends a membership only after one entry of its term and every earlier membership are committed,
// and its voters differ from those before by one at most. So any two majorities have a node in common.

import { votersOf } from '@queen-ts/raft';
import type { Entry, Membership, Message } from '@queen-ts/raft';
import { membershipIn } from '../facts/memberships.ts';
import type { Process } from '../nodes/process.ts';
import type { Invariant } from './invariant.ts';

/** Watches membership entries as leaders hand them out. */
export class MemberChanges implements Invariant {
  readonly name = 'members change one at a time';
  /** Index of the newest membership that the leader of a term was seen to append. */
  readonly #seen = new Map<number, number>();

  sent(process: Process, message: Message): string | undefined {
    if (message.kind !== 'append') return undefined;
    const { term, entries, commitIndex } = message;
    for (const entry of entries) {
      const isNews = entry.type === 'membership' && entry.term === term;
      if (!isNews || entry.index <= (this.#seen.get(term) ?? 0)) continue;
      this.#seen.set(term, entry.index);
      const violation = flawOf(process, entry, commitIndex);
      if (violation !== undefined) {
        return `leader ${message.from} of term ${term} appends membership ${entry.index}: ${violation}`;
      }
    }
    return undefined;
  }
}

/** What is wrong with a membership that a leader appends with this commit index. */
function flawOf({ log }: Process, entry: Entry, commitIndex: number): string | undefined {
  const before = log?.memberships.findLast(({ index }) => index < entry.index);
  // The first entry of all repeats what the group was founded with; others may follow a purged one.
  if (before === undefined) return undefined;
  if (before.index > commitIndex) return `membership ${before.index} is not committed`;
  if (log?.term(commitIndex) !== entry.term) return 'nothing of this term is committed';
  const count = voterChanges(membershipIn(before), membershipIn(entry));
  return count <= 1 ? undefined : `${count} voters change`;
}

/** How many nodes have a vote in one membership only. */
function voterChanges(before: Membership, after: Membership): number {
  const [former, later] = [votersOf(before), votersOf(after)];
  const gone = former.filter((id) => !later.includes(id));
  const added = later.filter((id) => !former.includes(id));
  return gone.length + added.length;
}
