// Every test of the repository in one run, so that there is one total. Workspace packages resolve
// to their sources through the `source` condition: no test needs a build, except those that start
// real processes.

import { defineConfig } from 'vitest/config';
import { TotalsReporter } from './scripts/totals-reporter.ts';

/** Projects that start real processes or simulate whole clusters: one file at a time. */
const SERIAL = ['integration', 'conformance', 'fuzz', 'cluster', 'simulation'];

export default defineConfig({
  resolve: { conditions: ['source'] },
  ssr: { resolve: { conditions: ['source'] } },
  test: {
    passWithNoTests: true,
    reporters: ['default', new TotalsReporter()],
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: [
            'packages/*/src/**/*.test.ts',
            'test/*.test.ts',
            'test/histories/**/*.test.ts',
            'bench/**/*.test.ts',
          ],
          maxWorkers: '100%',
          // Far beyond what any of them takes: a machine that is busy with other work is no failure.
          testTimeout: 30_000,
          // Groups run in ascending order, never beside each other.
          sequence: { groupOrder: 1 },
        },
      },
      ...SERIAL.map((name, position) => ({
        extends: true as const,
        test: {
          name,
          include: [`test/${name}/**/*.test.ts`],
          maxWorkers: 1,
          testTimeout: 120_000,
          hookTimeout: 60_000,
          sequence: { groupOrder: position + 2 },
        },
      })),
    ],
  },
});
