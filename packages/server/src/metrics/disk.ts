// What the metrics show of this node's disk and of the gate.

import type { Registry } from 'prom-client';
import type { DiskWatch } from '../disk/disk-watch.ts';
import { gauge } from './families.ts';

/** Adds the families of the disk. */
export function addDisk(registry: Registry, disk: Pick<DiskWatch, 'gate' | 'room'>): void {
  const { gate } = disk;
  gauge(
    registry,
    'queen_raft_storage_full',
    'Whether messages are refused for want of room.',
    () => (gate.isClosed ? 1 : 0),
  );
  gauge(registry, 'queen_disk_used_bytes', 'Used bytes of the disk that holds the data.', () => {
    return disk.room.usedBytes;
  });
  gauge(registry, 'queen_disk_free_bytes', 'Free bytes of that disk.', () => disk.room.freeBytes);
  gauge(
    registry,
    'queen_disk_worst_used_ratio',
    'Used part of the fullest disk of a voter.',
    () => {
      return gate.worstVoterDisk?.used ?? 0;
    },
  );
}
