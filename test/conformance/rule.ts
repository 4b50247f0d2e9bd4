// What the conformance suite is made of: rules of the wire contract, each a sentence, most of them
// with a check. A rule without one says why.

import type { Scene } from './scene.ts';

/** Fails by throwing. */
export type Check = (scene: Scene) => Promise<void>;

/** One rule of the reference. */
export interface Rule {
  /** Starts with the paragraph, `§3.2 …`; unique in the suite. */
  readonly sentence: string;
  /** Absent when the suite cannot tell. */
  readonly check: Check | undefined;
  /** Why there is no check, or which known deviation makes the check fail. */
  readonly reason: string | undefined;
}

/** The rules of one section of the reference. */
export interface Section {
  readonly title: string;
  readonly rules: readonly Rule[];
}

/** A rule that the suite checks. */
export function rule(sentence: string, check: Check): Rule {
  return { sentence, check, reason: undefined };
}

/**
 * A rule that the broker is known to break. Its check still runs, and once it passes the suite
 * fails until the rule is an ordinary one again.
 */
export function brokenRule(sentence: string, deviation: string, check: Check): Rule {
  return { sentence, check, reason: deviation };
}

/** A rule that no black-box case over one shared node can check. */
export function uncheckedRule(sentence: string, reason: string): Rule {
  return { sentence, check: undefined, reason };
}
