// Metrics of the log beside appending: where it starts, what left its archive, and snapshots.

import type { Broker, LogUpkeepCounters } from '@queen-ts/cluster';
import type { Registry } from 'prom-client';
import { counter, gauge, labelledCounter } from './families.ts';

/** Adds them. */
export function addLogUpkeep(registry: Registry, broker: Broker): void {
  const log = (): LogUpkeepCounters => broker.status().log;
  gauge(registry, 'queen_raft_log_first_index', 'First entry that is not archived.', () => {
    return log().logFirstIndex;
  });
  counter(registry, 'queen_raft_archive_purged_records_total', 'Old records deleted.', () => {
    return log().purgedRecordsTotal;
  });
  counter(registry, 'queen_raft_archive_purged_bytes_total', 'What was deleted of them.', () => {
    return log().purgedBytesTotal;
  });
  counter(registry, 'queen_raft_archive_reclaims_total', 'Times space was given back.', () => {
    return log().reclaimsTotal;
  });
  labelledCounter(registry, 'queen_raft_snapshots_total', {
    help: 'Snapshots for other members and from them, by what became of them.',
    label: 'outcome',
    values: () => {
      const { snapshotsSentTotal, snapshotsFailedTotal, snapshotsInstalledTotal } = log();
      return [
        ['sent', snapshotsSentTotal],
        ['failed', snapshotsFailedTotal],
        ['installed', snapshotsInstalledTotal],
      ];
    },
  });
  gauge(registry, 'queen_raft_snapshots_sending', 'Snapshots on their way out.', () => {
    return log().snapshotsSending;
  });
  gauge(registry, 'queen_raft_snapshot_receiving', 'Whether one is on its way in.', () => {
    return log().isReceivingSnapshot ? 1 : 0;
  });
}
