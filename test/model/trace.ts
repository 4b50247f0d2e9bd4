// One line per command and its outcome, for failure reports.

import { formatUuid } from '@queen-ts/base';
import { ACK_ERROR, ACK_STATUS, PUSH_STATUS } from '@queen-ts/protocol';
import type { Id128, Outcome } from '@queen-ts/protocol';
import type { PlainAckItem, PlainCommand } from './plain-commands.ts';
import { findPartition } from './state.ts';
import type { ModelQueues } from './state.ts';

/** What was asked. */
export function describeCommand(command: PlainCommand, queues: ModelQueues): string {
  switch (command.kind) {
    case 'push': {
      const items = command.items.map(({ queue, partition, txn, payload }) => {
        return `${queue}/${partition} ${txn ?? 'minted'} (${payload.length} B)`;
      });
      return `push ${items.join(', ')}`;
    }
    case 'pop': {
      const { kind, scope, group, leaseId, ...rest } = command;
      const where = Object.values(scope).join(' ');
      return `${kind} ${where} as ${group}, lease ${describeLease(leaseId)}, ${JSON.stringify(rest)}`;
    }
    case 'ack': {
      const items = command.items.map((item) => describeAckItem(item, queues));
      return `ack as ${command.group}: ${items.join(', ')}`;
    }
    case 'transaction': {
      const parts = [...command.acks, ...(command.push === undefined ? [] : [command.push])];
      return `transaction of ${parts.map((it) => describeCommand(it, queues)).join('; ')}`;
    }
    case 'extend':
      return `extend ${describeLease(command.leaseId)} by ${command.seconds} s`;
    case 'release':
      return `release ${describeLease(command.leaseId)}`;
    case 'configure':
      return `configure ${command.queue}, ${command.mode} ${JSON.stringify(command.options)}`;
    case 'deleteQueue':
      return `delete ${command.queue}`;
  }
}

function describeAckItem(item: PlainAckItem, queues: ModelQueues): string {
  const found = findPartition(queues, item.partition);
  const where =
    found === undefined
      ? `partition ${item.partition}`
      : `${found.queue.name}/${found.partition.name}`;
  const { lease } = item;
  const fence = lease === null ? 'unfenced' : lease === 'malformed' ? lease : describeLease(lease);
  const error = item.error === null ? '' : ` «${item.error}»`;
  return `${where} ${item.txn} ${nameIn(ACK_STATUS, item.status)} ${fence}${error}`;
}

/** What was answered. */
export function describeOutcome(outcome: Outcome): string {
  switch (outcome.kind) {
    case 'push':
      return Array.from(outcome.statuses, (status, i) => {
        return `${nameIn(PUSH_STATUS, status)}@${outcome.offsets[i]}`;
      }).join(', ');
    case 'pop': {
      const claims = outcome.claims.map(({ queue, partition, deliveryAttempt, spans }) => {
        const offsets = spans.map(({ baseOffset, first, count }) => {
          return `${baseOffset + first}+${count}`;
        });
        return `${queue}/${partition} ${offsets.join(' ')} attempt ${deliveryAttempt}`;
      });
      const conflation = outcome.conflation ? ', conflated' : '';
      return `${claims.join(', ') || outcome.emptyReason}${conflation}`;
    }
    case 'ack':
      return Array.from(outcome.errors, (error, i) => {
        const flags = [
          outcome.leaseReleased[i] === 1 ? 'released' : '',
          outcome.deadLettered[i] === 1 ? 'dlq' : '',
          outcome.noops[i] === 1 ? 'noop' : '',
        ];
        return [nameIn(ACK_ERROR, error), ...flags.filter((flag) => flag !== '')].join(' ');
      }).join(', ');
    case 'transaction': {
      const parts = [...outcome.acks, ...(outcome.push === undefined ? [] : [outcome.push])];
      return `committed, ${parts.map(describeOutcome).join('; ')}`;
    }
    case 'configure':
      return 'done';
    default:
      return JSON.stringify(outcome);
  }
}

function nameIn(names: Readonly<Record<string, number>>, value: number): string {
  const found = Object.entries(names).find(([, it]) => it === value);
  return found?.[0].toLowerCase() ?? String(value);
}

/** The low word is enough: sequences mint ids by counting. */
export function describeLease(id: Id128 | undefined): string {
  return id === undefined ? 'none' : formatUuid(id).slice(-4);
}
