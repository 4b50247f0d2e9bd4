// Sequences on which the engine once differed from the model, each shrunk to what matters.

import { describe, expect, it } from 'vitest';
import type { AckPart, Operation, PushPart, Step } from './model/operations.ts';
import { describeFailure } from './model/property.ts';

type Pop = Extract<Operation, { readonly op: 'pop' }>;

const DEFAULT_POP: Pop = {
  op: 'pop',
  route: 'queue',
  queue: 0,
  partition: 0,
  namespace: 0,
  task: 0,
  group: 0,
  batch: 1,
  partitions: 1,
  autoAck: false,
  leaseSeconds: 0,
  subscription: 'all',
  conflation: null,
  waitSeconds: 0,
};

/** Position of `orders` among the labels of the operations. */
const ORDERS_LABEL = 2;

function push(...items: Partial<PushPart>[]): Operation {
  const part = { queue: 0, partition: 0, txn: null, padding: 0 };
  return { op: 'push', items: items.map((item) => ({ ...part, ...item })), sub: false };
}

function pop(fields: Partial<Pop> = {}): Operation {
  return { ...DEFAULT_POP, ...fields };
}

function ack(...items: Partial<AckPart>[]): Operation {
  const part: AckPart = {
    message: 0,
    status: 'completed',
    fence: 'own',
    where: 'own',
    id: 'own',
    error: null,
  };
  const parts = items.map((item) => ({ ...part, ...item }));
  return { op: 'ack', delivery: 0, group: null, items: parts };
}

function configure(
  options: Extract<Operation, { readonly op: 'configure' }>['options'],
): Operation {
  return { op: 'configure', queue: 0, mode: 'merge', options };
}

/** Runs the operations, each in a cycle of its own. */
function expectAgreement(...operations: readonly Operation[]): void {
  runSteps(operations, false);
}

/** The same under limits at which pops give up early. */
function expectTightAgreement(...operations: readonly Operation[]): void {
  runSteps(operations, true);
}

function runSteps(operations: readonly Operation[], isTight: boolean): void {
  const steps = operations.map((operation): Step => ({ ...operation, joins: false }));
  const sequence = { steps, drainsOften: false, isTight };
  const report = describeFailure(sequence, 'regression');
  expect(report, report).toBeUndefined();
}

describe('engine and model agree', () => {
  it('when one ack names a minted id twice below the cursor', () => {
    expectAgreement(push({}), pop({ autoAck: true }), ack({ message: 0 }, { message: 0 }));
  });

  it('when one ack names an id twice that occurs twice in the batch', () => {
    expectAgreement(
      configure({ dedupWindowSeconds: 0 }),
      push({ txn: 6 }),
      push({ txn: 6 }),
      pop({ batch: 5 }),
      ack({ message: 0 }, { message: 1 }),
    );
  });

  it('on the attempt of a message that was never delivered, after an ack without a lease', () => {
    expectAgreement(
      push({}, {}),
      pop({ batch: 2 }),
      ack({ message: 1, status: 'retry' }, { message: 0 }),
      ack({ message: 1, fence: 'none' }),
      push({}),
      pop(),
    );
  });

  it('on why a pop is empty after a window was switched off', () => {
    expectAgreement(
      configure({ windowBuffer: 1 }),
      push({}),
      configure({ windowBuffer: 0 }),
      pop({ group: 1 }),
      ack({}),
      pop({ group: 1 }),
    );
  });

  it('when new labels bring a filled queue into the scope of a parked discovery pop', () => {
    expectAgreement(
      configure({}),
      pop({ route: 'labels', namespace: ORDERS_LABEL, waitSeconds: 600 }),
      push({}, {}),
      pop(),
      configure({ namespace: 'orders' }),
    );
  });

  it('on the repeat of an ack whose lease filed its head and gave the rest back', () => {
    expectAgreement(
      push({}, {}),
      pop({ batch: 2 }),
      ack({ message: 0, status: 'dlq' }),
      ack({ message: 0, status: 'dlq' }, { message: 1 }),
      pop({ batch: 2 }),
    );
  });

  it('on a pop between the expiry of a lease and the timer that notices it', () => {
    expectAgreement(
      { op: 'waitForNext', offsetUs: 1 },
      push({}),
      pop({ leaseSeconds: 1 }),
      { op: 'waitForNext', offsetUs: 0 },
      pop({ waitSeconds: 5 }),
      { op: 'wait', ms: 1 },
      pop(),
    );
  });

  it('when a pop of one partition waits for its first message behind a window', () => {
    expectAgreement(
      configure({ windowBuffer: 5 }),
      pop({ route: 'partition', group: 1, waitSeconds: 600 }),
      push({}),
      { op: 'wait', ms: 10_000 },
      pop({ partitions: 0, group: 2 }),
    );
  });

  it('when a pop of one partition waits for its first message behind a delay', () => {
    expectAgreement(
      configure({ delayedProcessing: 5 }),
      pop({ route: 'partition', waitSeconds: 600 }),
      push({}),
      { op: 'wait', ms: 10_000 },
      pop({ partitions: 0, group: 2 }),
    );
  });

  it('on why a pop is empty with both a delay and a window', () => {
    expectAgreement(
      push({}),
      configure({ delayedProcessing: 10, windowBuffer: 1 }),
      { op: 'wait', ms: 1000 },
      pop(),
      pop(),
    );
  });

  it('on what is processed of a batch that begins where retention ended', () => {
    expectAgreement(
      configure({ maxWaitTimeSeconds: 1 }),
      push({}, {}, {}),
      pop({ leaseSeconds: 600 }),
      { op: 'wait', ms: 2000 },
      push({}, {}),
      { op: 'retire', budget: 100, idleSeconds: null },
      pop({ group: 1 }),
    );
  });

  it('on the first message with an id that a later push made remembered', () => {
    expectAgreement(
      configure({ dedupWindowSeconds: 0 }),
      push({ txn: 1 }),
      configure({ dedupWindowSeconds: 60 }),
      push({ txn: 1 }),
      pop(),
      { op: 'find', delivery: 0, message: 0 },
    );
  });

  it('on why a pop is empty when a timer outlives a delay that was shortened', () => {
    expectAgreement(
      configure({ delayedProcessing: 600 }),
      push({}),
      pop(),
      configure({ delayedProcessing: 1 }),
      { op: 'wait', ms: 2000 },
      pop({ autoAck: true }),
      pop(),
    );
  });

  it('when the size of an answer ends a pop that takes no lease', () => {
    expectTightAgreement(
      pop({ route: 'partition', group: 1, autoAck: true, waitSeconds: 5 }),
      push({}, {}, {}, {}),
      push({ partition: 1 }),
      pop({ group: 1, batch: 200, partitions: 3, autoAck: true, waitSeconds: 600 }),
    );
  });

  it('when pops are resumed that waited before their groups were known', () => {
    expectAgreement(
      { op: 'maintenance', requests: 'pop', paused: true },
      pop({ waitSeconds: 600 }),
      pop({ route: 'partition', group: 1, waitSeconds: 600 }),
      push({}),
      { op: 'maintenance', requests: 'pop', paused: false },
    );
  });
});
