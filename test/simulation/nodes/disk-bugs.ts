// What a store may do wrong: the switches that planted bugs turn.

/** How a disk may misbehave in ways that no operator would accept: planted bugs of the store. */
export interface DiskBugs {
  /** A write is reported as durable when it begins. */
  readonly acknowledgesEarly: boolean;
  /** The vote is not part of what a save makes durable. */
  readonly forgetsVotes: boolean;
  /** Damaged records are read as if they were whole. */
  readonly acceptsDamage: boolean;
  /** A failed write is reported as a success. */
  readonly swallowsErrors: boolean;
  /** The saved commit index claims the whole log. */
  readonly trustsTail: boolean;
  /** The newest checkpoint counts as if an older one stood behind it. */
  readonly coversNewest: boolean;
  /** A purge takes along the record after its last one. */
  readonly purgesNeighbours: boolean;
  /** The records of an installed snapshot are not durable. */
  readonly installsUnsynced: boolean;
  /** A new disk has the identity of the one that was lost. */
  readonly keepsIdentity: boolean;
}

/** A disk as it should be. */
export const NO_DISK_BUGS: DiskBugs = {
  acknowledgesEarly: false,
  forgetsVotes: false,
  acceptsDamage: false,
  swallowsErrors: false,
  trustsTail: false,
  keepsIdentity: false,
  coversNewest: false,
  purgesNeighbours: false,
  installsUnsynced: false,
};
