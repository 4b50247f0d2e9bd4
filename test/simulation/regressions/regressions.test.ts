// Every seed that once failed, again.

import { expect, it } from 'vitest';
import { runSeed } from '../run-seed.ts';
import { REGRESSIONS } from './regressions.ts';

/** A run that needs more events than this spins. */
const TIMERS_MAX = 100_000;

it.each(REGRESSIONS)('seed $seed: $what', async ({ seed }) => {
  const { violation, events } = await runSeed({ seed });
  expect(violation).toBeUndefined();
  expect(events.timer).toBeLessThan(TIMERS_MAX);
});
