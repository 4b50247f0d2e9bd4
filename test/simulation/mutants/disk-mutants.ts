// Planted bugs of the store: switches of the virtual disk.

import type { Mutant } from './mutant.ts';

/** Planted bugs of the store. */
export const DISK_MUTANTS: readonly Mutant[] = [
  {
    name: 'ack-before-fsync',
    what: 'the store reports writes as durable when they begin',
    disk: { acknowledgesEarly: true },
  },
  {
    name: 'vote-not-persisted',
    what: 'the vote is not part of what is saved',
    disk: { forgetsVotes: true },
  },
  {
    name: 'skip-chain-check',
    what: 'the store reads damaged records as if they were whole',
    disk: { acceptsDamage: true },
  },
  {
    name: 'swallow-write-error',
    what: 'a failed write is reported as a success',
    disk: { swallowsErrors: true },
  },
  {
    name: 'purge-beyond-checkpoint',
    what: "the log's start moves beyond the older checkpoint",
    disk: { coversNewest: true },
  },
  {
    name: 'purge-too-much',
    what: 'with a record the one that follows is purged, too',
    disk: { purgesNeighbours: true },
  },
  {
    name: 'install-without-fsync',
    what: 'the records of an installed snapshot are not durable when its install is',
    disk: { installsUnsynced: true },
  },
  {
    name: 'same-identity-again',
    what: 'a new disk under the id of a node that lost its own counts as the old one',
    disk: { keepsIdentity: true },
  },
  {
    name: 'reload-newer-state',
    what: 'a node starts with a state that is newer than what is committed',
    disk: { trustsTail: true },
  },
];
