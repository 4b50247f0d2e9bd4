// Leading: entering office, logical time, proposals and the commit point. How entries reach the
// peers is in replicate.ts.

import { assert } from '@queen-ts/base';
import type { Core } from './core.ts';
import { entrySizeBytes } from './log.ts';
import { encodeMembership } from './membership-codec.ts';
import { memberOf, membershipOf, votersOf } from './membership.ts';
import type { Membership } from './membership.ts';
import type { NodeId } from './node-id.ts';
import type { Entry, EntryType } from './ports.ts';
import { Progress } from './progress.ts';
import { majorityOf, reachedByMajority } from './quorum.ts';
import { ReadRounds } from './read-index.ts';
import type { ProposeResult } from './results.ts';

const NO_BYTES = new Uint8Array(0);

/** What a node knows only while it leads; forgotten with the role. */
export interface Leadership {
  /** Index of the entry that opened the term; once it is committed, so is everything before it. */
  readonly termStartIndex: number;
  /** Every member but this node. */
  readonly peers: Map<NodeId, Progress>;
  readonly reads: ReadRounds;
  /** Ticks in office. */
  tick: number;
  heartbeatElapsed: number;
  /** Size of this term's entries that are not committed, in bytes. */
  uncommittedBytes: number;
  transfer: { readonly target: NodeId; readonly startedAtTick: number } | undefined;
  /** The commit index at the last heartbeat: what a learner must hold to be promoted. */
  commitIndexAtHeartbeat: number;
}

/** The leadership of a node that leads. */
export function leadershipOf(core: Core): Leadership {
  assert(core.leadership !== undefined, () => `a ${core.role} has no leadership`);
  return core.leadership;
}

/** An entry of the leader's own term is committed, so that its commit index is not behind (6.4). */
export function hasCommittedInTerm(core: Core): boolean {
  return core.leadership !== undefined && core.log.commitIndex >= core.leadership.termStartIndex;
}

/**
 * Takes office. The term opens with an empty entry, so that entries of earlier terms can commit at
 * once (3.6.2, 6.4); in an empty log it is the founding membership with the disks that elected it.
 * @param incarnations what the voters answered with.
 */
export function becomeLeader(core: Core, incarnations: ReadonlyMap<NodeId, number>): void {
  const { lastIndex, commitIndex } = core.log;
  const leadership: Leadership = {
    termStartIndex: lastIndex + 1,
    peers: new Map(),
    reads: new ReadRounds(),
    tick: 0,
    heartbeatElapsed: 0,
    uncommittedBytes: 0,
    transfer: undefined,
    commitIndexAtHeartbeat: commitIndex,
  };
  core.becomeLeader(leadership);
  syncPeers(core);
  for (const [id, incarnation] of incarnations) {
    const peer = leadership.peers.get(id);
    if (peer !== undefined) peer.incarnation = incarnation;
  }
  if (lastIndex === 0) appendMembership(core, withKnownIncarnations(core));
  else appendOwn(core, { type: 'noop', head: NO_BYTES, payload: NO_BYTES });
}

/** Appends a command, unless too much is on its way already. */
export function proposeCommand(
  core: Core,
  data: { head: Uint8Array; payload: Uint8Array },
): ProposeResult {
  const { leadership } = core;
  if (leadership === undefined) return { ok: false, refusal: 'notLeader' };
  if (leadership.transfer !== undefined) return { ok: false, refusal: 'transferring' };
  const sizeBytes = data.head.length + data.payload.length;
  const { uncommittedBytes } = leadership;
  if (uncommittedBytes > 0 && uncommittedBytes + sizeBytes > core.limits.maxUncommittedBytes) {
    return { ok: false, refusal: 'tooManyUncommitted' };
  }
  const { index, term } = appendOwn(core, { type: 'command', ...data });
  return { ok: true, index, term };
}

/** Appends a membership, which is in force from here on. */
export function appendMembership(core: Core, membership: Membership): Entry {
  const head = encodeMembership(membership);
  const entry = appendOwn(core, { type: 'membership', head, payload: NO_BYTES });
  syncPeers(core);
  return entry;
}

/** One tick in office: steps down when it can no longer lead, else keeps the followers quiet. */
export function tickLeader(core: Core): void {
  const leadership = leadershipOf(core);
  leadership.tick += 1;
  const cannotPersist = core.isDiskStalled && !core.isOnlyVoter;
  if (cannotPersist || !hearsQuorum(core, votersOf(core.memberships.latest))) {
    return core.becomeFollower(core.term, 0);
  }
  const { transfer } = leadership;
  if (transfer !== undefined && leadership.tick - transfer.startedAtTick >= core.electionTicks) {
    leadership.transfer = undefined;
  }
  leadership.heartbeatElapsed += 1;
  if (leadership.heartbeatElapsed < core.heartbeatTicks) return;
  leadership.heartbeatElapsed = 0;
  leadership.commitIndexAtHeartbeat = core.log.commitIndex;
  bindIncarnations(core);
  for (const peer of leadership.peers.values()) {
    peer.isCheckDue = true;
    sendHeartbeat(core, peer.id);
  }
  sendTimeoutNow(core);
}

/** Whether a majority of `voters` was heard within the last election timeout (6.2, check-quorum). */
export function hearsQuorum(core: Core, voters: readonly NodeId[]): boolean {
  const { peers, tick } = leadershipOf(core);
  const heard = voters.filter((id) => {
    const heardAtTick = id === core.id ? tick : peers.get(id)?.heardAtTick;
    return heardAtTick !== undefined && tick - heardAtTick < core.electionTicks;
  });
  return heard.length >= majorityOf(voters.length);
}

/** Says that the leader is alive, and which reads wait for the answer. */
export function sendHeartbeat(core: Core, to: NodeId): void {
  core.send({ kind: 'heartbeat', to, readRound: leadershipOf(core).reads.newest });
}

/** Tells the target of a transfer to take over as soon as it holds the whole log (3.10). */
export function sendTimeoutNow(core: Core): void {
  const { transfer, peers } = leadershipOf(core);
  if (transfer === undefined) return;
  if (peers.get(transfer.target)?.matchIndex !== core.log.lastIndex) return;
  core.send({ kind: 'timeoutNow', to: transfer.target });
}

/**
 * Commits what a majority holds, if it is of this term: entries of earlier terms may still be
 * overwritten although a majority holds them (3.6.2, figure 3.7). The leader counts itself only for
 * what its own disk has.
 */
export function advanceCommit(core: Core): void {
  const { peers, termStartIndex } = leadershipOf(core);
  const { log } = core;
  const matches = votersOf(core.memberships.latest).map((id) =>
    id === core.id ? log.persistedIndex : (peers.get(id)?.matchIndex ?? 0),
  );
  const reached = reachedByMajority(matches);
  if (reached < termStartIndex) return;
  const committedBefore = log.commitIndex;
  if (!core.commitTo(reached)) return;
  const ownFrom = Math.max(committedBefore, termStartIndex - 1);
  leadershipOf(core).uncommittedBytes -= log.windowSizeBytes(ownFrom, reached);
  if (core.memberships.latestIndex <= reached && !core.isVoter) handOver(core);
}

/** Gives every other member a Progress and drops those of members that are gone. */
function syncPeers(core: Core): void {
  const { peers, tick } = leadershipOf(core);
  const { latest } = core.memberships;
  for (const id of peers.keys()) {
    if (memberOf(latest, id) === undefined) peers.delete(id);
  }
  for (const { id } of latest.members) {
    if (id === core.id || peers.has(id)) continue;
    peers.set(id, newProgress(core, id, tick));
  }
}

/** A peer of which nothing is known: probing starts after the last entry. */
export function newProgress(core: Core, id: NodeId, heardAtTick: number): Progress {
  return new Progress({
    id,
    nextIndex: core.log.lastIndex + 1,
    heardAtTick,
    inflightBytesMax: core.limits.maxInflightBytes,
  });
}

function appendOwn(
  core: Core,
  content: { type: EntryType; head: Uint8Array; payload: Uint8Array },
): Entry {
  const entry = { term: core.term, index: core.log.lastIndex + 1, ...content };
  core.append([entry]);
  leadershipOf(core).uncommittedBytes += entrySizeBytes(entry);
  return entry;
}

/** The membership in force, with the incarnations of voters that were not known yet. */
export function withKnownIncarnations(core: Core): Membership {
  const { peers } = leadershipOf(core);
  const { members } = core.memberships.latest;
  return membershipOf(
    members.map((member) => {
      if (member.role !== 'voter' || member.incarnation !== 0) return member;
      const heard = member.id === core.id ? core.incarnation : peers.get(member.id)?.incarnation;
      return { ...member, incarnation: heard ?? 0 };
    }),
  );
}

/** Records the disks of voters that were missing when the group was founded by a majority. */
function bindIncarnations(core: Core): void {
  const { latest, latestIndex } = core.memberships;
  const mayChange = hasCommittedInTerm(core) && latestIndex <= core.log.commitIndex;
  if (!mayChange || leadershipOf(core).transfer !== undefined) return;
  const bound = withKnownIncarnations(core);
  const isNews = bound.members.some(
    (member, i) => member.incarnation !== latest.members[i]?.incarnation,
  );
  if (isNews) appendMembership(core, bound);
}

/** The committed membership has no vote for this leader: the most advanced voter takes over (4.2.2). */
function handOver(core: Core): void {
  const { peers } = leadershipOf(core);
  const voters = votersOf(core.memberships.latest);
  const candidates = [...peers.values()].filter(({ id }) => voters.includes(id));
  const [next] = candidates.sort((a, b) => b.matchIndex - a.matchIndex || a.id - b.id);
  if (next !== undefined) core.send({ kind: 'timeoutNow', to: next.id });
  core.becomeFollower(core.term, 0);
}
