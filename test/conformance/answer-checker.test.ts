import { describe, expect, it } from 'vitest';
import type { Answer } from '../support/http-client.ts';
import { AnswerChecker } from './answer-checker.ts';

const JSON_HEADERS = { 'content-type': 'application/json' };
const VERDICT = {
  index: 0,
  transactionId: 't',
  success: true,
  error: null,
  leaseReleased: true,
  dlq: false,
  noop: false,
};

function ackOf(verdict: object, rest: Partial<Answer> = {}): Answer {
  return { status: 200, headers: JSON_HEADERS, text: JSON.stringify([verdict]), ...rest };
}

/** What the checker says about one answer; undefined when it fits. */
function verdict(method: string, path: string, answer: Answer): string | undefined {
  const checker = new AnswerChecker();
  checker.check(method, path, answer);
  return [...checker.violations.keys()][0];
}

describe('AnswerChecker', () => {
  it('takes answers that are as described', () => {
    const reason = { 'queen-pop-reason': 'leased' };
    const error = '{"error":"no","code":"timeout"}';
    expect(verdict('POST', '/api/v1/ack', ackOf(VERDICT))).toBeUndefined();
    expect(
      verdict('GET', '/api/v1/pop/queue/a%2Fb?wait=true', {
        status: 204,
        headers: reason,
        text: '',
      }),
    ).toBeUndefined();
    const unavailable = {
      status: 503,
      headers: { ...JSON_HEADERS, 'retry-after': '1' },
      text: error,
    };
    expect(verdict('POST', '/api/v1/push', unavailable)).toBeUndefined();
    const nowhere = { error: 'not found', code: 'no_such_route', path: '/x' };
    expect(verdict('GET', '/x', ackOf({}, { status: 404, text: JSON.stringify(nowhere) }))).toBe(
      undefined,
    );
  });

  it.each([
    [{ ...VERDICT, more: 1 }, /additional properties/],
    [{ ...VERDICT, noop: undefined }, /required property 'noop'/],
    [{ ...VERDICT, index: '0' }, /index must be integer/],
  ])('refuses %j as an ack verdict', (body, problem) => {
    expect(verdict('POST', '/api/v1/ack', ackOf(body))).toMatch(problem);
  });

  it.each([
    ['a status', { status: 418 }, /the status is not described/],
    ['a content type', { headers: { 'content-type': 'text/html' } }, /content type is text\/html/],
    ['no content type', { headers: {} }, /content type is not there/],
  ])('refuses %s that is not described', (_what, rest, problem) => {
    expect(verdict('POST', '/api/v1/ack', ackOf(VERDICT, rest))).toMatch(problem);
  });

  it('refuses answers without a header that they must have, and bodies where there is none', () => {
    const pop = '/api/v1/pop/queue/q';
    expect(verdict('GET', pop, { status: 204, headers: {}, text: '' })).toMatch(/Queen-Pop-Reason/);
    const full = { 'queen-pop-reason': 'empty', 'content-type': 'application/json' };
    expect(verdict('GET', pop, { status: 204, headers: full, text: '{}' })).toMatch(/a body came/);
    const text = '{"error":"no","code":"timeout"}';
    const hasty = { status: 503, headers: JSON_HEADERS, text };
    expect(verdict('POST', '/api/v1/push', hasty)).toMatch(/Retry-After/);
  });

  it('lets a literal segment win over a parameter', () => {
    const checker = new AnswerChecker();
    checker.check('GET', '/api/v1/consumer-groups/lagging', ackOf({}, { text: '[]' }));
    expect([...checker.violations]).toEqual([]);
    expect(checker.unseen).not.toContain('listLagging');
    expect(checker.unseen).toContain('showGroup');
  });

  it('refuses 404 of a path that exists and 405 of one that does not', () => {
    const text = '{"error":"no","code":"method_not_allowed"}';
    const headers = { ...JSON_HEADERS, allow: 'GET' };
    expect(verdict('PUT', '/api/v1/push', { status: 405, headers, text })).toBeUndefined();
    expect(verdict('PUT', '/x', { status: 405, headers, text })).toMatch(/not described/);
    expect(verdict('PUT', '/api/v1/push', { status: 404, headers, text })).toMatch(/not described/);
  });
});
