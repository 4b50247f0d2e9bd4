// A planted bug: what the simulator must find. Bugs of the store are switches of the virtual disk,
// bugs of the code replace a method of a class for the time of a run. None is reachable in production.

import type { DiskBugs } from '../nodes/disk-bugs.ts';

/** One planted bug. */
export interface Mutant {
  readonly name: string;
  /** What the code would be doing wrong. */
  readonly what: string;
  readonly disk?: Partial<DiskBugs>;
  /** Plants the bug for this thread; returns what takes it out again. */
  readonly install?: () => () => void;
}

/**
 * Replaces a method.
 * @param make gets the method as it was.
 * @returns puts it back.
 */
export function replaceMethod<T extends object, K extends keyof T>(
  prototype: T,
  name: K,
  make: (original: T[K]) => T[K],
): () => void {
  const original = prototype[name];
  prototype[name] = make(original);
  return () => {
    prototype[name] = original;
  };
}

/** Replaces a getter, as {@link replaceMethod} does a method. */
export function replaceGetter<T extends object, K extends keyof T & string>(
  prototype: T,
  name: K,
  make: (original: (this: T) => T[K]) => (this: T) => T[K],
): () => void {
  const property = Object.getOwnPropertyDescriptor(prototype, name);
  if (property?.get === undefined) throw new Error(`${name} is no getter`);
  // oxlint-disable-next-line typescript/unbound-method -- called with the receiver of the new one
  const get = make(property.get as (this: T) => T[K]);
  Object.defineProperty(prototype, name, { ...property, get });
  return () => {
    Object.defineProperty(prototype, name, property);
  };
}
