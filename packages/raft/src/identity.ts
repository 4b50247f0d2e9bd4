// Telling a member from a node that lost the member's disk and came back under its id (I10).

import type { Core } from './core.ts';
import { memberOf } from './membership.ts';
import type { IdentityConflict, Message } from './messages.ts';

/**
 * Whether a vote or an ack comes from a disk that was never admitted as this voter. It made none of
 * the promises that were counted under the id, so it is not counted at all.
 */
export function isForeignDisk(core: Core, message: Message): boolean {
  const member = memberOf(core.memberships.latest, message.from);
  if (member === undefined || member.role !== 'voter') return false;
  return member.incarnation !== 0 && member.incarnation !== message.incarnation;
}

/** Tells the sender that its answers are not counted. */
export function refuseIdentity(core: Core, message: Message): void {
  core.send({
    kind: 'identityConflict',
    to: message.from,
    refusedIncarnation: message.incarnation,
  });
}

/** This node's answers are not counted: it stops voting and campaigning until it is re-admitted. */
export function stepIdentityConflict(core: Core, message: IdentityConflict): void {
  const bound = memberOf(core.memberships.latest, core.id)?.incarnation;
  // Old news from before this disk was admitted, or meant for an earlier disk.
  if (bound === core.incarnation || message.refusedIncarnation !== core.incarnation) return;
  core.wasIdentityRefused = true;
  if (core.role !== 'follower') core.becomeFollower(core.term, 0);
}
