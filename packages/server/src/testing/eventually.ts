// Waiting for what happens on its own: a condition with a deadline, never a sleep.

import { vi } from 'vitest';

const DEADLINE_MS = 15_000;
const POLL_MS = 5;

/** Resolves once `check` does not throw; rejects with its last error after a generous deadline. */
export async function eventually(check: () => void): Promise<void> {
  await vi.waitFor(check, { timeout: DEADLINE_MS, interval: POLL_MS });
}
