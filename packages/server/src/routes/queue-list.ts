// The two forms of the queue listing (data-plane reference §7).

import { formatTimestampUs, formatUuid } from '@queen-ts/base';
import type { QueueList, QueueView } from '@queen-ts/engine';
import { showQueueOptions } from '@queen-ts/protocol';

/** The full listing. Key-value rows and timers do not exist in this build, so there are none. */
export function fullQueueList(queues: QueueList): unknown {
  return { queues: queues.map(fullRow), kvRows: 0, kvBytes: 0, timerRows: 0, timerBytes: 0 };
}

/** The short listing (`?stats=lanes`). */
export function laneQueueList(queues: QueueList): unknown {
  const rows = queues.map((queue) => ({
    id: formatUuid(queue.id),
    name: queue.name,
    queue: queue.name,
    partitions: queue.partitions,
    createdAt: formatTimestampUs(queue.createdUs),
  }));
  return { queues: rows, stats: 'lanes' };
}

function fullRow(queue: QueueView): unknown {
  const { name, options, partitions, segments, messages, retainedBytes, createdUs } = queue;
  return {
    id: formatUuid(queue.id),
    name,
    queue: name,
    namespace: options.namespace,
    task: options.task,
    storage: 'segments',
    partitions,
    segments: { segments, messages: messages.total },
    messages,
    retainedBytes,
    options: showQueueOptions(options),
    createdAt: formatTimestampUs(createdUs),
  };
}
