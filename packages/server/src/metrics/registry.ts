// Prometheus families. Values are read from the counters and the broker when somebody scrapes; the
// hot routes never touch prom-client.

import type { CheckpointStatus } from '@queen-ts/cluster';
import { Registry } from 'prom-client';
import type { Edge } from '../edge.ts';
import { counter, gauge, labelledCounter, labelledGauge } from './families.ts';
import { addLogUpkeep } from './log-upkeep.ts';

/** Builds a registry of its own for `edge`: two nodes in one process do not mix. */
export function createRegistry(edge: Edge): Registry {
  const registry = new Registry();
  addProcess(registry, edge);
  addRequests(registry, edge);
  addAdmission(registry, edge);
  addLog(registry, edge);
  addCheckpoints(registry, edge);
  addLogUpkeep(registry, edge.broker);
  addState(registry, edge);
  return registry;
}

function addProcess(registry: Registry, edge: Edge): void {
  gauge(registry, 'queen_uptime_seconds', 'Seconds since the start of the process.', () =>
    Math.floor((edge.clock.monotonicUs() - edge.startedUs) / 1e6),
  );
  gauge(registry, 'queen_process_resident_memory_bytes', 'Resident memory.', () =>
    process.memoryUsage.rss(),
  );
}

function addRequests(registry: Registry, { counters }: Edge): void {
  const name = (part: string): string => `queen_process_${part}_total`;
  counter(registry, name('push_requests'), 'Push requests.', () => counters.pushRequests);
  counter(registry, name('push_messages'), 'Items of pushes.', () => counters.pushMessages);
  counter(registry, name('pop_requests'), 'Pop requests.', () => counters.popRequests);
  counter(registry, name('pop_messages'), 'Messages handed out.', () => counters.popMessages);
  counter(registry, name('ack_requests'), 'Ack requests.', () => counters.ackRequests);
  counter(registry, name('ack_messages'), 'Items of acks.', () => counters.ackMessages);
  counter(registry, 'queen_pop_empty_total', 'Pops that delivered nothing.', () => {
    return counters.popEmpty;
  });
  counter(
    registry,
    'queen_pop_undelivered_total',
    'Pops whose messages went back because the client was gone.',
    () => counters.popUndelivered,
  );
  labelledCounter(registry, 'queen_http_refused_total', {
    help: 'Refused requests by error code.',
    label: 'code',
    values: () => counters.errors,
  });
}

function addAdmission(registry: Registry, edge: Edge): void {
  const { pushBudget } = edge;
  labelledCounter(registry, 'queen_raft_admit_total', {
    help: 'Pushes by what admission said.',
    label: 'outcome',
    values: () => Object.entries(pushBudget.counts),
  });
  gauge(registry, 'queen_raft_admit_bytes', 'Bytes of admitted pushes.', () => {
    return pushBudget.usedBytes;
  });
  gauge(registry, 'queen_raft_admit_waiting', 'Pushes waiting for admission.', () => {
    return pushBudget.waiterCount;
  });
}

function addLog(registry: Registry, { broker }: Edge): void {
  labelledGauge(registry, 'queen_raft_index', {
    help: 'Log positions.',
    label: 'kind',
    values: () => {
      const { lastIndex, commitIndex, appliedIndex } = broker.status();
      return [
        ['log', lastIndex],
        ['committed', commitIndex],
        ['applied', appliedIndex],
      ];
    },
  });
  gauge(registry, 'queen_raft_term', 'Raft term.', () => broker.status().term);
  gauge(registry, 'queen_raft_is_leader', 'Whether this node leads.', () =>
    broker.status().role === 'leader' ? 1 : 0,
  );
  counter(registry, 'queen_raft_proposals_total', 'Entries proposed.', () => {
    return broker.status().entriesTotal;
  });
  counter(registry, 'queen_raft_entry_bytes_total', 'Size of these entries.', () => {
    return broker.status().entryBytesTotal;
  });
  counter(registry, 'queen_raft_log_syncs_total', 'Synced log writes.', () => {
    return broker.status().syncsTotal;
  });
}

function addCheckpoints(registry: Registry, { broker }: Edge): void {
  const name = (part: string): string => `queen_checkpoint_${part}`;
  const status = (): CheckpointStatus => broker.status().checkpoints;
  labelledCounter(registry, 'queen_checkpoints_total', {
    help: 'Checkpoints by what became of them.',
    label: 'outcome',
    values: () => {
      const { finishedTotal, droppedTotal, failedTotal } = status();
      return [
        ['finished', finishedTotal],
        ['dropped', droppedTotal],
        ['failed', failedTotal],
      ];
    },
  });
  gauge(registry, name('bytes'), 'Size of the newest checkpoint.', () => status().sizeBytes);
  gauge(registry, name('duration_seconds'), 'Time that the last one took.', () => {
    return status().durationUs / 1e6;
  });
  gauge(registry, name('age_seconds'), 'Time since the last one; NaN before the first.', () => {
    return (status().ageUs ?? Number.NaN) / 1e6;
  });
  gauge(registry, name('uncovered_log_bytes'), 'Log that a start would replay.', () => {
    return status().uncoveredBytes;
  });
}

function addState(registry: Registry, { broker }: Edge): void {
  gauge(registry, 'queen_parked_long_polls', 'Pops that wait for messages.', () => {
    return broker.status().parkedPops;
  });
  gauge(registry, 'queen_raft_queued_commands', 'Commands waiting for the next entry.', () => {
    return broker.status().queuedCommands;
  });
  gauge(registry, 'queen_raft_queued_bytes', 'Size of these commands.', () => {
    return broker.status().queuedBytes;
  });
  gauge(registry, 'queen_queues', 'Queues.', () => broker.status().queues);
  gauge(registry, 'queen_partitions', 'Partitions.', () => broker.status().partitions);
  gauge(registry, 'queen_cursors', 'Cursors.', () => broker.status().cursors);
  gauge(registry, 'queen_dlq_depth', 'Dead letters.', () => broker.status().deadLetters);
}
