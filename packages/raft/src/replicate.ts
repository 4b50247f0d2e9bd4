// The leader's side of replication: what goes to a peer and what its answers mean (dissertation 3.5,
// 10.2). Appends are made when a batch is collected, so that what was proposed together travels
// together.

import { assert } from '@queen-ts/base';
import type { Core } from './core.ts';
import { isForeignDisk, refuseIdentity } from './identity.ts';
import {
  advanceCommit,
  hasCommittedInTerm,
  leadershipOf,
  newProgress,
  sendHeartbeat,
  sendTimeoutNow,
} from './leader.ts';
import { entrySizeBytes } from './log.ts';
import { memberOf, votersOf } from './membership.ts';
import type { AppendReply, HeartbeatReply } from './messages.ts';
import type { NodeId } from './node-id.ts';
import type { Progress } from './progress.ts';

/** Makes whatever can be sent now: appends to every peer, and a round for the reads that wait. */
export function flushLeader(core: Core): void {
  flushReads(core);
  for (const peer of leadershipOf(core).peers.values()) flushPeer(core, peer);
}

export function stepLeaderAppendReply(core: Core, message: AppendReply): void {
  const peer = hear(core, message);
  if (peer === undefined) return;
  const { log } = core;
  if (message.rejected) {
    peer.rejected(message.index, log.lastIndexUpToTerm(message.hintIndex, message.hintTerm));
    return;
  }
  assert(message.index <= log.lastIndex, () => `${message.from} acked ${message.index}`);
  const isNews = peer.accepted(message.index);
  const meets = isNews || message.index === peer.matchIndex;
  // After a snapshot the log must reach back to where the peer is now.
  const mayFollow = peer.state === 'probe' || peer.matchIndex + 1 >= log.firstIndex;
  if (meets && mayFollow && peer.state !== 'replicate') peer.becomeReplicate();
  if (!isNews) return;
  if (leadershipOf(core).transfer?.target === peer.id) sendTimeoutNow(core);
  advanceCommit(core);
}

export function stepLeaderHeartbeatReply(core: Core, message: HeartbeatReply): void {
  const peer = hear(core, message);
  if (peer === undefined) return;
  leadershipOf(core).reads.confirm(message.from, message.readRound);
  releaseReads(core);
  if (!peer.isCheckDue) return;
  peer.isCheckDue = false;
  peer.allowProbe();
  // Appends, acks or news of commits may be lost: an empty append after everything sent finds out.
  const { lastIndex, commitIndex } = core.log;
  const isBehind = peer.matchIndex < lastIndex || message.commitIndex < commitIndex;
  if (peer.state === 'replicate' && isBehind) sendAppend(core, peer, { withEntries: false });
}

/** The connection broke: sends again from what is known to have arrived. */
export function reportPeerUnreachable(core: Core, id: NodeId): void {
  const peer = core.leadership?.peers.get(id);
  if (peer?.state === 'replicate') peer.becomeProbe();
}

export function reportPeerSnapshot(
  core: Core,
  report: { to: NodeId; outcome: 'finished' | 'failed'; index: number },
): void {
  const peer = core.leadership?.peers.get(report.to);
  if (peer?.state !== 'snapshot') return;
  // A snapshot covers only what is committed, so an index beyond that belongs to another leader.
  if (report.outcome === 'finished' && report.index <= core.log.commitIndex) {
    peer.snapshotFinished(report.index);
  } else {
    peer.snapshotFailed(core.log.firstIndex);
  }
}

/** Notes that a member was heard in this term; `undefined` if its answers do not count. */
function hear(core: Core, message: AppendReply | HeartbeatReply): Progress | undefined {
  const { peers, tick } = leadershipOf(core);
  const known = peers.get(message.from);
  if (known === undefined) return undefined;
  const peer = onSameDisk(core, known, message.incarnation);
  if (isForeignDisk(core, message)) {
    refuseIdentity(core, message);
    return undefined;
  }
  peer.heardAtTick = tick;
  return peer;
}

/** A peer that answers with a new disk holds nothing of what was acknowledged before: starts over. */
function onSameDisk(core: Core, known: Progress, incarnation: number): Progress {
  if (known.incarnation === incarnation) return known;
  const isFirstAnswer = known.incarnation === 0;
  const peer = isFirstAnswer ? known : newProgress(core, known.id, known.heardAtTick);
  peer.incarnation = incarnation;
  leadershipOf(core).peers.set(peer.id, peer);
  return peer;
}

function flushReads(core: Core): void {
  const { reads, peers } = leadershipOf(core);
  if (!reads.hasWaiting || !hasCommittedInTerm(core)) return;
  if (!reads.start(core.log.commitIndex)) return;
  const voters = votersOf(core.memberships.latest);
  for (const peer of peers.values()) {
    if (voters.includes(peer.id)) sendHeartbeat(core, peer.id);
  }
  releaseReads(core);
}

function releaseReads(core: Core): void {
  const voters = votersOf(core.memberships.latest);
  const readStates = leadershipOf(core).reads.takeConfirmed(voters, core.id);
  for (const readState of readStates) core.outbox.addReadState(readState);
}

function flushPeer(core: Core, peer: Progress): void {
  if (isPeerRefused(core, peer)) return;
  const { log } = core;
  while (!peer.isPaused && (peer.state === 'probe' || peer.nextIndex <= log.lastIndex)) {
    if (!sendAppend(core, peer, { withEntries: true })) return;
  }
  const hasCommitNews = peer.sentCommitIndex < log.commitIndex;
  if (peer.state === 'replicate' && !peer.isPaused && hasCommitNews) {
    sendAppend(core, peer, { withEntries: false });
  }
}

/** The peer answers with a disk that was not admitted: nothing but heartbeats goes there. */
export function isPeerRefused(core: Core, peer: Progress): boolean {
  const bound = memberOf(core.memberships.latest, peer.id)?.incarnation ?? 0;
  return bound !== 0 && peer.incarnation !== 0 && bound !== peer.incarnation;
}

/** Sends one append from `nextIndex` on. Returns false if the log no longer reaches back that far. */
function sendAppend(core: Core, peer: Progress, options: { withEntries: boolean }): boolean {
  const { log } = core;
  const prevIndex = peer.nextIndex - 1;
  const prevTerm = log.term(prevIndex);
  const isFull = options.withEntries && prevIndex < log.lastIndex;
  const range = {
    from: peer.nextIndex,
    toExclusive: log.lastIndex + 1,
    maxBytes: core.limits.maxAppendBytes,
  };
  const entries = isFull ? log.entries(range) : [];
  if (prevTerm === undefined || entries === undefined) {
    requestSnapshot(core, peer);
    return false;
  }
  const { commitIndex } = log;
  core.send({ kind: 'append', to: peer.id, prevIndex, prevTerm, entries, commitIndex });
  const sizeBytes = entries.reduce((sum, entry) => sum + entrySizeBytes(entry), 0);
  peer.sent(prevIndex + entries.length, sizeBytes);
  peer.sentCommitIndex = commitIndex;
  return true;
}

/** Asks the driver for a snapshot; not for a peer that nobody hears, which could not receive it. */
function requestSnapshot(core: Core, peer: Progress): void {
  const { tick } = leadershipOf(core);
  if (tick - peer.heardAtTick >= core.electionTicks) return;
  peer.becomeSnapshot();
  const minIndex = core.log.firstIndex - 1;
  core.outbox.addSnapshotRequest({ to: peer.id, minIndex, term: core.term });
}
