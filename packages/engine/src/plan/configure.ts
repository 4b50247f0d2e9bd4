// Configure: creates a queue or changes its options (reference §6). Types were checked at the edge;
// here values are merged and clamped.

import { CONFIGURED_QUEUE_DEFAULTS, EFFECT, QUEUE_OPTION_NAMES } from '@queen-ts/protocol';
import type {
  ConfigureCommand,
  ConfigureOutcome,
  QueueOptions,
  QueueOptionsPatch,
} from '@queen-ts/protocol';
import type { PlanContext } from './context.ts';

const MIN_POP_WAIT_TIME_MS_MAX = 60_000;

/** Plans a configuration. A change that changes nothing has no effect. */
export function planConfigure(context: PlanContext, command: ConfigureCommand): ConfigureOutcome {
  const { state } = context;
  const known = state.queuesByName.get(command.queue);
  const base =
    command.mode === 'merge' && known !== undefined ? known.options : CONFIGURED_QUEUE_DEFAULTS;
  const options = clamp(merge(base, command.options));
  const id = known?.id ?? command.queueId;
  if (known === undefined || !areEqual(known.options, options)) {
    context.emit({
      kind: EFFECT.QUEUE_PUT,
      queue: known?.number ?? state.nextQueue,
      name: command.queue,
      id,
      createdUs: known?.createdUs ?? state.nowUs,
      options,
    });
  }
  return { kind: 'configure', queue: command.queue, queueId: id, options };
}

/** Absent keys keep the value of `base`; null is the default of `/configure`. */
function merge(base: QueueOptions, patch: QueueOptionsPatch): QueueOptions {
  const values: Record<string, number | boolean | string> = { ...base };
  for (const name of QUEUE_OPTION_NAMES) {
    const value = patch[name];
    if (value === undefined) continue;
    values[name] = value ?? CONFIGURED_QUEUE_DEFAULTS[name];
  }
  return values as unknown as QueueOptions;
}

function clamp(options: QueueOptions): QueueOptions {
  const { dedupWindowSeconds, minPopWaitTime } = options;
  return {
    ...options,
    dedupWindowSeconds: Math.max(0, dedupWindowSeconds),
    minPopWaitTime: Math.min(Math.max(0, minPopWaitTime), MIN_POP_WAIT_TIME_MS_MAX),
  };
}

function areEqual(a: QueueOptions, b: QueueOptions): boolean {
  return QUEUE_OPTION_NAMES.every((name) => a[name] === b[name]);
}
