import { SeededRng } from '@queen-ts/base';
import { describe, expect, it } from 'vitest';
import { JsonScanner } from './scanner.ts';
import { NameSet, UNPAIRED, unescape } from './strings.ts';

const ENCODER = new TextEncoder();

function unescaped(inner: string): string | undefined {
  const bytes = ENCODER.encode(`"${inner}"`);
  const target = new Uint8Array(bytes.length + 3);
  const size = unescape(bytes, 1, bytes.length - 1, target, 3);
  if (size === UNPAIRED) return undefined;
  expect(size).toBeLessThanOrEqual(bytes.length - 2);
  return new TextDecoder('utf-8', { fatal: true }).decode(target.subarray(3, 3 + size));
}

describe('unescape', () => {
  it.each([
    '',
    'plain ä😀',
    '\\"\\\\\\/\\b\\f\\n\\r\\t',
    '\\u0041\\u00E4\\u20ac\\ud83d\\ude00\\u0000',
    'x\\ud83d\\ude00y',
  ])('gives the UTF-8 of %j', (inner) => {
    expect(unescaped(inner)).toBe(JSON.parse(`"${inner}"`));
  });

  it.each([
    '\\ud800',
    '\\udc00',
    '\\ud800x',
    '\\ud800\\n',
    '\\ud800\\ud800',
    '\\ud83d\\u0041',
    'a\\ude00',
  ])('finds the unpaired surrogate in %j', (inner) => {
    expect(unescaped(inner)).toBeUndefined();
  });

  it('does not look for the other half behind the end', () => {
    const bytes = ENCODER.encode('\\ud83d\\ude00');
    expect(unescape(bytes, 0, 6, new Uint8Array(20), 0)).toBe(UNPAIRED);
  });

  it('agrees with JSON.parse on random strings', () => {
    const rng = new SeededRng(4);
    for (let run = 0; run < 5000; run++) {
      const units = Array.from({ length: rng.u32() % 8 }, () => {
        const unit = rng.u32() % 3 === 0 ? 0xd700 + (rng.u32() % 0xa00) : rng.u32() % 0x10000;
        return `\\u${unit.toString(16).padStart(4, '0')}`;
      });
      const expected = JSON.parse(`"${units.join('')}"`) as string;
      expect(unescaped(units.join(''))).toBe(expected.isWellFormed() ? expected : undefined);
    }
  });
});

describe('NameSet', () => {
  const names = new NameSet(['queue', 'payload', 'transactionId']);

  function match(spelling: string): number {
    const scanner = new JsonScanner();
    scanner.reset(ENCODER.encode(`{"${spelling}":1}`));
    scanner.firstMember(0);
    return names.match(scanner);
  }

  it('finds plain and escaped spellings, and nothing else', () => {
    expect(match('queue')).toBe(0);
    expect(match('payload')).toBe(1);
    expect(match('\\u0070ayload')).toBe(1);
    expect(match(String.raw`\u0074\u0072ansaction\u0049d`)).toBe(2);
    for (const other of ['', 'Queue', 'queues', 'queu', 'payloae', '__proto__', '\\ud800', '\\n']) {
      expect(match(other)).toBe(-1);
    }
    expect(match('\\u0070'.repeat(1000))).toBe(-1);
  });
});
