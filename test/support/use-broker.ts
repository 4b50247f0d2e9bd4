// One broker for a test file: started before its tests, disposed after them. Tests stay apart by
// using queue names of their own.

import { afterAll, beforeAll, onTestFailed, beforeEach } from 'vitest';
import { BrokerProcess } from './broker-process.ts';
import type { BrokerOptions } from './broker-process.ts';
import type { HttpClient } from './http-client.ts';

const LOG_TAIL_CHARACTERS = 4000;

/** What tests of a file share. */
export interface SharedBroker {
  readonly process: BrokerProcess;
  readonly client: HttpClient;
  /** A queue name that no other test of the file uses; `word` makes it readable. */
  queueName(word?: string): string;
}

/** Call at the top of a test file or a describe block. A failed test prints the broker's last log. */
export function useBroker(options: BrokerOptions = {}): SharedBroker {
  let broker: BrokerProcess | undefined;
  let queueCount = 0;
  const running = (): BrokerProcess => {
    if (broker === undefined) throw new Error('the broker runs only while tests run');
    return broker;
  };
  beforeAll(async () => {
    broker = await BrokerProcess.launch(options);
  });
  beforeEach(() => {
    onTestFailed(() => {
      const tail = running().log.slice(-LOG_TAIL_CHARACTERS);
      process.stderr.write(`\nlast log of the broker:\n${tail}\n`);
    });
  });
  afterAll(async () => {
    await broker?.dispose();
  });
  return {
    get process() {
      return running();
    },
    get client() {
      return running().client;
    },
    queueName(word = 'queue') {
      queueCount += 1;
      return `${word}-${queueCount}`;
    },
  };
}
