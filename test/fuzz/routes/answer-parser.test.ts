import { describe, expect, it } from 'vitest';
import { AnswerParser } from './answer-parser.ts';

function parserOf(bytes: string, ...methods: string[]): AnswerParser {
  const parser = new AnswerParser();
  for (const method of methods) parser.expect(method);
  parser.push(bytes);
  return parser;
}

const HEALTHY = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}';

describe('AnswerParser', () => {
  it('takes answers one by one, and nothing before an answer is whole', () => {
    const parser = parserOf(HEALTHY.slice(0, -1), 'GET', 'GET');
    expect(parser.next(false)).toBeUndefined();
    parser.push(`}${HEALTHY}`);
    expect(parser.next(false)).toEqual({
      status: 200,
      headers: { 'content-length': '2' },
      text: '{}',
    });
    expect(parser.next(false)?.status).toBe(200);
    expect(parser.rest).toBe('');
  });

  it('skips interim answers and reads chunks', () => {
    const chunked =
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n1\r\n}\r\n0\r\n\r\n';
    const parser = parserOf(`HTTP/1.1 100 Continue\r\n\r\n${chunked}`, 'POST');
    expect(parser.next(false)?.text).toBe('{}');
    expect(parser.rest).toBe('');
  });

  it('expects no body after HEAD and with 204', () => {
    const parser = parserOf('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n', 'HEAD', 'GET');
    expect(parser.next(false)?.text).toBe('');
    parser.push('HTTP/1.1 204 No Content\r\n\r\n');
    expect(parser.next(false)?.status).toBe(204);
  });

  it('refuses what is no answer', () => {
    expect(() => parserOf(`}${HEALTHY}`, 'GET').next(false)).toThrow('no status line');
    expect(() => parserOf('HTTP/1.1 200 OK\r\nbad\r\n\r\n', 'GET').next(false)).toThrow(
      'no header line',
    );
    expect(() =>
      parserOf('HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n', 'GET').next(false),
    ).toThrow('a 204 has');
  });
});
