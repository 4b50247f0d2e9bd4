// Stable text for messages, batches and status: what the script tests print and people read in logs.

import { decodeMembership } from './membership-codec.ts';
import type { Membership } from './membership.ts';
import type { Message } from './messages.ts';
import type { Entry } from './ports.ts';
import type { PeerStatus, RaftStatus, Ready, SoftState } from './ready.ts';

const TEXT_LENGTH_MAX = 24;

/** One line: `1->2 append t3 prev=4/t2 commit=4 [5/t3 "x"]`. */
export function describeMessage(message: Message): string {
  const { from, to, kind, term } = message;
  const details = detailsOf(message);
  return `${from}->${to} ${kind} t${term}${details === '' ? '' : ` ${details}`}`;
}

/** One line: `5/t3 "x"`, with the head as text where it is printable. */
export function describeEntry(entry: Entry): string {
  const name = `${entry.index}/t${entry.term}`;
  switch (entry.type) {
    case 'noop':
      return `${name} noop`;
    case 'membership':
      return `${name} {${describeMembership(decodeMembership(entry.head))}}`;
    case 'command':
      return `${name} ${describeBytes(entry.head)}${describePayload(entry.payload)}`;
  }
}

/** `v1 v2 l3`: voters and learners; `v1?` while its incarnation is not bound. */
export function describeMembership(membership: Membership): string {
  return membership.members
    .map(({ role, id, incarnation }) => {
      const isUnbound = role === 'voter' && incarnation === 0;
      return `${role === 'voter' ? 'v' : 'l'}${id}${isUnbound ? '?' : ''}`;
    })
    .join(' ');
}

/** The lines of a batch, without what is absent from it. */
export function describeReady(ready: Ready): string[] {
  const { softState, hardState, snapshot } = ready;
  const lines: string[] = [];
  if (softState !== undefined) lines.push(describeSoftState(softState));
  if (hardState !== undefined) {
    const { term, votedFor, commitIndex } = hardState;
    lines.push(`hardState t${term} vote=${votedFor} commit=${commitIndex}`);
  }
  if (snapshot !== undefined) {
    const { index, term, membership } = snapshot;
    lines.push(`snapshot ${index}/t${term} {${describeMembership(membership)}}`);
  }
  if (ready.entries.length > 0)
    lines.push(`entries ${ready.entries.map(describeEntry).join(', ')}`);
  const { committed, readStates, snapshotsToSend } = ready;
  if (committed.length > 0) lines.push(`committed ${committed.map(describeEntry).join(', ')}`);
  for (const { contextId, index } of readStates) lines.push(`read ${contextId} at ${index}`);
  for (const { to, minIndex } of snapshotsToSend) lines.push(`snapshot to ${to} from ${minIndex}`);
  lines.push(...ready.messages.map((message) => `send ${describeMessage(message)}`));
  for (const message of ready.messagesAfterPersist) lines.push(`hold ${describeMessage(message)}`);
  return lines;
}

/** One line for the node and, on a leader, one for each peer. */
export function describeStatus(status: RaftStatus): string[] {
  const { id, role, term, leaderId, commitIndex, appliedIndex, firstIndex, lastIndex } = status;
  const notes = [
    `{${describeMembership(status.membership)}}`,
    ...(status.transferTarget === 0 ? [] : [`transfer=${status.transferTarget}`]),
    ...(status.uncommittedBytes === 0 ? [] : [`uncommitted=${status.uncommittedBytes}`]),
    ...(status.isIdentityRefused ? ['identityRefused'] : []),
  ];
  const log = `log=${firstIndex}..${lastIndex} persisted=${status.persistedIndex}`;
  const progress = `commit=${commitIndex} applied=${appliedIndex}`;
  return [
    `${id} ${role} t${term} vote=${status.votedFor} leader=${leaderId} ${progress} ${log} ${notes.join(' ')}`,
    ...status.peers.map(describePeer),
  ];
}

function describePeer(peer: PeerStatus): string {
  const { id, state, matchIndex, nextIndex, inflightBytes, ticksSinceHeard } = peer;
  const refused = peer.isIdentityRefused ? ' identityRefused' : '';
  const window = `match=${matchIndex} next=${nextIndex} inflight=${inflightBytes}`;
  return `  peer ${id} ${state} ${window} heard=${ticksSinceHeard}${refused}`;
}

function describeSoftState(softState: SoftState): string {
  const { role, leaderId, term, isIdentityRefused } = softState;
  return `${role} t${term} leader=${leaderId}${isIdentityRefused ? ' identityRefused' : ''}`;
}

function detailsOf(message: Message): string {
  switch (message.kind) {
    case 'voteRequest': {
      const flags = `${message.preVote ? 'pre ' : ''}${message.transfer ? 'transfer ' : ''}`;
      return `${flags}last=${message.lastIndex}/t${message.lastTerm}`;
    }
    case 'voteReply':
      return `${message.preVote ? 'pre ' : ''}${message.granted ? 'granted' : 'refused'}`;
    case 'append': {
      const { prevIndex, prevTerm, commitIndex, entries } = message;
      const tail = entries.length === 0 ? '' : ` [${entries.map(describeEntry).join(', ')}]`;
      return `prev=${prevIndex}/t${prevTerm} commit=${commitIndex}${tail}`;
    }
    case 'appendReply': {
      const { index, hintIndex, hintTerm } = message;
      return message.rejected
        ? `rejected ${index} hint=${hintIndex}/t${hintTerm}`
        : `match=${index}`;
    }
    case 'heartbeat':
      return `round=${message.readRound}`;
    case 'heartbeatReply':
      return `round=${message.readRound} commit=${message.commitIndex}`;
    case 'snapshot': {
      const { index, term, membership } = message.snapshot;
      return `${index}/t${term} {${describeMembership(membership)}}`;
    }
    case 'timeoutNow':
      return '';
    case 'identityConflict':
      return `refused=${message.refusedIncarnation}`;
  }
}

function describeBytes(bytes: Uint8Array): string {
  const isPrintable = bytes.every((byte) => byte >= 0x20 && byte < 0x7f);
  if (!isPrintable || bytes.length > TEXT_LENGTH_MAX) return `<${bytes.length} bytes>`;
  return JSON.stringify(String.fromCharCode(...bytes));
}

function describePayload(payload: Uint8Array): string {
  return payload.length === 0 ? '' : `+${payload.length}`;
}
