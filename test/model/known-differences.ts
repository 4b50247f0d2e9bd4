// Differences between engine and model that are known and not settled yet. Each is tolerated in one
// place only, by its name here; settling one means to delete the name and its place.

/** Names of tolerated differences. */
export type KnownDifference =
  /** The second mention of an id in one ack is answered as unresolvable. */
  | 'repeatedAckItem'
  /** A wildcard pop gives a reason that does not hold any more (`delayed` with nothing left). */
  | 'staleReason'
  /** New labels bring a queue into the scope of a parked discovery pop, which does not hear of it. */
  | 'relabelWakeUp';

const TOLERATED: ReadonlySet<KnownDifference> = new Set([
  'repeatedAckItem',
  'staleReason',
  'relabelWakeUp',
]);

/** True while the difference is tolerated. */
export function isTolerated(difference: KnownDifference): boolean {
  return TOLERATED.has(difference);
}
