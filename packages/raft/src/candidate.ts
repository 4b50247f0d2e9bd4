// Getting elected: pre-vote, election, counting votes (dissertation 3.4, 9.6).

import { assert } from '@queen-ts/base';
import type { Core } from './core.ts';
import { isForeignDisk, refuseIdentity } from './identity.ts';
import { becomeLeader } from './leader.ts';
import { votersOf } from './membership.ts';
import type { VoteReply } from './messages.ts';
import type { NodeId } from './node-id.ts';
import { electionOutcome, majorityOf } from './quorum.ts';

/** One round of asking for votes or pre-votes. */
export interface Election {
  readonly votes: Map<NodeId, boolean>;
  /** Incarnations that the granting voters answered with. */
  readonly incarnations: Map<NodeId, number>;
}

/** Starts an election if this node may win one: with pre-vote, unless nobody else has a say. */
export function campaign(core: Core): void {
  if (!mayCampaign(core)) return;
  if (core.isOnlyVoter) return startElection(core, { transfer: false });
  core.becomePreCandidate({ votes: new Map(), incarnations: new Map() });
  requestVotes(core, { preVote: true, transfer: false });
  recordVote(core, { from: core.id, granted: true, incarnation: core.incarnation });
}

/** The leader hands over: starts an election at once, which live leaders do not obstruct (3.10). */
export function campaignForTransfer(core: Core): void {
  if (mayCampaign(core)) startElection(core, { transfer: true });
}

export function tickCandidate(core: Core): void {
  core.electionElapsed += 1;
  if (core.electionElapsed < core.electionTimeout) return;
  if (mayCampaign(core)) campaign(core);
  else core.becomeFollower(core.term, 0);
}

/** Counts an answer. A granted pre-vote speaks of the next term, every other answer of this one. */
export function stepVoteReply(core: Core, message: VoteReply): void {
  const expectedRole = message.preVote ? 'preCandidate' : 'candidate';
  const expectedTerm = core.term + (message.preVote && message.granted ? 1 : 0);
  if (core.role !== expectedRole || message.term !== expectedTerm) return;
  if (isForeignDisk(core, message)) return refuseIdentity(core, message);
  recordVote(core, message);
}

/**
 * A node that an uncommitted change takes the vote from must still stand: its log may be the only one
 * that can win (4.2.2). A stalled disk could not make the vote durable; a pending snapshot is about to
 * replace the log.
 */
function mayCampaign(core: Core): boolean {
  return (
    core.role !== 'leader' &&
    core.memberships.mayVote(core.id) &&
    !core.isIdentityRefused &&
    !core.isDiskStalled &&
    core.log.pendingSnapshot === undefined
  );
}

function startElection(core: Core, options: { transfer: boolean }): void {
  core.becomeCandidate({ votes: new Map(), incarnations: new Map() });
  requestVotes(core, { preVote: false, transfer: options.transfer });
  // Counted before it is durable: nobody else's vote can arrive before that, because the requests
  // wait for it, and an only voter lets nothing out before its first persist either.
  recordVote(core, { from: core.id, granted: true, incarnation: core.incarnation });
}

function requestVotes(core: Core, options: { preVote: boolean; transfer: boolean }): void {
  const { lastIndex, lastTerm } = core.log;
  const term = core.term + (options.preVote ? 1 : 0);
  for (const to of votersOf(core.memberships.latest)) {
    if (to === core.id) continue;
    const request = { kind: 'voteRequest', to, term, lastIndex, lastTerm, ...options } as const;
    if (options.preVote) core.send(request);
    else core.sendAfterPersist(request);
  }
}

function recordVote(
  core: Core,
  vote: { from: NodeId; granted: boolean; incarnation: number },
): void {
  const { election } = core;
  assert(election !== undefined, () => `vote of ${vote.from} outside an election`);
  // The first answer counts: a voter answers one request with one verdict.
  if (election.votes.has(vote.from)) return;
  election.votes.set(vote.from, vote.granted);
  if (vote.granted) election.incarnations.set(vote.from, vote.incarnation);
  switch (outcomeOf(core, election)) {
    case 'won':
      if (core.role === 'preCandidate') startElection(core, { transfer: false });
      else becomeLeader(core, election.incarnations);
      break;
    case 'lost':
      core.becomeFollower(core.term, 0);
      break;
    case 'pending':
      break;
  }
}

/**
 * An empty log proves nothing: a voter that lost its disk looks like one that never started. So the
 * group is founded by everybody (ADR 0002), unless the configuration waives it. After that only the
 * votes of disks on record count: an entry is committed by a majority, and a majority of such votes
 * has one of them in common with it that still holds what it acknowledged.
 */
function outcomeOf(core: Core, election: Election): ReturnType<typeof electionOutcome> {
  const founds = core.log.lastIndex === 0;
  const voters = core.memberships.latest.members.filter(({ role }) => role === 'voter');
  const votes = voters.map(({ id, incarnation }) => {
    const counts = founds || incarnation !== 0;
    return counts ? election.votes.get(id) : false;
  });
  const isUnanimous = founds && core.foundingVotes === 'all';
  return electionOutcome(votes, isUnanimous ? voters.length : majorityOf(voters.length));
}
