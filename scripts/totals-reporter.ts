// A Vitest reporter that closes a run with its totals on one plain line, for logs and for CI.

import type { Reporter, TestModule } from 'vitest/node';

/** Prints `Tests: 3 passed, 0 failed, 1 skipped` after everything else. */
export class TotalsReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const counts = { passed: 0, failed: 0, skipped: 0, pending: 0 };
    let brokenFiles = 0;
    for (const module of modules) {
      for (const test of module.children.allTests()) counts[test.result().state] += 1;
      // A file that fails outside its tests (it cannot be loaded, a hook throws) counts as one.
      if (module.errors().length > 0) brokenFiles += 1;
    }
    // Pending here means that the run ended before the test did.
    const failed = counts.failed + counts.pending + brokenFiles;
    console.log(`Tests: ${counts.passed} passed, ${failed} failed, ${counts.skipped} skipped`);
  }
}
