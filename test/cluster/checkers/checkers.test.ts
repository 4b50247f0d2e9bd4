// Each checker accepts a good history, names what is wrong with a bad one, and does not pass an empty
// one.

import { describe, expect, it } from 'vitest';
import type {
  AckRecord,
  DeliveredMessage,
  HeldMessage,
  PopRecord,
  PushRecord,
  TransactionRecord,
} from '../history/records.ts';
import { checkClaimRegisters, isLinearizable } from './claim-register.ts';
import type { RegisterOperation } from './claim-register.ts';
import { checkDeadLetters } from './dead-letters.ts';
import { checkDedup } from './dedup.ts';
import { checkLog } from './log.ts';
import { checkQueue } from './queue.ts';
import { checkTransactions } from './transactions.ts';

const unknown = { kind: 'unknown', reason: 'no answer' } as const;
const refused = { kind: 'refused', reason: '429' } as const;

function held(offset: number, transactionId = `t${offset}`): HeldMessage {
  return { offset, transactionId, payload: `"${transactionId}"` };
}

function push(offset: number, outcome?: PushRecord['outcome']): PushRecord {
  const { transactionId, payload } = held(offset);
  return {
    startUs: 0,
    endUs: 1,
    queue: 'q',
    partition: 'p',
    transactionId,
    payload,
    outcome: outcome ?? {
      kind: 'ok',
      value: { offset, messageId: `m${offset}`, isDuplicate: false },
    },
  };
}

function contents(...messages: readonly HeldMessage[]) {
  return { node: 'n1', partitions: new Map([['q/p', messages]]) };
}

describe('log', () => {
  const pushes = [push(0), push(1, unknown), push(2, refused)];

  it('accepts what was answered, with or without what is unknown', () => {
    expect(checkLog(pushes, [contents(held(0)), contents(held(0), held(1))]).status).toBe('PASS');
  });

  it.each([
    ['acknowledged and missing', contents()],
    ['refused (429) and stored', contents(held(0), { ...held(1), transactionId: 't2' })],
    ['offset 1 expected', contents(held(0), { ...held(2), transactionId: 't1' })],
    ['never sent', contents(held(0), held(1, 'x'))],
    ['altered', contents(held(0), { ...held(1), payload: '"other"' })],
    ['stored twice', contents(held(0), { ...held(1), transactionId: 't0' })],
    ['answered as offset 0, is 1', contents(held(1, 'x'), { ...held(0), offset: 1 })],
  ])('finds: %s', (detail, node) => {
    const verdict = checkLog(pushes, [node]);
    expect(verdict.status).toBe('FAIL');
    expect(verdict.details.join('\n')).toContain(detail);
  });

  it('does not pass without an acknowledged push', () => {
    expect(checkLog([push(0, unknown)], [contents()]).status).toBe('UNKNOWN');
  });
});

describe('dedup', () => {
  const duplicate = {
    kind: 'ok',
    value: { offset: 0, messageId: 'm0', isDuplicate: true },
  } as const;

  it('accepts a duplicate of the first answer', () => {
    expect(checkDedup([push(0), push(0, unknown), push(0, duplicate)]).status).toBe('PASS');
  });

  it('finds two places and two first times', () => {
    const elsewhere = { kind: 'ok', value: { ...duplicate.value, offset: 3 } } as const;
    expect(checkDedup([push(0), push(0, elsewhere)]).details[0]).toContain('answered');
    expect(checkDedup([push(0), push(0)]).details[0]).toContain('2 answers say that it was new');
  });

  it('does not pass without a repeat', () => {
    expect(checkDedup([push(0), push(1)]).status).toBe('UNKNOWN');
  });
});

describe('queue', () => {
  const stored = [held(0), held(1), held(2)];

  function pop(at: number, leaseId: string, ...offsets: readonly number[]): PopRecord {
    const messages = offsets.map((offset): DeliveredMessage => held(offset));
    const value = { leaseId, partition: 'p', messages };
    return { startUs: at, endUs: at + 1, queue: 'q', group: 'g', outcome: { kind: 'ok', value } };
  }

  function ack(at: number, leaseId: string, from: number, to: number): AckRecord {
    const outcome = { kind: 'ok', value: 'applied' } as const;
    const where = { queue: 'q', group: 'g', partition: 'p' };
    return { startUs: at, endUs: at + 1, ...where, leaseId, from, to, outcome };
  }

  function check(pops: readonly PopRecord[], acks: readonly AckRecord[], dead: string[] = []) {
    return checkQueue({
      queue: 'q',
      groups: ['g'],
      pops,
      acks,
      held: new Map([['q/p', stored]]),
      deadLetters: new Map([['g', new Set(dead)]]),
    });
  }

  it('accepts redelivery of what was not acked', () => {
    const pops = [pop(0, 'a', 0, 1), pop(10, 'b', 0, 1), pop(20, 'c', 2)];
    expect(check(pops, [ack(12, 'b', 0, 2)])).toMatchObject({ status: 'PASS' });
  });

  it.each([
    ['again after 1 was acked', [pop(0, 'a', 0, 1), pop(10, 'b', 1, 2)], [ack(2, 'a', 0, 2)]],
    ['reached was 1', [pop(0, 'a', 0), pop(10, 'b', 2)], [ack(2, 'a', 0, 1)]],
    [
      'acked under a and b',
      [pop(0, 'a', 0, 1, 2), pop(0, 'b', 0, 1, 2)],
      [ack(2, 'a', 0, 2), ack(2, 'b', 1, 3)],
    ],
    ['never delivered', [pop(0, 'a', 0, 1)], [ack(2, 'a', 0, 2)]],
    ['delivered at place 1', [pop(0, 'a', 0, 2)], []],
  ])('finds: %s', (detail, pops, acks) => {
    const verdict = check(pops, acks);
    expect(verdict.status).toBe('FAIL');
    expect(verdict.details.join('\n')).toContain(detail);
  });

  it('counts a dead letter as seen, and nothing as unknown', () => {
    expect(check([pop(0, 'a', 0, 1)], [ack(2, 'a', 0, 2)], ['t2']).status).toBe('PASS');
    expect(check([], [], ['t0', 't1', 't2']).status).toBe('UNKNOWN');
  });
});

describe('transactions', () => {
  const run = (result: string, outcome: TransactionRecord['outcome']): TransactionRecord => {
    return { startUs: 0, endUs: 1, source: 's', result, outcome };
  };
  const done = { kind: 'ok', value: true } as const;

  it('accepts one result, known or not', () => {
    const transactions = [run('r1', unknown), run('r2', refused), run('r3', done)];
    expect(
      checkTransactions({ sources: ['s'], transactions, results: [held(0, 'r3')] }).status,
    ).toBe('PASS');
  });

  it.each([
    ['applied and missing', [run('r1', done)], []],
    ['not applied and stored', [run('r1', refused)], [held(0, 'r1')]],
    [
      'message s has 2 results',
      [run('r1', done), run('r2', unknown)],
      [held(0, 'r1'), held(1, 'r2')],
    ],
    ['message s has 0 results', [run('r1', unknown)], []],
    ['stored twice', [run('r1', done)], [held(0, 'r1'), held(1, 'r1')]],
  ])('finds: %s', (detail, transactions, results) => {
    const verdict = checkTransactions({ sources: ['s'], transactions, results });
    expect(verdict.status).toBe('FAIL');
    expect(verdict.details.join('\n')).toContain(detail);
  });

  it('does not pass without transactions', () => {
    expect(checkTransactions({ sources: [], transactions: [], results: [] }).status).toBe(
      'UNKNOWN',
    );
  });
});

describe('dead letters', () => {
  const messages = [
    { transactionId: 'good', payload: '1', isPoison: false },
    { transactionId: 'bad', payload: '2', isPoison: true },
  ];
  const bad = { transactionId: 'bad', payload: '2' };

  it('accepts each poisoned message once', () => {
    expect(checkDeadLetters(messages, [bad]).status).toBe('PASS');
  });

  it.each([
    ['bad: 0 dead letters', []],
    ['bad: 2 dead letters', [bad, bad]],
    ['good: 1 dead letters', [bad, { transactionId: 'good', payload: '1' }]],
    ['altered', [{ ...bad, payload: '3' }]],
    ['nobody pushed', [bad, { transactionId: 'x', payload: '' }]],
  ])('finds: %s', (detail, letters) => {
    const verdict = checkDeadLetters(messages, letters);
    expect(verdict.status).toBe('FAIL');
    expect(verdict.details.join('\n')).toContain(detail);
  });

  it('does not pass without poison', () => {
    expect(checkDeadLetters([messages[0]!], []).status).toBe('UNKNOWN');
  });
});

describe('claim register', () => {
  const claim = (startUs: number, endUs: number, lease: string | undefined): RegisterOperation => {
    return { kind: 'claim', startUs, endUs, outcome: { kind: 'ok', value: { lease } } };
  };
  const lost = (startUs: number): RegisterOperation => {
    return { kind: 'claim', startUs, endUs: startUs + 1, outcome: unknown };
  };
  const release = (
    startUs: number,
    endUs: number,
    lease: string,
    isAccepted = true,
  ): RegisterOperation => {
    return { kind: 'release', startUs, endUs, lease, outcome: { kind: 'ok', value: isAccepted } };
  };

  it.each([
    ['one after the other', [claim(0, 1, 'a'), release(2, 3, 'a'), claim(4, 5, 'b')]],
    ['a release and a claim at once', [claim(0, 1, 'a'), claim(2, 9, 'b'), release(3, 4, 'a')]],
    ['held', [claim(0, 1, 'a'), claim(2, 3, undefined), release(4, 5, 'a')]],
    ['a lost claim that goes back', [lost(0), claim(5, 6, undefined), claim(7, 8, 'b')]],
    [
      'a lost release',
      [claim(0, 1, 'a'), { ...release(2, 3, 'a'), outcome: unknown }, claim(4, 5, 'b')],
    ],
    [
      'a release that came too late',
      [claim(0, 1, 'a'), release(2, 3, 'a'), release(4, 5, 'a', false)],
    ],
  ] as [string, RegisterOperation[]][])('accepts: %s', (_, operations) => {
    expect(isLinearizable(operations)).toBe(true);
  });

  it.each([
    ['two leases at once', [claim(0, 1, 'a'), claim(2, 3, 'b')]],
    ['held by nobody', [claim(0, 1, undefined), claim(2, 3, 'a')]],
    [
      'a stale release',
      [claim(0, 1, 'a'), release(2, 3, 'a'), claim(4, 5, 'b'), release(6, 7, 'a')],
    ],
    ['a release refused to its holder', [claim(0, 1, 'a'), release(2, 3, 'a', false)]],
    ['a claim before the release', [claim(0, 1, 'a'), claim(2, 3, 'b'), release(4, 5, 'a')]],
  ] as [string, RegisterOperation[]][])('refuses: %s', (_, operations) => {
    expect(isLinearizable(operations)).toBe(false);
    const verdict = checkClaimRegisters(new Map([['r', operations]]));
    expect(verdict).toMatchObject({
      status: 'FAIL',
      details: [expect.stringContaining('r: no order')],
    });
  });

  it('does not pass without answers', () => {
    expect(checkClaimRegisters(new Map([['r', [lost(0)]]])).status).toBe('UNKNOWN');
  });
});
