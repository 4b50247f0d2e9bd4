// The broker that is fuzzed when none is named: its log can be read, and bodies too large are cheap.

import type { BrokerOptions } from '../../support/broker-process.ts';

/** Its options. */
export const FUZZED_BROKER: BrokerOptions = {
  env: { QUEEN_LOG_JSON: 'true', QUEEN_MAX_BODY_BYTES: '1048576' },
};
