// All invariants of one run behind one face: hands each fact to those that ask for it and reports the
// first violation to the world.

import type { World } from '../world/world.ts';
import { ElectionSafety } from './election-safety.ts';
import { NothingAcknowledgedIsLost } from './i1-nothing-acknowledged-is-lost.ts';
import { StorageErrors } from './i11-storage-errors.ts';
import { Answers } from './i14-answers.ts';
import { Offsets } from './i2-offsets.ts';
import { Leases } from './i4-leases.ts';
import { Transactions } from './i5-transactions.ts';
import { Cursors } from './i6-cursors.ts';
import { Reads } from './i7-reads.ts';
import { Digests } from './i9-digests.ts';
import type { Facts, Invariant } from './invariant.ts';
import { LeaderCompleteness } from './leader-completeness.ts';
import { LeaseTime } from './lease-time.ts';
import { LogTimePace } from './log-time.ts';
import { LogMatching } from './log-matching.ts';
import { MemberChanges } from './member-changes.ts';
import { StateMachineSafety } from './state-machine-safety.ts';
import { TermConsent } from './term-consent.ts';

type Hook = Exclude<keyof Invariant, 'name'>;
type HookArguments<H extends Hook> = Parameters<NonNullable<Invariant[H]>>;

/** How often each property was checked, by name. */
export type CheckCounts = ReadonlyMap<string, number>;

/** Every invariant. */
export class InvariantSuite {
  readonly #world: World;
  readonly #invariants: readonly Invariant[];
  readonly #byHook = new Map<Hook, readonly Invariant[]>();
  readonly #counts = new Map<string, number>();

  constructor(world: World, facts: Facts) {
    this.#world = world;
    this.#invariants = [
      new ElectionSafety(facts),
      new TermConsent(facts),
      new MemberChanges(),
      new LogMatching(),
      new LeaderCompleteness(facts),
      new StateMachineSafety(facts),
      new NothingAcknowledgedIsLost(facts),
      new Offsets(facts),
      new Leases(facts),
      new LeaseTime(facts),
      new LogTimePace(facts),
      new Transactions(facts),
      new Cursors(facts),
      new Reads(facts),
      new Digests(facts),
      new StorageErrors(),
      new Answers(facts),
    ];
  }

  get counts(): CheckCounts {
    return this.#counts;
  }

  /** Tells every invariant that asks for it. */
  tell<H extends Hook>(hook: H, ...facts: HookArguments<H>): void {
    for (const invariant of this.#listeners(hook)) {
      const check = invariant[hook] as (...facts: HookArguments<H>) => string | undefined;
      const violation = check.apply(invariant, facts);
      this.#counts.set(invariant.name, (this.#counts.get(invariant.name) ?? 0) + 1);
      if (violation !== undefined) this.#world.violate(invariant.name, violation);
    }
  }

  #listeners(hook: Hook): readonly Invariant[] {
    let listeners = this.#byHook.get(hook);
    if (listeners === undefined) {
      listeners = this.#invariants.filter((invariant) => invariant[hook] !== undefined);
      this.#byHook.set(hook, listeners);
    }
    return listeners;
  }
}
