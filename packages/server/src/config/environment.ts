// Typed readings of environment variables. An empty value counts as absent everywhere. A value that
// does not parse is refused, never replaced by the default: a typo in a limit must not go unnoticed.

import { badValue } from './config-error.ts';

/** The process environment, or a stand-in for it. */
export type Environment = Readonly<Record<string, string | undefined>>;

const WHOLE_NUMBER = /^\d{1,15}$/;
const TRUE_WORDS: readonly string[] = ['true', '1', 'yes', 'on'];
const FALSE_WORDS: readonly string[] = ['false', '0', 'no', 'off'];

/** Returns the trimmed value, or undefined when it is absent or empty. */
export function readText(environment: Environment, name: string): string | undefined {
  const value = environment[name]?.trim();
  return value === '' ? undefined : value;
}

/** Reads a whole number in [min, max]. Throws ConfigError on anything else. */
export function readInteger(
  environment: Environment,
  name: string,
  range: { readonly min: number; readonly max: number; readonly fallback: number },
): number {
  const text = readText(environment, name);
  if (text === undefined) return range.fallback;
  const value = Number(text);
  if (!WHOLE_NUMBER.test(text) || value < range.min || value > range.max) {
    throw badValue(name, text, `a whole number from ${range.min} to ${range.max}`);
  }
  return value;
}

/** Reads true/false, 1/0, yes/no or on/off in any case. Throws ConfigError on anything else. */
export function readBoolean(environment: Environment, name: string, fallback: boolean): boolean {
  const text = readText(environment, name);
  if (text === undefined) return fallback;
  const word = text.toLowerCase();
  if (TRUE_WORDS.includes(word)) return true;
  if (FALSE_WORDS.includes(word)) return false;
  throw badValue(name, text, 'true/false, 1/0, yes/no or on/off');
}

/** Reads one of the words of `choices` in any case. Throws ConfigError on anything else. */
export function readChoice<T>(
  environment: Environment,
  name: string,
  choices: ReadonlyMap<string, T>,
  fallback: T,
): T {
  const text = readText(environment, name);
  if (text === undefined) return fallback;
  const value = choices.get(text.toLowerCase());
  if (value === undefined) throw badValue(name, text, `one of ${[...choices.keys()].join(', ')}`);
  return value;
}
