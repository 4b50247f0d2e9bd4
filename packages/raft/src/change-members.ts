// The leader's side of membership changes: one voter at a time, and only when the group can bear it
// (dissertation 4.1, 4.2; ADR 0002).

import type { Core } from './core.ts';
import {
  appendMembership,
  hasCommittedInTerm,
  hearsQuorum,
  leadershipOf,
  withKnownIncarnations,
} from './leader.ts';
import { changedMembership, votersOf } from './membership.ts';
import type { Membership, MembershipChange } from './membership.ts';
import { majorityOf } from './quorum.ts';
import type { MembershipResult } from './results.ts';

type Refusal = Extract<MembershipResult, { ok: false }>['refusal'];

/** Appends a changed membership; see `RaftNode.proposeMembership`. */
export function proposeMembership(core: Core, change: MembershipChange): MembershipResult {
  const refusal = refusalOf(core);
  if (refusal !== undefined) return { ok: false, refusal };
  const incarnation = leadershipOf(core).peers.get(change.id)?.incarnation ?? 0;
  const changed = changedMembership(withKnownIncarnations(core), change, incarnation);
  if (typeof changed === 'string') return { ok: false, refusal: changed };
  if (change.kind === 'promote' && !hasCaughtUp(core, change)) {
    return { ok: false, refusal: 'learnerBehind' };
  }
  if (changesVoters(core, changed) && !canGoOn(core, changed)) {
    return { ok: false, refusal: 'noQuorum' };
  }
  const { index, term } = appendMembership(core, changed);
  return { ok: true, index, term };
}

function refusalOf(core: Core): Refusal | undefined {
  if (core.leadership === undefined) return 'notLeader';
  if (core.leadership.transfer !== undefined) return 'transferring';
  // Without this an earlier leader's change could commit beside this one although the two have no
  // quorum in common (the 2015 correction of the dissertation's 4.1).
  if (!hasCommittedInTerm(core)) return 'termNotCommitted';
  if (core.memberships.latestIndex > core.log.commitIndex) return 'changeInFlight';
  return undefined;
}

/** The learner follows closely, on a disk that is known: it can vote and ack from the first moment. */
function hasCaughtUp(core: Core, { id }: MembershipChange): boolean {
  const { peers, tick, commitIndexAtHeartbeat } = leadershipOf(core);
  const peer = peers.get(id);
  return (
    peer !== undefined &&
    peer.state === 'replicate' &&
    peer.incarnation !== 0 &&
    tick - peer.heardAtTick < core.electionTicks &&
    peer.matchIndex >= commitIndexAtHeartbeat
  );
}

/** Whether the voters of `changed` can commit it now, and elect a leader later. */
function canGoOn(core: Core, changed: Membership): boolean {
  const voters = votersOf(changed);
  const onRecord = changed.members.filter(
    ({ role, incarnation }) => role === 'voter' && incarnation !== 0,
  );
  return hearsQuorum(core, voters) && onRecord.length >= majorityOf(voters.length);
}

function changesVoters(core: Core, changed: Membership): boolean {
  return votersOf(changed).join() !== votersOf(core.memberships.latest).join();
}
