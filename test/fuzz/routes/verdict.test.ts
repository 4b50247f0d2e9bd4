// The verdict of the route fuzzer: what it must not let pass.

import { buildDocument } from '@queen-ts/server';
import { describe, expect, it } from 'vitest';
import { AnswerChecker } from '../../conformance/answer-checker.ts';
import type { Answer } from '../../support/http-client.ts';
import { CaseMaker } from './cases.ts';
import type { FuzzCase } from './cases.ts';
import type { Reply } from './connection.ts';
import { verdictOf } from './report.ts';
import { problemsOf } from './verdict.ts';

const POP: FuzzCase = {
  position: 0,
  requests: [{ method: 'GET', target: '/api/v1/pop/queue/q' }],
  wire: '',
  cuts: [],
  afterwards: 'read',
  expects: 'answers',
};
const EMPTY: Answer = { status: 204, headers: { 'queen-pop-reason': 'empty' }, text: '' };

function problems(reply: Partial<Reply>, fuzzCase: FuzzCase = POP): string {
  const whole: Reply = { answers: [EMPTY], end: 'complete', rest: '', ...reply };
  return problemsOf(fuzzCase, whole, new AnswerChecker()).join('; ');
}

function answered(status: number, text: string, type = 'application/json'): Partial<Reply> {
  return { answers: [{ status, headers: { 'content-type': type }, text }] };
}

describe('problemsOf', () => {
  it('has nothing against an answer that is as described', () => {
    expect(problems({})).toBe('');
  });

  it.each<[string, Partial<Reply>, RegExp]>([
    ['an internal error', answered(500, '{"error":"internal error","code":"internal"}'), /500/],
    ['a status that is not described', answered(201, '[]'), /not described/],
    ['a body that is no JSON', answered(400, '{"error":'), /not the JSON/],
    ['an error that says nothing', answered(400, '{"code":"bad_request"}'), /what was wrong/],
    ['an error without a body', { answers: [{ status: 400, headers: {}, text: '' }] }, /without/],
    ['no end', { answers: [], end: 'deadline' }, /deadline/],
    ['an end without an answer', { answers: [], end: 'closed' }, /closed after 0 of 1/],
    ['half an answer', { answers: [], end: 'closed', rest: 'HTTP/1.1 2' }, /in the middle/],
    ['what is no HTTP', { answers: [], end: 'malformed', rest: 'x' }, /not HTTP/],
  ])('does not let %s pass', (_what, reply, problem) => {
    expect(problems(reply)).toMatch(problem);
  });

  it('lets only a client that talks on lose the end of a last answer', () => {
    const broken: FuzzCase = { ...POP, expects: 'anything', afterwards: 'end' };
    const cut: Partial<Reply> = {
      answers: [],
      end: 'closed',
      rest: 'HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 9\r\n\r\n{',
    };
    expect(problems(cut, { ...broken, wire: ' '.repeat(1_000_000) })).toBe('');
    expect(problems(cut, broken)).toMatch(/in the middle/);
    expect(problems(cut, { ...POP, wire: ' '.repeat(1_000_000) })).toMatch(/in the middle/);
  });

  it('lets a broken request end without an answer', () => {
    const broken: FuzzCase = { ...POP, expects: 'anything', afterwards: 'end' };
    expect(problems({ answers: [], end: 'closed' }, broken)).toBe('');
  });
});

describe('verdictOf', () => {
  const result = {
    requestCount: 1,
    answerCount: 1,
    statuses: new Map(),
    ends: new Map(),
    findings: [],
    findingCount: 0,
    unseen: [],
    rssWarmBytes: 100e6,
    rssEndBytes: 150e6,
    durationMs: 1,
  };

  it('is green without findings, growth and errors in the log', () => {
    expect(verdictOf(result, '{"level":40}\n')).toEqual([]);
  });

  it('is red for each of them', () => {
    const red = { ...result, findingCount: 2, rssEndBytes: 400e6, unseen: ['push'] };
    const reasons = verdictOf(red, '{"level":50,"msg":"request failed"}\n').join('\n');
    expect(reasons).toMatch(/2 findings/);
    expect(reasons).toMatch(/memory grew/);
    expect(reasons).toMatch(/never answered: push/);
    expect(reasons).toMatch(/request failed/);
  });
});

describe('CaseMaker', () => {
  const document = buildDocument();

  it('makes the same case again from seed and number', () => {
    for (const position of [0, 1, 77, 4242]) {
      const once = new CaseMaker(9, document).at(position);
      expect(new CaseMaker(9, document).at(position)).toEqual(once);
      expect(new CaseMaker(10, document).at(position)).not.toEqual(once);
    }
  });

  it('asks every operation, and lets no answer wait for long', () => {
    const maker = new CaseMaker(9, document);
    const cases = Array.from({ length: 5000 }, (_, position) => maker.at(position));
    const text = cases.map(({ wire }) => wire).join('\n');
    for (const path of Object.keys(document.paths)) {
      const known = path.replaceAll(/\{\w+\}/g, '[^/ ]+').replaceAll('.', String.raw`\.`);
      expect(text).toMatch(new RegExp(` ${known}[? ]`));
    }
    expect(text).not.toMatch(/"maxWaitMs"\s*:\s*\d{4}/);
    expect(text).not.toMatch(/\?(?!timeout=200&)[^ ]*wait=true/);
  });
});
