// Requests that are not valid HTTP, or end before they are complete.

import type { Random } from '../random.ts';
import type { Draft, FuzzCase } from './cases.ts';

type Broken = Pick<FuzzCase, 'wire' | 'cuts' | 'afterwards' | 'expects'>;

/** More than a body may have, by the limit that the fuzzer's own broker runs with. */
const HUGE_BYTES = 1_200_000;

const FIRST_LINES = [
  'GET',
  'GET /',
  'GET / HTTP/0.9',
  'GET / HTTP/2.0',
  'GET / HTTP/1.1x',
  'get /health HTTP/1.1',
  'GET /health\tHTTP/1.1',
  'GET  /health HTTP/1.1',
  'PRI * HTTP/2.0',
  'GET /a b HTTP/1.1',
  'GET http://[::1 HTTP/1.1',
  'GET http://x/health HTTP/1.1',
  'GET * HTTP/1.1',
  'OPTIONS * HTTP/1.1',
  'CONNECT example.invalid:443 HTTP/1.1',
  'GET health HTTP/1.1',
  'GET ? HTTP/1.1',
  '\u0016\u0003\u0001\u0002\u0000\u0001\u0000\u0001\u00fc\u0003\u0003',
];

const BAD_LINES = [
  ': no name',
  'No colon',
  'Bad Name: x',
  'Name\u0000: x',
  'Value: \u0000',
  'Value: a\rb',
  ' folded: x',
  'Content-Length: x',
  'Content-Length: -1',
  'Content-Length: 1e3',
  'Content-Length: 99999999999999999999',
  'Content-Length: 5\r\nContent-Length: 6',
  'Content-Length: 5\r\nTransfer-Encoding: chunked',
  'Transfer-Encoding: chunked, identity',
  'Transfer-Encoding: gzip',
  'Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked',
  'Host: twice\r\nHost: thrice',
  'Expect: something-else',
  'Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAMAAABkAAQ',
  `Too-Long: ${'v'.repeat(20_000)}`,
];

const BAD_CHUNKS = [
  'x\r\n',
  '-1\r\n',
  'ffffffffffffffffff\r\n',
  '5\r\nabc',
  '3\r\nabcdef\r\n0\r\n\r\n',
  '3\nabc\n0\n\n',
  '0\r\n',
  '5;' + 'e'.repeat(20_000) + '\r\nabcde\r\n0\r\n\r\n',
];

/** Breaks a request whose valid form is `wire`. */
export function breakRequest(draft: Draft, wire: string, random: Random): Broken {
  const broken = random.pick(WAYS)(draft, wire, random);
  return { cuts: [], afterwards: 'end', expects: 'anything', ...broken };
}

type Way = (
  draft: Draft,
  wire: string,
  random: Random,
) => {
  readonly wire: string;
  readonly afterwards?: FuzzCase['afterwards'];
  readonly cuts?: readonly number[];
};

const WAYS: readonly Way[] = [
  // Cut off, with a polite and an impolite end.
  (_draft, wire, random) => ({ wire: wire.slice(0, random.below(wire.length)) }),
  (_draft, wire, random) => ({
    wire: wire.slice(0, random.below(wire.length)),
    afterwards: 'reset',
  }),
  // A body that is shorter or longer than announced.
  ({ body = '{}', ...draft }, _wire, random) => ({
    wire: head(draft, `Content-Length: ${body.length + random.between(1, 50)}`) + body,
  }),
  ({ body = '{"a":1}', ...draft }, _wire, random) => ({
    wire: head(draft, `Content-Length: ${random.below(body.length + 1)}`) + body,
  }),
  // More than fits, announced and not.
  (draft, _wire, random) => {
    const size = HUGE_BYTES + random.below(100_000);
    const body = `{"items":[${' '.repeat(size)}]}`;
    return { wire: head(draft, `Content-Length: ${body.length}`) + body };
  },
  (draft, _wire) => {
    const size = HUGE_BYTES.toString(16);
    const chunk = `${size}\r\n${' '.repeat(HUGE_BYTES)}\r\n`;
    return { wire: `${head(draft, 'Transfer-Encoding: chunked')}${chunk}0\r\n\r\n` };
  },
  (draft) => ({ wire: head(draft, 'Content-Length: 9999999999') + '{"items":[' }),
  (draft, _wire, random) => ({ wire: `${random.pick(FIRST_LINES)}\r\n${tail(draft)}` }),
  (draft, _wire, random) => ({ wire: head(draft, random.pick(BAD_LINES)) + (draft.body ?? '') }),
  (draft, _wire, random) => ({
    wire: head(draft, 'Transfer-Encoding: chunked') + random.pick(BAD_CHUNKS),
  }),
  (draft, _wire, random) => {
    const flood = Array.from({ length: random.pick([1500, 2500]) }, (_, i) => `F${i}: ${i}`);
    return { wire: head(draft, flood.join('\r\n')) };
  },
  // Without a host, as HTTP/1.0, with bare line feeds, behind blank lines.
  ({ method, target }) => ({ wire: `${method} ${target} HTTP/1.1\r\n\r\n` }),
  ({ method, target }) => ({ wire: `${method} ${target} HTTP/1.0\r\n\r\n` }),
  (_draft, wire) => ({ wire: wire.replaceAll('\r\n', '\n') }),
  (_draft, wire) => ({ wire: `\r\n\r\n${wire}` }),
  (_draft, _wire, random) => ({ wire: random.bytes(random.between(1, 400)) }),
  // Good requests with garbage behind them.
  (_draft, wire, random) => ({ wire: wire + random.bytes(random.between(1, 100)) }),
  // One damaged byte in the head.
  (_draft, wire, random) => {
    const at = random.below(Math.max(1, wire.indexOf('\r\n\r\n')));
    return { wire: wire.slice(0, at) + random.bytes(1) + wire.slice(at + 1) };
  },
];

function head({ method, target, headers }: Omit<Draft, 'body'>, line: string): string {
  return `${[`${method} ${target} HTTP/1.1`, 'Host: 127.0.0.1', ...headers, line].join('\r\n')}\r\n\r\n`;
}

function tail({ headers, body = '' }: Draft): string {
  return `${['Host: 127.0.0.1', ...headers].join('\r\n')}\r\n\r\n${body}`;
}
