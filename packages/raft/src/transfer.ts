// Handing leadership to a chosen voter (dissertation 3.10).

import type { Core } from './core.ts';
import { sendTimeoutNow } from './leader.ts';
import { memberOf } from './membership.ts';
import type { NodeId } from './node-id.ts';
import { isPeerRefused } from './replicate.ts';
import type { TransferResult } from './results.ts';

/** Starts a transfer; see `RaftNode.transferLeadership`. Repeating a running one is no error. */
export function transferLeadership(core: Core, target: NodeId): TransferResult {
  const { leadership } = core;
  if (leadership === undefined) return { ok: false, refusal: 'notLeader' };
  if (target === core.id) return { ok: false, refusal: 'isLeader' };
  const peer = leadership.peers.get(target);
  const isVoter = memberOf(core.memberships.latest, target)?.role === 'voter';
  if (peer === undefined || !isVoter || isPeerRefused(core, peer)) {
    return { ok: false, refusal: 'notVoter' };
  }
  if (leadership.transfer !== undefined) {
    const isSame = leadership.transfer.target === target;
    return isSame ? { ok: true } : { ok: false, refusal: 'transferring' };
  }
  leadership.transfer = { target, startedAtTick: leadership.tick };
  sendTimeoutNow(core);
  return { ok: true };
}
