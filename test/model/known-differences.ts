// Differences between engine and model that are known and not settled yet. Each is tolerated in one
// place only, by its name here; settling one means to delete the name and its place.

/** Names of tolerated differences. */
export type KnownDifference =
  /** A lease counts messages that retention removed as being processed. */
  | 'removedInProcessing'
  /** A message is found by a later occurrence of its id although an earlier one is retained. */
  | 'laterMatch'
  /** A wildcard pop of a queue with a delay or a window names one that holds nothing back now. */
  | 'staleReason';

const TOLERATED: ReadonlySet<KnownDifference> = new Set([
  'removedInProcessing',
  'laterMatch',
  'staleReason',
]);

/** True while the difference is tolerated. */
export function isTolerated(difference: KnownDifference): boolean {
  return TOLERATED.has(difference);
}
