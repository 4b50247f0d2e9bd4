// RaftNode: the one door of the core. Takes one input at a time, yields one batch of output, and
// delegates the rules to the file of the current role. No I/O, no clock, no randomness of its own.

import { assert, unreachable } from '@queen-ts/base';
import { campaign, stepVoteReply, tickCandidate } from './candidate.ts';
import { proposeMembership } from './change-members.ts';
import { Core } from './core.ts';
import {
  stepFollowerAppend,
  stepFollowerHeartbeat,
  stepFollowerSnapshot,
  stepFollowerTimeoutNow,
  stepVoteRequest,
  tickFollower,
} from './follower.ts';
import { stepIdentityConflict } from './identity.ts';
import { advanceCommit, proposeCommand, tickLeader } from './leader.ts';
import type { MembershipChange } from './membership.ts';
import type { Message, SnapshotMeta } from './messages.ts';
import type { NodeId } from './node-id.ts';
import type { RaftNodeOptions } from './options.ts';
import type { HardState, LogReader } from './ports.ts';
import type { PersistToken, RaftStatus, Ready, SoftState } from './ready.ts';
import {
  flushLeader,
  reportPeerSnapshot,
  reportPeerUnreachable,
  stepLeaderAppendReply,
  stepLeaderHeartbeatReply,
} from './replicate.ts';
import type {
  MembershipResult,
  ProposeResult,
  ReadIndexResult,
  TransferResult,
} from './results.ts';
import { statusOf } from './status.ts';
import { transferLeadership } from './transfer.ts';

/** What a persist that runs will have made durable. */
interface Persist {
  readonly token: PersistToken;
  readonly term: number;
  readonly snapshot: SnapshotMeta | undefined;
}

/**
 * One member of a Raft group. Not re-entrant; calls come from one thread, in any order except that
 * each `ready` is followed by `advance` before the next `ready`. See {@link Ready} for the driver's
 * duties. Any thrown InvariantError ends the process.
 */
export class RaftNode {
  readonly #core: Core;
  #store: LogReader;
  /** The persist in flight. */
  #persist: Persist | undefined;
  /** Index up to which the outstanding batch hands out committed entries. */
  #handedOut: number | undefined;
  /** Hard and soft state as last handed out. */
  #hardState: HardState;
  #softState: SoftState;

  constructor(options: RaftNodeOptions) {
    this.#core = new Core(options);
    this.#store = options.log;
    this.#hardState = options.hardState;
    this.#softState = softStateOf(this.#core);
  }

  /** Takes one message from a peer. Messages for another node are a bug; unknown senders are not. */
  step(message: Message): void {
    const core = this.#core;
    assert(message.to === core.id, () => `message to ${message.to} arrived at ${core.id}`);
    assert(message.from !== core.id, () => `message of ${core.id} to itself`);
    // These speak of a term nobody entered yet, or of none: they do not move ours.
    if (message.kind === 'voteRequest') return stepVoteRequest(core, message);
    if (message.kind === 'identityConflict') return stepIdentityConflict(core, message);
    const isPreVoteGrant = message.kind === 'voteReply' && message.preVote && message.granted;
    if (isPreVoteGrant) return stepVoteReply(core, message);

    if (message.term < core.term) return stepStale(core, message);
    if (isFromLeader(message)) followSender(core, message);
    else if (message.term > core.term) core.becomeFollower(message.term, 0);
    stepCurrent(core, message);
  }

  /** One step of logical time. The driver calls it at a fixed period; a late driver calls it once. */
  tick(): void {
    const core = this.#core;
    core.stalledTicks = this.#persist === undefined ? 0 : core.stalledTicks + 1;
    switch (core.role) {
      case 'follower':
        return tickFollower(core);
      case 'preCandidate':
      case 'candidate':
        return tickCandidate(core);
      case 'leader':
        return tickLeader(core);
      default:
        return unreachable(core.role);
    }
  }

  /**
   * Appends a command. The answer's (term, index) is what its outcome must be matched by: another
   * term at that index means it is lost. Buffers belong to the log from here on.
   */
  propose(data: { head: Uint8Array; payload: Uint8Array }): ProposeResult {
    return proposeCommand(this.#core, data);
  }

  /**
   * Asks for an index at which a read is linearizable (6.4). The answer comes in `readStates` after
   * a quorum confirmed the leadership; many reads share one round. Lost without a word when the
   * term or role changes: the driver then fails or re-routes what it asked.
   * @param contextId the caller's name for the read, echoed.
   */
  readIndex(contextId: number): ReadIndexResult {
    const { leadership } = this.#core;
    if (leadership === undefined) return { ok: false, refusal: 'notLeader' };
    return leadership.reads.add(contextId) ? { ok: true } : { ok: false, refusal: 'tooManyReads' };
  }

  /**
   * Hands leadership to a voter: proposals are refused until it took over or an election timeout
   * passed. A lagging target is brought up to date first.
   */
  transferLeadership(to: NodeId): TransferResult {
    return transferLeadership(this.#core, to);
  }

  /** Changes the members by one step; takes effect when appended, is final when committed. */
  proposeMembership(change: MembershipChange): MembershipResult {
    return proposeMembership(this.#core, change);
  }

  /** Starts an election now (with pre-vote). The only voter of a group becomes leader at once. */
  campaign(): void {
    campaign(this.#core);
  }

  /** The bulk connection to a peer broke: appends in flight are likely lost. */
  reportUnreachable(to: NodeId): void {
    reportPeerUnreachable(this.#core, to);
  }

  /**
   * The transfer asked for by `snapshotsToSend` ended. `finished`: the peer's driver confirmed that
   * it received all of `index`. `failed`: anything else; the core asks again after a heartbeat.
   */
  reportSnapshot(report: { to: NodeId; outcome: 'finished' | 'failed'; index: number }): void {
    reportPeerSnapshot(this.#core, report);
  }

  /** True if `ready` would return any work. False while a batch awaits `advance`. */
  hasReady(): boolean {
    if (this.#handedOut !== undefined) return false;
    const core = this.#core;
    if (core.leadership !== undefined) flushLeader(core);
    const { outbox, log } = core;
    return (
      outbox.hasMessages ||
      outbox.hasAnswers ||
      log.hasCommitted ||
      !isSameSoftState(this.#softState, softStateOf(core)) ||
      (this.#persist === undefined && (outbox.hasMessagesAfterPersist || this.#hasToPersist))
    );
  }

  /** Returns the next batch, possibly empty. Must be followed by `advance`. */
  ready(): Ready {
    assert(this.#handedOut === undefined, 'ready before advance');
    const core = this.#core;
    if (core.leadership !== undefined) flushLeader(core);
    const { outbox, log } = core;
    const persist = this.#takePersist();
    const messages = outbox.takeMessages();
    // With the disk idle and nothing to write, what was held back depends on nothing any more.
    if (this.#persist === undefined) messages.push(...outbox.takeMessagesAfterPersist());
    const committed = log.takeCommitted(core.limits.maxAppendBytes);
    this.#handedOut = committed.at(-1)?.index ?? log.appliedIndex;
    return {
      ...persist,
      messages,
      committed,
      readStates: outbox.takeReadStates(),
      snapshotsToSend: outbox.takeSnapshotRequests(),
      ...this.#takeSoftState(),
    };
  }

  /**
   * The persist of an earlier batch is durable. Only now does the leader count itself.
   * @param upTo that batch's `persistUpTo`. Entries that were replaced while the persist ran are not
   * counted, whatever it says.
   */
  persisted(upTo: PersistToken): void {
    const core = this.#core;
    const persist = this.#persist;
    assert(
      persist !== undefined &&
        persist.token.term === upTo.term &&
        persist.token.index === upTo.index,
      () => `persisted ${upTo.term}/${upTo.index}, which is not in flight`,
    );
    this.#persist = undefined;
    core.stalledTicks = 0;
    core.outbox.durableTerm = persist.term;
    // A newer snapshot may have arrived meanwhile; it has its own persist.
    const { pendingSnapshot } = core.log;
    if (pendingSnapshot !== undefined && pendingSnapshot === persist.snapshot) {
      core.log.snapshotInstalled(this.#store);
    }
    core.log.persisted();
    if (core.role === 'leader') advanceCommit(core);
  }

  /**
   * The store was replaced together with the state while a snapshot was installed. Called before the
   * `persisted` of that batch, with a log that is empty and ends at the snapshot.
   */
  replaceLog(log: LogReader): void {
    assert(this.#persist?.snapshot !== undefined, 'no snapshot is being installed');
    this.#store = log;
  }

  /** The batch is handled: its `committed` entries are applied. */
  advance(): void {
    assert(this.#handedOut !== undefined, 'advance without ready');
    this.#core.log.applied(this.#handedOut);
    this.#handedOut = undefined;
  }

  /** A picture of the node now. */
  get status(): RaftStatus {
    return statusOf(this.#core);
  }

  get #hasToPersist(): boolean {
    const { log, term, votedFor } = this.#core;
    const { term: savedTerm, votedFor: savedVote } = this.#hardState;
    const isHardStateNew = term !== savedTerm || votedFor !== savedVote;
    return isHardStateNew || log.hasUnpersisted || log.pendingSnapshot !== undefined;
  }

  #takePersist(): Pick<
    Ready,
    'hardState' | 'snapshot' | 'entries' | 'mustSync' | 'persistUpTo' | 'messagesAfterPersist'
  > {
    const { log, outbox, term, votedFor } = this.#core;
    if (this.#persist !== undefined || !this.#hasToPersist) {
      return { entries: [], mustSync: false, messagesAfterPersist: [] };
    }
    const messagesAfterPersist = outbox.takeMessagesAfterPersist();
    const hardState = { term, votedFor, commitIndex: log.durableCommitIndex };
    const isHardStateNew = term !== this.#hardState.term || votedFor !== this.#hardState.votedFor;
    if (isHardStateNew) this.#hardState = hardState;
    const { pendingSnapshot: snapshot } = log;
    const entries = log.takeUnpersisted();
    const persistUpTo = { term: log.lastTerm, index: log.lastIndex };
    this.#persist = { token: persistUpTo, term, snapshot };
    return {
      ...(isHardStateNew && { hardState }),
      ...(snapshot !== undefined && { snapshot }),
      entries,
      mustSync: true,
      persistUpTo,
      messagesAfterPersist,
    };
  }

  #takeSoftState(): Pick<Ready, 'softState'> {
    const softState = softStateOf(this.#core);
    if (isSameSoftState(softState, this.#softState)) return {};
    this.#softState = softState;
    return { softState };
  }
}

type CurrentMessage = Exclude<Message, { kind: 'voteRequest' | 'identityConflict' }>;
type LeaderMessage = Extract<Message, { kind: 'append' | 'heartbeat' | 'snapshot' | 'timeoutNow' }>;

function isFromLeader(message: Message): message is LeaderMessage {
  const { kind } = message;
  return kind === 'append' || kind === 'heartbeat' || kind === 'snapshot' || kind === 'timeoutNow';
}

/** A message of the current term's leader: whoever does not follow it yet does so now. */
function followSender(core: Core, message: LeaderMessage): void {
  const isSameTerm = message.term === core.term;
  assert(
    !isSameTerm || (core.role !== 'leader' && [0, message.from].includes(core.leaderId)),
    () => `two leaders in term ${core.term}: ${core.leaderId} and ${message.from}`,
  );
  if (isSameTerm && core.leaderId === message.from) core.electionElapsed = 0;
  else core.becomeFollower(message.term, message.from);
}

/** A message of an earlier term: its sender learns the current one, the content is ignored. */
function stepStale(core: Core, message: CurrentMessage): void {
  if (!isFromLeader(message)) return;
  const { commitIndex } = core.log;
  core.send({ kind: 'heartbeatReply', to: message.from, readRound: 0, commitIndex });
  if (message.kind === 'snapshot' && core.role === 'follower') stepFollowerSnapshot(core, message);
}

function stepCurrent(core: Core, message: CurrentMessage): void {
  switch (message.kind) {
    case 'voteReply':
      return stepVoteReply(core, message);
    case 'append':
      return stepFollowerAppend(core, message);
    case 'heartbeat':
      return stepFollowerHeartbeat(core, message);
    case 'snapshot':
      return stepFollowerSnapshot(core, message);
    case 'timeoutNow':
      return stepFollowerTimeoutNow(core);
    case 'appendReply':
      if (core.role === 'leader') stepLeaderAppendReply(core, message);
      return;
    case 'heartbeatReply':
      if (core.role === 'leader') stepLeaderHeartbeatReply(core, message);
      return;
    default:
      return unreachable(message);
  }
}

function softStateOf(core: Core): SoftState {
  const { role, leaderId, term, isIdentityRefused } = core;
  return { role, leaderId, term, isIdentityRefused };
}

function isSameSoftState(a: SoftState, b: SoftState): boolean {
  return (
    a.role === b.role &&
    a.leaderId === b.leaderId &&
    a.term === b.term &&
    a.isIdentityRefused === b.isIdentityRefused
  );
}
