// Run-time invariants. A failed assertion is a bug of ours and ends the process: nothing but the
// crash handler catches InvariantError. Assertions stay on in production.

/** Thrown by {@link assert} and {@link unreachable}; never caught to continue. */
export class InvariantError extends Error {
  override readonly name = 'InvariantError';
}

/**
 * Throws {@link InvariantError} unless `condition` holds.
 * @param message what was violated, with ids, terms and ranges; a function is only called on failure.
 */
export function assert(condition: boolean, message: string | (() => string)): asserts condition {
  if (!condition) throw new InvariantError(typeof message === 'string' ? message : message());
}

/** Marks the default branch of an exhaustive switch: the compiler proves it is never reached. */
export function unreachable(value: never): never {
  throw new InvariantError(`unreachable value ${JSON.stringify(value)}`);
}
