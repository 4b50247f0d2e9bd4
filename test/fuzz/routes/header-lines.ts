// Headers of well-formed requests: the few that mean something, and many that should not.

import type { Random } from '../random.ts';

const KEYS = 500;

const ODD_HEADERS = [
  'Content-Type: text/plain',
  'Content-Type: application/json; charset=utf-16',
  'Content-Type: \u00ff\u00fe',
  'Content-Encoding: gzip',
  'Accept: image/png;q=0',
  'Accept-Encoding: gzip, br',
  'Accept-Encoding: identity;q=0',
  'Range: bytes=0-1',
  'If-None-Match: *',
  'If-Match: "x"',
  'X-Queen-Tenant: nobody',
  'X-HTTP-Method-Override: DELETE',
  'Authorization: Bearer x.y.z',
  'Cookie: a=b; c',
  'Forwarded: for=127.0.0.1',
  'Origin: null',
  'Connection: keep-alive, x',
  'TE: trailers',
  'Upgrade: websocket',
  'Expect: 100-continue',
  'Idempotency-Key:',
  `Idempotency-Key: ${'k'.repeat(255)}`,
  `Idempotency-Key: ${'k'.repeat(256)}`,
  'Idempotency-Key: \u00e4\u00f6',
  'Empty:',
  `Long: ${'v'.repeat(9000)}`,
];

/** Header lines. */
export function headerLines(random: Random): string[] {
  const lines = random.chance(70) ? ['Content-Type: application/json'] : [];
  if (random.chance(10)) lines.push(`Idempotency-Key: k${random.below(KEYS)}`);
  if (random.chance(10)) lines.push(random.pick(ODD_HEADERS));
  if (random.chance(1)) {
    lines.push(...Array.from({ length: 150 }, (_, i) => `X-Flood-${i}: ${random.below(1000)}`));
  }
  return lines;
}
