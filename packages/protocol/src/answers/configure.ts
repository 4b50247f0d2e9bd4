// The answer of `/configure` (data-plane reference §6.2), and the options object that queue listings
// show as well.

import { encodeUtf8, formatUuid } from '@queen-ts/base';
import type { ConfigureOutcome } from '../outcomes.ts';
import type { QueueOptions } from '../queue-options.ts';

/** Options as clients see them: without the labels, and `maxSize` under its older name as well. */
export type ShownQueueOptions = Omit<QueueOptions, 'namespace' | 'task'> & {
  readonly maxQueueSize: number;
};

/** Returns the `options` object of an answer; written back to `/configure` it changes nothing. */
export function showQueueOptions(options: QueueOptions): ShownQueueOptions {
  const { namespace: _namespace, task: _task, ...shown } = options;
  return { ...shown, maxQueueSize: options.maxSize };
}

/** Returns the body of the answer. */
export function renderConfigure({ queue, queueId, options }: ConfigureOutcome): Uint8Array {
  return encodeUtf8(
    JSON.stringify({
      configured: true,
      queueId: formatUuid(queueId),
      partitionId: null,
      queue,
      namespace: options.namespace,
      task: options.task,
      storage: 'segments',
      options: showQueueOptions(options),
    }),
  );
}
