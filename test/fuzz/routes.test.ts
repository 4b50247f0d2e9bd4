// A short run of the route fuzzer, with another seed for every commit.

import { expect, it } from 'vitest';
import { BrokerProcess } from '../support/broker-process.ts';
import { commitSeed } from '../support/commit-seed.ts';
import { FUZZED_BROKER } from './routes/broker.ts';
import { reportOf, verdictOf } from './routes/report.ts';
import { fuzzRoutes } from './routes/run.ts';

/** Cases have one request or, pipelined, up to six. */
const CASES = 16_500;
const REQUESTS_MIN = 20_000;

/** Half a minute on two idle cores. */
const DEADLINE_MS = 300_000;

it(
  `answers ${REQUESTS_MIN} hostile requests as described`,
  async () => {
    const seed = commitSeed();
    const broker = await BrokerProcess.launch(FUZZED_BROKER);
    try {
      const result = await fuzzRoutes({ url: broker.url, seed, caseCount: CASES, atOnce: 24 });
      const reasons = verdictOf(result, broker.log);
      expect(reasons, reportOf(result, seed)).toEqual([]);
      expect(result.requestCount).toBeGreaterThanOrEqual(REQUESTS_MIN);
    } finally {
      await broker.dispose();
    }
  },
  DEADLINE_MS,
);
