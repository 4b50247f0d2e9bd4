// Following a leader: accepting its entries, heartbeats and snapshots, and noticing its silence.

import { assert } from '@queen-ts/base';
import { campaign, campaignForTransfer } from './candidate.ts';
import type { Core } from './core.ts';
import type {
  AppendMessage,
  Heartbeat,
  Message,
  SnapshotMessage,
  VoteRequest,
} from './messages.ts';

export function tickFollower(core: Core): void {
  core.electionElapsed += 1;
  if (core.isOnlyVoter) return campaign(core);
  if (core.electionElapsed < core.electionTimeout) return;
  core.leaderId = 0;
  core.resetElectionTimer();
  campaign(core);
}

/**
 * Answers a request for a vote, in any role. A node that hears a leader answers no: otherwise a
 * member that was removed or cannot hear the leader would depose it again and again (4.2.3, 6.4.1).
 */
export function stepVoteRequest(core: Core, message: VoteRequest): void {
  const { preVote, from: to } = message;
  const hearsLeader = core.leaderId !== 0 && core.electionElapsed < core.electionTicks;
  if (hearsLeader && !message.transfer) {
    return core.send({ kind: 'voteReply', to, preVote, granted: false });
  }
  if (!preVote && message.term > core.term) core.becomeFollower(message.term, 0);
  const mayGrant =
    !core.isIdentityRefused && core.log.isUpToDate(message.lastIndex, message.lastTerm);
  if (preVote) {
    const granted = mayGrant && message.term > core.term;
    // A granting reply echoes the term asked for; a refusal tells the sender ours.
    return core.send({
      kind: 'voteReply',
      to,
      preVote,
      granted,
      ...(granted && { term: message.term }),
    });
  }
  const isFree = core.votedFor === to || (core.votedFor === 0 && core.leaderId === 0);
  const granted = mayGrant && isFree && message.term === core.term;
  if (granted) {
    core.votedFor = to;
    core.electionElapsed = 0;
  }
  core.sendAfterPersist({ kind: 'voteReply', to, preVote, granted });
}

/** Appends what the leader sent where the logs meet; truncates only on a real conflict (3.5). */
export function stepFollowerAppend(core: Core, message: AppendMessage): void {
  const { log } = core;
  // Committed entries are the same in every log (leader completeness), so they are not compared.
  const skipCount = Math.max(0, log.commitIndex - message.prevIndex);
  const entries = message.entries.slice(skipCount);
  if (skipCount > message.entries.length) return acknowledge(core, message, log.commitIndex);

  const prevIndex = message.prevIndex + skipCount;
  const prevTerm = message.entries[skipCount - 1]?.term ?? message.prevTerm;
  if (!log.matches(prevIndex, prevTerm)) {
    assert(skipCount === 0, () => `committed entry ${prevIndex} has term ${prevTerm} elsewhere`);
    return refuse(core, message);
  }
  const conflictAt = entries.findIndex(({ index, term }) => !log.matches(index, term));
  if (conflictAt >= 0) core.append(entries.slice(conflictAt));
  const lastNewIndex = prevIndex + entries.length;
  core.commitTo(Math.min(message.commitIndex, lastNewIndex));
  acknowledge(core, message, lastNewIndex);
}

export function stepFollowerHeartbeat(core: Core, message: Heartbeat): void {
  const { from: to, readRound } = message;
  core.send({ kind: 'heartbeatReply', to, readRound, commitIndex: core.log.commitIndex });
}

/**
 * Takes a snapshot that covers more than is committed here. What it holds is committed, so it is
 * welcome from an earlier leader too: a transfer that outlives its leader is not wasted.
 */
export function stepFollowerSnapshot(core: Core, message: SnapshotMessage): void {
  const { log } = core;
  const { snapshot } = message;
  if (snapshot.index <= log.commitIndex) return acknowledge(core, message, log.commitIndex);
  if (log.matches(snapshot.index, snapshot.term)) core.commitTo(snapshot.index);
  else core.restore(snapshot);
  acknowledge(core, message, snapshot.index);
}

/** The leader chose this node to take over. */
export function stepFollowerTimeoutNow(core: Core): void {
  campaignForTransfer(core);
}

function acknowledge(core: Core, message: Message, index: number): void {
  const { from: to } = message;
  core.sendAfterPersist({
    kind: 'appendReply',
    to,
    rejected: false,
    index,
    hintIndex: 0,
    hintTerm: 0,
  });
}

/** Tells the leader the highest place where its log and ours may still agree (3.5, last part). */
function refuse(core: Core, message: AppendMessage): void {
  const { from: to, prevIndex: index, prevTerm } = message;
  const hintIndex = core.log.lastIndexUpToTerm(index, prevTerm);
  const hintTerm = core.log.term(hintIndex) ?? 0;
  core.send({ kind: 'appendReply', to, rejected: true, index, hintIndex, hintTerm });
}
