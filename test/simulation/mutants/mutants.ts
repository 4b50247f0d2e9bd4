// All planted bugs by name.

import { BROKER_MUTANTS } from './broker-mutants.ts';
import { DISK_MUTANTS } from './disk-mutants.ts';
import type { Mutant } from './mutant.ts';
import { RAFT_MUTANTS } from './raft-mutants.ts';

/** Every mutant. */
export const MUTANTS: readonly Mutant[] = [...DISK_MUTANTS, ...RAFT_MUTANTS, ...BROKER_MUTANTS];

/** The mutant of a name; throws when there is none. */
export function mutantOf(name: string): Mutant {
  const mutant = MUTANTS.find((other) => other.name === name);
  if (mutant !== undefined) return mutant;
  throw new Error(`no mutant ${name}; there are ${MUTANTS.map((other) => other.name).join(', ')}`);
}
