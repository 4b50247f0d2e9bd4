// The errors that the broker itself answers with, worded once.

import { BrokerError } from '@queen-ts/protocol';
import type { Command } from '@queen-ts/protocol';
import type { Request } from './request.ts';

/** The pop's client is gone; nobody reads this. */
export function clientLeft(): BrokerError {
  return new BrokerError('timeout', 'the client left before its pop was answered');
}

/** The node failed and is about to exit. */
export function nodeFailed(cause: Error): BrokerError {
  return new BrokerError('no_leader', 'this node has stopped after a failure', { cause });
}

/** The state is being rebuilt after a lost leadership. */
export function rebuilding(): BrokerError {
  return new BrokerError('retry', 'this node rebuilds its state after a change of leader');
}

/** The node is going down by request. */
export function nodeStopping(): BrokerError {
  return new BrokerError('shutting_down', 'this node is stopping; nothing was changed');
}

/** A lane of the command queue is full. */
export function queueFull(): BrokerError {
  const message = 'too many requests wait for this node; nothing was changed, try again later';
  return new BrokerError('overloaded', message);
}

/** As many commands as allowed are between two of their steps. */
export function tooManyLongCommands(max: number): BrokerError {
  const message = `${max} seeks and deletions are under way; nothing was changed, try again later`;
  return new BrokerError('overloaded', message);
}

/** As many pops as allowed are parked. */
export function lotFull(parkedPopsMax: number): BrokerError {
  const message = `${parkedPopsMax} pops are waiting on this node already; try again later`;
  return new BrokerError('overloaded', message);
}

/** The deadline passed while the request still waited to be planned. */
export function notPlanned(isLeaderKnown: boolean): BrokerError {
  if (isLeaderKnown) {
    return new BrokerError('timeout', 'the request deadline elapsed; nothing was changed');
  }
  return new BrokerError('no_leader', 'no leader was elected before the request deadline');
}

/** The entry is proposed and not known to be durable: only who can tell by id should try again. */
export function inDoubt(request: Request): BrokerError {
  return inDoubtOf(request.command.kind);
}

/** The same for a command of this kind, wherever it was planned. */
export function inDoubtOf(kind: Command['kind']): BrokerError {
  const code = kind === 'push' ? 'timeout' : 'outcome_unknown';
  return new BrokerError(code, 'the outcome is unknown: it was not durable before the deadline');
}

/** As many reads as allowed run. */
export function tooManyReads(): BrokerError {
  return new BrokerError('overloaded', 'too many reads run on this node; try again later');
}

/** As many partitions as allowed are watched by waiting fetches. */
export function tooManyWaits(): BrokerError {
  return new BrokerError('overloaded', 'too many fetches wait on this node; try again later');
}

/** The deadline passed while a read ran or waited for its confirmation. */
export function readLate(): BrokerError {
  return new BrokerError('timeout', 'the request deadline elapsed before the read was complete');
}

/** The state that was read is not this node's any more. */
export function readLost(): BrokerError {
  return new BrokerError('retry', 'the leader changed while the state was read');
}

/** Only a leader can tell what every write has left. */
export function notLeader(): BrokerError {
  return new BrokerError('no_leader', 'this node does not lead: it cannot confirm what it reads');
}

/** A voter's disk is nearly full. */
export function storageFull(): BrokerError {
  const message = 'the disk is nearly full: delete or consume messages, or make it larger';
  return new BrokerError('storage_full', `nothing was stored, ${message}`);
}

/** Another node leads, or none: whoever asked tries again where the leader is. */
export function notLeading(): BrokerError {
  return new BrokerError('no_leader', 'this node does not lead; nothing was changed');
}

/** A change of the cluster itself that may or may not come to be. */
export function outcomeUnknown(why: string): BrokerError {
  return new BrokerError('outcome_unknown', `the outcome is unknown: ${why}`);
}

/** What was claimed can be read neither here nor at the leader; the claim went back. */
export function payloadsMissing(cause: unknown): BrokerError {
  const message = 'the leader was lost before it sent what was claimed; the claim was given back';
  return new BrokerError('retry', message, { cause });
}
