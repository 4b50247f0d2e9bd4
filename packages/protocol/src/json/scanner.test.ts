import { SeededRng } from '@queen-ts/base';
import { describe, expect, it } from 'vitest';
import { JSON_DEPTH_MAX } from '../limits.ts';
import { DONE, FAILED, JsonScanner } from './scanner.ts';

const ENCODER = new TextEncoder();
const STRICT = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Number of random documents; raise it with QUEEN_FUZZ_RUNS. */
const FUZZ_RUNS = Number(process.env.QUEEN_FUZZ_RUNS ?? 60_000);

/** The platform's verdict: the value, or undefined when the bytes are not a JSON document. */
function parseNaively(bytes: Uint8Array): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(STRICT.decode(bytes)) as unknown };
  } catch {
    return undefined;
  }
}

function isAccepted(scanner: JsonScanner, bytes: Uint8Array): boolean {
  scanner.reset(bytes);
  const end = scanner.skipValue(scanner.skipSpace(0));
  return end >= 0 && scanner.expectEnd(end);
}

function verdict(text: string | Uint8Array): string {
  const bytes = typeof text === 'string' ? ENCODER.encode(text) : text;
  const scanner = new JsonScanner();
  if (isAccepted(scanner, bytes)) return 'ok';
  return `${scanner.failedAt}: ${scanner.expected}`;
}

describe('JsonScanner', () => {
  it.each([
    'null',
    'true',
    'false',
    '0',
    '-0',
    '-0.5e-7',
    '1E400',
    '123456789012345678901234567890',
    '""',
    '"\\u0000\\ud800\\"\\\\\\/\\b\\f\\n\\r\\t"',
    '"\u007f\u0080ä€😀"',
    ' \t\r\n[ ] ',
    '{}',
    '{"a":{"a":[1,{"b":null}]},"a":2,"__proto__":{}}',
    '{"n":9007199254740993,"x":1.0}',
  ])('accepts %j', (text) => {
    expect(parseNaively(ENCODER.encode(text))).toBeDefined();
    expect(verdict(text)).toBe('ok');
  });

  it.each([
    ['', '0: a JSON value'],
    ['\ufeff{}', '0: a JSON value'],
    ['\u00a01', '0: a JSON value'],
    ['nul', '0: true, false or null'],
    ['True', '0: a JSON value'],
    ['01', '1: the end of the body'],
    ['-', '1: a digit'],
    ['1.', '2: a digit'],
    ['.5', '0: a JSON value'],
    ['+1', '0: a JSON value'],
    ['1e', '2: a digit'],
    ['1e+', '3: a digit'],
    ['0x1', '1: the end of the body'],
    ['"a', '2: the closing quote of a string'],
    ['"a\nb"', '2: control characters to be escaped'],
    ['"\\x"', '1: an escape like \\n or \\u0041'],
    ['"\\', '1: an escape like \\n or \\u0041'],
    ['"\\u12g4"', '5: four hexadecimal digits after \\u'],
    ['"\\u12', '5: four hexadecimal digits after \\u'],
    ["'a'", '0: a JSON value'],
    ['[1,]', '3: a JSON value'],
    ['[1 2]', "3: ',' or ']'"],
    ['[1', "2: ',' or ']'"],
    ['[1}', "2: ',' or ']'"],
    ['{"a":1]', "6: ',' or '}'"],
    ['{"a":1,}', '7: a member name in double quotes'],
    ['{a:1}', '1: a member name in double quotes'],
    ['{"a" 1}', "5: ':' after a member name"],
    ['{"a":}', '5: a JSON value'],
    ['{"a":1', "6: ',' or '}'"],
    ['{', '1: a member name in double quotes'],
    ['[', '1: a JSON value'],
    ['1 //', '2: the end of the body'],
    ['NaN', '0: a JSON value'],
    ['{} {}', '3: the end of the body'],
    ['1\u0000', '1: the end of the body'],
  ])('rejects %j at %s', (text, expected) => {
    expect(parseNaively(ENCODER.encode(text))).toBeUndefined();
    expect(verdict(text)).toBe(expected);
  });

  it('rejects invalid UTF-8 inside strings', () => {
    for (const bad of [[0x80], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80]]) {
      expect(verdict(Uint8Array.of(0x22, ...bad, 0x22))).toBe('1: valid UTF-8');
    }
    expect(verdict(Uint8Array.of(0x22, 0xe2, 0x82))).toBe('1: valid UTF-8');
  });

  it('nests without recursion up to its limit', () => {
    expect(verdict('['.repeat(10_000) + ']'.repeat(10_000))).toBe('ok');
    const most = '{"a":['.repeat(JSON_DEPTH_MAX / 2) + ']}'.repeat(JSON_DEPTH_MAX / 2);
    expect(verdict(most)).toBe('ok');
    expect(verdict(`[${most}]`)).toMatch(/: at most 20000 arrays and objects/);
  });

  it('walks members and elements with names and spans', () => {
    const text = ' {"a" : [1, "x" ,{}] ,"\\u0062":"\\n", "c":{}}';
    const scanner = new JsonScanner();
    scanner.reset(ENCODER.encode(text));
    const seen: string[] = [];
    let at = scanner.firstMember(1);
    while (at >= 0) {
      const name = text.slice(scanner.nameStart, scanner.nameEnd);
      const escaped = scanner.nameHasEscape ? '!' : '';
      const end = scanner.skipValue(at);
      seen.push(`${name}${escaped}=${text.slice(at, end)}`);
      at = scanner.nextMember(end);
    }
    expect(at).toBe(DONE);
    expect(scanner.position).toBe(text.length);
    expect(seen).toEqual(['a=[1, "x" ,{}]', '\\u0062!="\\n"', 'c={}']);
    const elements: string[] = [];
    let element = scanner.firstElement(8);
    while (element >= 0) {
      const end = scanner.skipValue(element);
      elements.push(text.slice(element, end));
      element = scanner.nextElement(end);
    }
    expect(element).toBe(DONE);
    expect(elements).toEqual(['1', '"x"', '{}']);
    expect(scanner.firstMember(text.length - 3)).toBe(DONE);
  });

  it('fails inside a walk as it does in skipValue', () => {
    const scanner = new JsonScanner();
    scanner.reset(ENCODER.encode('{"a":1;}'));
    expect(scanner.nextMember(scanner.skipValue(scanner.firstMember(0)))).toBe(FAILED);
    expect(scanner.failedAt).toBe(6);
  });
});

describe('JsonScanner against JSON.parse', () => {
  it(`accepts and rejects the same documents, ${FUZZ_RUNS} times`, () => {
    const rng = new SeededRng(20_260_730);
    const scanner = new JsonScanner();
    let accepted = 0;
    for (let run = 0; run < FUZZ_RUNS; run++) {
      const bytes = run % 2 === 0 ? document(rng) : mutated(rng, document(rng));
      const expected = parseNaively(bytes);
      const isOk = isAccepted(scanner, bytes);
      if (isOk) accepted += 1;
      if (isOk !== (expected !== undefined)) {
        expect.fail(`run ${run}: scanner ${isOk} for ${JSON.stringify(STRICT.decode(bytes))}`);
      }
      if (expected !== undefined) checkSpans(scanner, bytes, expected.value);
    }
    expect(accepted).toBeGreaterThan(FUZZ_RUNS / 2);
    expect(accepted).toBeLessThan(FUZZ_RUNS * 0.95);
  }, 600_000);
});

/** Every member and element of the top container, cut out of the bytes, parses to its value. */
function checkSpans(scanner: JsonScanner, bytes: Uint8Array, value: unknown): void {
  const start = scanner.skipSpace(0);
  if (Array.isArray(value)) {
    let at = scanner.firstElement(start);
    for (const element of value as unknown[]) {
      const end = scanner.skipValue(at);
      expectSame(bytes.subarray(at, end), element);
      at = scanner.nextElement(end);
    }
    if (at !== DONE) expect.fail('more elements than JSON.parse found');
    return;
  }
  if (typeof value !== 'object' || value === null) {
    expectSame(bytes.subarray(start, scanner.skipValue(start)), value);
    return;
  }
  const members = new Map<string, Uint8Array>();
  let at = scanner.firstMember(start);
  while (at >= 0) {
    const quoted = bytes.subarray(scanner.nameStart - 1, scanner.nameEnd + 1);
    const name = JSON.parse(STRICT.decode(quoted)) as string;
    const end = scanner.skipValue(at);
    members.set(name, bytes.subarray(at, end));
    at = scanner.nextMember(end);
  }
  if (members.size !== Object.keys(value).length) expect.fail('other members than JSON.parse');
  for (const [name, span] of members) {
    expectSame(span, (value as Record<string, unknown>)[name]);
  }
}

function expectSame(span: Uint8Array, value: unknown): void {
  const text = STRICT.decode(span);
  if (JSON.stringify(JSON.parse(text)) !== JSON.stringify(value) || text.trim() !== text) {
    expect.fail(`span ${text} is not ${JSON.stringify(value)}`);
  }
}

const SPACES = ['', '', '', ' ', '\n', '\t\r '];
const STRINGS = [
  '',
  'a',
  'ab\\n',
  '\\u00e4',
  '\\ud83d\\ude00',
  '\\ud800',
  'ä€😀',
  '__proto__',
  '\\/',
];
const NUMBERS = ['0', '-0', '1', '42', '1.50', '-3e8', '1E-2', '0.0', '9007199254740993', '1e999'];
const STRAY = [
  '{',
  '}',
  '[',
  ']',
  '"',
  ',',
  ':',
  '\\',
  '0',
  '-',
  '.',
  'e',
  'u',
  '\t',
  '\u0001',
  '\u00a0',
];

function pick(rng: SeededRng, choices: readonly string[]): string {
  return choices[rng.u32() % choices.length]!;
}

function document(rng: SeededRng): Uint8Array {
  return ENCODER.encode(pick(rng, SPACES) + randomValue(rng, 3) + pick(rng, SPACES));
}

function randomValue(rng: SeededRng, depth: number): string {
  const space = (): string => pick(rng, SPACES);
  const kind = rng.u32() % (depth > 0 ? 6 : 4);
  if (kind === 0) return pick(rng, ['true', 'false', 'null']);
  if (kind === 1) return pick(rng, NUMBERS);
  if (kind < 4) return randomString(rng);
  const parts = Array.from({ length: rng.u32() % 4 }, () => {
    const value = space() + randomValue(rng, depth - 1) + space();
    return kind === 4 ? value : `${space()}${randomString(rng)}${space()}:${value}`;
  });
  if (parts.length === 0) return kind === 4 ? `[${space()}]` : `{${space()}}`;
  return kind === 4 ? `[${parts.join(',')}]` : `{${parts.join(',')}}`;
}

function randomString(rng: SeededRng): string {
  const parts = Array.from({ length: rng.u32() % 3 }, () => pick(rng, STRINGS));
  return `"${parts.join('')}${'x'.repeat(rng.u32() % 9)}"`;
}

/** Changes, inserts, removes or cuts at one random place; sometimes with a raw byte. */
function mutated(rng: SeededRng, bytes: Uint8Array): Uint8Array {
  const at = rng.u32() % (bytes.length + 1);
  const before = bytes.subarray(0, at);
  const insert = rng.u32() % 4 === 0 ? Uint8Array.of(rng.u32()) : ENCODER.encode(pick(rng, STRAY));
  switch (rng.u32() % 4) {
    case 0:
      return before;
    case 1:
      return joined(before, bytes.subarray(at + 1));
    case 2:
      return joined(before, insert, bytes.subarray(at));
    default:
      return joined(before, insert, bytes.subarray(at + 1));
  }
}

function joined(...parts: readonly Uint8Array[]): Uint8Array {
  return Uint8Array.from(parts.flatMap((part) => [...part]));
}
