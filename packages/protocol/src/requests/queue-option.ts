// The rules of one queue option's value (data-plane reference §6.1): its type is that of its default,
// and some values are bounded or refused.

import { CONFIGURED_QUEUE_DEFAULTS } from '../queue-options.ts';
import type { QueueOptionName } from '../queue-options.ts';

const INT32_MIN = -(2 ** 31);
const INT32_MAX = 2 ** 31 - 1;

const SINK_HOLD_FORM = /^[A-Za-z0-9._-]{0,64}$/;

interface Bounds {
  readonly min: number;
  readonly max: number;
}

const NOT_NEGATIVE: Bounds = { min: 0, max: INT32_MAX };

/** Integers stored as the nearest value inside. A negative duration means none. */
const CLAMPED: Partial<Record<QueueOptionName, Bounds>> = {
  leaseTime: { min: 1, max: INT32_MAX },
  retryLimit: NOT_NEGATIVE,
  dedupWindowSeconds: NOT_NEGATIVE,
  delayedProcessing: NOT_NEGATIVE,
  windowBuffer: NOT_NEGATIVE,
  retentionSeconds: NOT_NEGATIVE,
  completedRetentionSeconds: NOT_NEGATIVE,
  maxWaitTimeSeconds: NOT_NEGATIVE,
  minPopWaitTime: { min: 0, max: 60_000 },
};

/** Integers refused outside. */
const REQUIRED: Partial<Record<QueueOptionName, Bounds>> = {
  retentionSinkHoldMaxSeconds: { min: 60, max: 31_536_000 },
};

/** A value as it is stored, null for the option's default, or why it is refused. */
export type OptionResult =
  | { readonly ok: true; readonly value: number | boolean | string | null }
  | { readonly ok: false; readonly message: string };

/** Reads the value sent for an option. */
export function readOption(name: QueueOptionName, raw: unknown): OptionResult {
  // A label that is no string is an empty one, never an error.
  if (name === 'namespace' || name === 'task') return { ok: true, value: label(raw) };
  if (raw === null) return { ok: true, value: null };
  const kind = typeof CONFIGURED_QUEUE_DEFAULTS[name];
  if (kind === 'number') return readInteger(name, raw);
  if (kind === 'boolean') {
    if (typeof raw === 'boolean') return { ok: true, value: raw };
    return { ok: false, message: `${name} must be true or false` };
  }
  if (typeof raw === 'string' && SINK_HOLD_FORM.test(raw)) return { ok: true, value: raw };
  const form = 'at most 64 letters, digits, dots, underscores and hyphens';
  return { ok: false, message: `${name} must be a string of ${form}` };
}

function label(raw: unknown): string {
  return typeof raw === 'string' ? raw.toWellFormed() : '';
}

function readInteger(name: QueueOptionName, raw: unknown): OptionResult {
  const isInt32 =
    typeof raw === 'number' && Number.isInteger(raw) && raw >= INT32_MIN && raw <= INT32_MAX;
  if (!isInt32) {
    return { ok: false, message: `${name} must be an integer from ${INT32_MIN} to ${INT32_MAX}` };
  }
  const required = REQUIRED[name];
  if (required !== undefined && (raw < required.min || raw > required.max)) {
    return { ok: false, message: `${name} must be from ${required.min} to ${required.max}` };
  }
  const { min, max } = CLAMPED[name] ?? { min: INT32_MIN, max: INT32_MAX };
  // Adding zero turns -0 into 0: replicas must hold one spelling.
  return { ok: true, value: Math.min(Math.max(raw, min), max) + 0 };
}
