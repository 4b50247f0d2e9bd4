// The budget that names share (data-plane reference §0.4), in bytes of UTF-8.

import { NAME_BUDGET_BYTES } from './limits.ts';

/** Sizes in bytes of the names that one request item uses; 0 for a name it does not have. */
export interface NameSizes {
  readonly tenant: number;
  readonly queue: number;
  readonly partition: number;
  readonly group: number;
}

/**
 * Returns undefined when the names fit the budget, else the text for `name_too_long`, which names
 * the longest of them.
 */
export function nameBudgetError(sizes: NameSizes): string | undefined {
  const used = sizes.tenant + sizes.queue + Math.max(sizes.partition, sizes.group);
  if (used <= NAME_BUDGET_BYTES) return undefined;
  let longest: 'queue' | 'partition' | 'consumerGroup' = 'queue';
  let size = sizes.queue;
  if (sizes.partition > size) [longest, size] = ['partition', sizes.partition];
  if (sizes.group > size) [longest, size] = ['consumerGroup', sizes.group];
  const left = NAME_BUDGET_BYTES - sizes.tenant;
  return (
    `${longest} is too long: it has ${size} bytes, and queue plus the longer of partition and ` +
    `consumerGroup may have ${left} bytes together`
  );
}
