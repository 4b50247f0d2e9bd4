// Waiting for a condition with a deadline, instead of sleeping and hoping.

/** Pause between two attempts: short enough not to be felt, long enough to leave the core alone. */
const ATTEMPT_PAUSE_MS = 5;

/** How long {@link eventually} tries when the caller does not say. */
const DEADLINE_MS = 10_000;

/**
 * Repeats `attempt` until it returns something other than undefined and false, and returns that.
 * Throws after `deadlineMs` with `what` and the last error that an attempt threw.
 */
export async function eventually<T>(
  what: string,
  attempt: () => Promise<T | undefined | false> | T | undefined | false,
  deadlineMs = DEADLINE_MS,
): Promise<T> {
  const giveUpAt = performance.now() + deadlineMs;
  let lastError: unknown;
  for (;;) {
    try {
      const value = await attempt();
      if (value !== undefined && value !== false) return value;
      lastError = undefined;
    } catch (error) {
      lastError = error;
    }
    if (performance.now() > giveUpAt) {
      throw new Error(`not within ${deadlineMs} ms: ${what}`, { cause: lastError });
    }
    await new Promise((resolve) => setTimeout(resolve, ATTEMPT_PAUSE_MS));
  }
}

/** Settles like `promise`, or rejects with `what` once `deadlineMs` have passed. */
export async function within<T>(what: string, promise: Promise<T>, deadlineMs: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new Error(`not within ${deadlineMs} ms: ${what}`));
    }, deadlineMs);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
