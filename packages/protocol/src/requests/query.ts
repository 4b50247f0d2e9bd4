// Strict reading of query parameters (data-plane reference §0.1): booleans are the words `true` and
// `false`, numbers are decimal digits in range. Unknown parameters are nobody's business.

const INT32_MIN = -(2 ** 31);
const INT32_MAX = 2 ** 31 - 1;
const UINT64_MAX = '18446744073709551615';

/** A parameter that cannot be read; its message is the plain text of a 400. */
export class QueryError extends Error {
  override readonly name = 'QueryError';
}

/** Reads parameters by name; undefined means absent. Every method throws QueryError. */
export class QueryReader {
  readonly #get: (name: string) => string | undefined;

  constructor(get: (name: string) => string | undefined) {
    this.#get = get;
  }

  /** Any text, which must be well-formed Unicode. */
  text(name: string): string | undefined {
    const value = this.#get(name);
    if (value === undefined || value.isWellFormed()) return value;
    throw new QueryError(`query parameter ${name} is not valid Unicode`);
  }

  /** `true` or `false`. */
  boolean(name: string): boolean | undefined {
    const value = this.#get(name);
    if (value === undefined) return undefined;
    if (value === 'true') return true;
    if (value === 'false') return false;
    throw new QueryError(`query parameter ${name} must be true or false, not ${shown(value)}`);
  }

  /** An integer in [-2^31, 2^31). */
  int32(name: string): number | undefined {
    const value = this.#get(name);
    if (value === undefined) return undefined;
    const number = /^[+-]?\d+$/.test(value) ? Number(value) : Number.NaN;
    if (number >= INT32_MIN && number <= INT32_MAX) return number;
    throw new QueryError(
      `query parameter ${name} must be an integer from ${INT32_MIN} to ${INT32_MAX}, ` +
        `not ${shown(value)}`,
    );
  }

  /** An integer in [0, 2^64); above 2^53 only its size is kept. */
  unsigned(name: string): number | undefined {
    const value = this.#get(name);
    if (value === undefined) return undefined;
    const digits = /^\+?0*(\d+)$/.exec(value)?.[1];
    // Digits of equal length compare as text; as numbers, the largest would round up.
    const isInRange =
      digits !== undefined &&
      (digits.length < UINT64_MAX.length ||
        (digits.length === UINT64_MAX.length && digits <= UINT64_MAX));
    if (isInRange) return Number(digits);
    throw new QueryError(
      `query parameter ${name} must be an integer that is not negative, not ${shown(value)}`,
    );
  }
}

function shown(value: string): string {
  return JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}…` : value);
}
