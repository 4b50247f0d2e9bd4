// The schemas of hot bodies against the parsers that really read them: what one takes, the other takes.

import fc from 'fast-check';
import {
  CONFIGURED_QUEUE_DEFAULTS,
  DEFAULT_TENANT,
  parseAck,
  parseConfigure,
  parsePush,
  parseTransaction,
} from '@queen-ts/protocol';
import { describe, expect, test } from 'vitest';
import type { z } from 'zod';
import { AckBody } from './ack.ts';
import { ConfigureBody } from './configure.ts';
import { PushBody } from './push.ts';
import { TransactionBody } from './transaction.ts';

const RUNS = 1000;

const context = {
  hashKey: Uint32Array.of(1, 2, 3, 4),
  tenant: DEFAULT_TENANT,
  producerSub: null,
  mintIds: () => [1, 2, 3, 4] as const,
};

/** Texts short enough for every budget, an empty one often. */
const text = fc.oneof(
  fc.constant(''),
  fc.constantFrom('q', 'ä/😀', '__proto__'),
  fc.string({ maxLength: 9 }),
);
const anything = fc.oneof(text, fc.constantFrom(null, 0, 1.5, true, {}, []));
/** Mostly what fits, sometimes anything. */
const mostly = <T>(fits: fc.Arbitrary<T>) =>
  fc.oneof(
    { weight: 9, arbitrary: fits as fc.Arbitrary<unknown> },
    { weight: 1, arbitrary: anything },
  );
const list = <T>(element: fc.Arbitrary<T>) => fc.array(mostly(element), { maxLength: 4 });

const pushItem = fc.record(
  {
    queue: mostly(fc.constantFrom('q', 'orders.mail')),
    partition: mostly(fc.constantFrom('p', '', null)),
    payload: anything,
    transactionId: mostly(fc.constantFrom('t', '', null)),
    traceId: mostly(fc.constantFrom('no uuid', null)),
  },
  { requiredKeys: [] },
);

const ackItem = fc.record(
  {
    transactionId: mostly(fc.constant('t')),
    partitionId: mostly(fc.constant('1')),
    leaseId: mostly(fc.constantFrom('', null)),
    status: mostly(fc.constantFrom('completed', 'failed', null)),
    error: mostly(fc.constantFrom('e', null)),
  },
  { requiredKeys: ['transactionId', 'partitionId'] },
);

function check(
  body: fc.Arbitrary<unknown>,
  schema: z.ZodType,
  isTaken: (bytes: Uint8Array) => boolean,
): { readonly taken: number; readonly refused: number } {
  const counts = { taken: 0, refused: 0 };
  const agree = fc.property(mostly(body), (value) => {
    const json = JSON.stringify(value);
    const { success, error } = schema.safeParse(JSON.parse(json));
    expect(isTaken(new TextEncoder().encode(json)), `${json}: ${error?.message}`).toBe(success);
    counts[success ? 'taken' : 'refused'] += 1;
  });
  fc.assert(agree, { numRuns: RUNS, seed: 20_261_130 });
  return counts;
}

/** A property of which one side never comes up says nothing. */
function expectBoth({ taken, refused }: ReturnType<typeof check>): void {
  expect(taken).toBeGreaterThan(RUNS / 10);
  expect(refused).toBeGreaterThan(RUNS / 10);
}

describe('the schema takes exactly what the parser takes', () => {
  test('of a push', () => {
    const body = fc.record(
      { items: mostly(list(pushItem)), other: anything },
      { requiredKeys: [] },
    );
    expectBoth(check(body, PushBody, (bytes) => parsePush(bytes, context).kind !== 'refused'));
  });

  test('of a configuration', () => {
    const value = (absent: unknown): fc.Arbitrary<unknown> =>
      fc.constantFrom(absent, null, typeof absent === 'number' ? 70 : absent);
    const options = fc.record(
      Object.fromEntries(
        Object.entries(CONFIGURED_QUEUE_DEFAULTS).map(([name, absent]) => [
          name,
          fc.oneof({ weight: 60, arbitrary: value(absent) }, { weight: 1, arbitrary: anything }),
        ]),
      ),
      { requiredKeys: [] },
    );
    const body = fc.record(
      {
        queue: mostly(fc.constant('q')),
        options: mostly(options),
        mode: mostly(fc.constantFrom('merge', 'replace', null)),
        namespace: anything,
        task: anything,
      },
      { requiredKeys: ['options'] },
    );
    // Options beside `queue` are another form of the same, which the schema does not spell out.
    expectBoth(
      check(body, ConfigureBody, (bytes) => parseConfigure(bytes, context).kind !== 'refused'),
    );
  });
});

describe('the parser takes all that the schema takes', () => {
  const subset = (
    body: fc.Arbitrary<unknown>,
    schema: z.ZodType,
    isTaken: (bytes: Uint8Array) => boolean,
  ): number => {
    let taken = 0;
    const property = fc.property(mostly(body), (value) => {
      const json = JSON.stringify(value);
      if (!schema.safeParse(JSON.parse(json)).success) return;
      taken += 1;
      expect(isTaken(new TextEncoder().encode(json)), json).toBe(true);
    });
    fc.assert(property, { numRuns: RUNS, seed: 20_261_130 });
    return taken;
  };

  test('of an ack, where a bad item fails alone', () => {
    const group = mostly(fc.constantFrom('g', null));
    const batch = fc.record({ acknowledgments: list(ackItem), consumerGroup: group });
    const isTaken = (bytes: Uint8Array): boolean => parseAck(bytes, context).kind !== 'refused';
    expect(subset(fc.oneof(batch, ackItem), AckBody, isTaken)).toBeGreaterThan(RUNS / 10);
  });

  test('of a transaction that has something to do', () => {
    const push = fc.record({
      type: fc.constant('push'),
      items: fc.array(pushItem, { maxLength: 2 }),
    });
    const inline = pushItem.map((item) => ({ type: 'push', ...item }));
    const ack = ackItem.map((item) => ({ type: 'ack', ...item }));
    const operations = fc.array(fc.oneof(push, inline, ack), { minLength: 1, maxLength: 3 });
    const body = fc.record({ operations });
    const isTaken = (bytes: Uint8Array): boolean => {
      const parsed = parseTransaction(bytes, context);
      // What is well-formed may still have nothing to do, or name no partition.
      return parsed.kind === 'request' || (parsed.kind === 'rolledBack' && parsed.status === 200);
    };
    expect(subset(body, TransactionBody, isTaken)).toBeGreaterThan(RUNS / 10);
  });
});
