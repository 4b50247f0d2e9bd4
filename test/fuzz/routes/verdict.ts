// What is wrong with what came back for a case, if anything.

import type { AnswerChecker } from '../../conformance/answer-checker.ts';
import type { Answer } from '../../support/http-client.ts';
import type { CaseRequest, FuzzCase } from './cases.ts';
import type { Reply } from './connection.ts';

/** Statuses of requests that never became one. */
const BROKEN_STATUSES: ReadonlySet<number> = new Set([400, 408, 413, 417, 431]);

/** What a node may say when it cannot do now what it was asked for. */
const UNAVAILABLE: ReadonlySet<number> = new Set([503, 504]);

/** More than the buffers of a connection take without being read. */
const TALK_BYTES = 256 * 1024;

/** Returns one sentence for each thing that is wrong. */
export function problemsOf(fuzzCase: FuzzCase, reply: Reply, checker: AnswerChecker): string[] {
  const { answers, end, rest } = reply;
  const { requests } = fuzzCase;
  const problems = answers.flatMap((answer, i) => answerProblems(answer, fuzzCase, i, checker));
  if (end === 'deadline')
    problems.push(`no end within the deadline, after ${answers.length} answers`);
  if (end === 'malformed') problems.push(`the answer is not HTTP: ${rest}`);
  // What is said about a broken request has a body, whatever its method was.
  const isUnsure = requests[0]?.method === 'HEAD' && fuzzCase.expects === 'anything';
  if (end === 'closed' && rest !== '' && !isUnsure && !isTalkedOver(fuzzCase, rest)) {
    problems.push(`closed in the middle of an answer: ${JSON.stringify(rest.slice(0, 200))}`);
  }
  if (fuzzCase.expects === 'answers' && end === 'closed' && !mayClose(answers.at(-1))) {
    problems.push(`closed after ${answers.length} of ${requests.length} answers`);
  }
  return problems;
}

/**
 * A client that goes on sending what nobody asked for, while the broker says that it closes, may lose the end
 * of the answer: the system drops it together with what was not read.
 */
function isTalkedOver({ expects, wire }: FuzzCase, rest: string): boolean {
  return expects === 'anything' && wire.length > TALK_BYTES && /\r\nconnection: close/i.test(rest);
}

/** After such an answer, the broker may end the connection with requests left. */
function mayClose(last: Answer | undefined): boolean {
  return last?.headers['connection'] === 'close';
}

function answerProblems(
  answer: Answer,
  { requests, expects }: FuzzCase,
  position: number,
  checker: AnswerChecker,
): string[] {
  const problems = generalProblems(answer);
  const request = requests[position];
  if (expects === 'answers' && request !== undefined) {
    const problem = describedProblem(answer, request, checker);
    if (problem !== undefined) problems.push(problem);
  }
  return problems;
}

/** What must hold for every answer to anything. */
function generalProblems({ status, headers, text }: Answer): string[] {
  const problems: string[] = [];
  const type = headers['content-type'] ?? '';
  if (status >= 500 && !UNAVAILABLE.has(status))
    problems.push(`status ${status}: ${text.slice(0, 200)}`);
  const body = type === 'application/json' && text !== '' ? parse(text) : undefined;
  if (body === INVALID) problems.push(`${status}: the body is not the JSON that it claims to be`);
  if (status < 400) return problems;
  const isSaid = body === undefined ? /\w{3}/.test(text) : hasError(body);
  // HEAD has no bodies; the type stays.
  if (!isSaid && text !== '') problems.push(`${status}: the body does not say what was wrong`);
  if (text === '' && type === '') problems.push(`${status}: an error without a body`);
  return problems;
}

/** Whether it is as the document describes it. */
function describedProblem(
  answer: Answer,
  { method, target }: CaseRequest,
  checker: AnswerChecker,
): string | undefined {
  if (method === 'HEAD') return answer.text === '' ? undefined : 'HEAD was answered with a body';
  const isBroken = BROKEN_STATUSES.has(answer.status) && answer.headers['connection'] === 'close';
  return isBroken ? undefined : checker.check(method, target, answer);
}

const INVALID = Symbol('invalid');

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The caller says so.
    return INVALID;
  }
}

function hasError(body: unknown): boolean {
  if (typeof body !== 'object' || body === null) return false;
  // Health says what is wrong in its own words.
  const { error, status } = body as { readonly error?: unknown; readonly status?: unknown };
  return [error, status].some((text) => typeof text === 'string' && /\w{3}/.test(text));
}
