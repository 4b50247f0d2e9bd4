// Documents for the scanner: valid JSON of every shape and spelling, and mutations of it, as bytes.

import type { Random } from '../random.ts';

const SPACES = ['', '', '', '', ' ', '\n', '\t\r ', '\u00a0'];
const WORDS = ['true', 'false', 'null'];
const INTEGERS = ['0', '-0', '1', '42', '9007199254740993', '123456789012345678901234567890'];
const FRACTIONS = ['', '', '.0', '.50', '.000000000000000000001'];
const EXPONENTS = ['', '', 'e0', 'E+10', 'e-400', 'e999', 'E-0'];

/** Parts of strings as they are spelled. */
const PARTS = [
  '',
  'a',
  'queue',
  'x'.repeat(40),
  String.raw`\n`,
  String.raw`\"`,
  String.raw`\\`,
  String.raw`\/`,
  String.raw`\u0000`,
  String.raw`\u00e4`,
  String.raw`\uD83D\uDE00`,
  String.raw`\ud800`,
  String.raw`\udfff\ud800`,
  'ä€😀',
  '\u007f\u0080\uffff',
  '\u2028\u2029',
  '__proto__',
];

/** What mutations put in, as bytes. */
const STRAY: readonly Uint8Array[] = [
  ...'{}[]":,\\/0-+.eEtfnu\t\n\r\0\u0001\u00a0\ufeff'.split('').map((text) => Buffer.from(text)),
  Uint8Array.of(0x80),
  Uint8Array.of(0xc0, 0x80),
  Uint8Array.of(0xe2, 0x82),
  Uint8Array.of(0xed, 0xa0, 0x80),
  Uint8Array.of(0xf4, 0x90, 0x80, 0x80),
  Uint8Array.of(0xff),
  Buffer.from('"a":'),
  Buffer.from('\\u12'),
  Buffer.from(',,'),
];

const DEPTH_MAX = 5;

/** A document; most are valid. */
export function document(random: Random): Uint8Array {
  const text = space(random) + value(random, DEPTH_MAX) + space(random);
  let bytes: Uint8Array = Buffer.from(text);
  const mutations = random.weighted([
    [50, 0],
    [35, 1],
    [15, random.between(2, 4)],
  ]);
  for (let i = 0; i < mutations; i++) bytes = mutated(bytes, random);
  return bytes;
}

function value(random: Random, depth: number): string {
  const kind = random.below(depth > 0 ? 8 : 4);
  if (kind === 0) return random.pick(WORDS);
  if (kind === 1) return number(random);
  if (kind < 4) return string(random);
  const parts = Array.from({ length: random.below(4) }, () => {
    const inner = space(random) + value(random, depth - 1) + space(random);
    return kind < 6 ? inner : `${space(random)}${string(random)}${space(random)}:${inner}`;
  });
  const inside = parts.length === 0 ? space(random) : parts.join(',');
  return kind < 6 ? `[${inside}]` : `{${inside}}`;
}

function number(random: Random): string {
  const sign = random.chance(20) ? '-' : '';
  const integer = random.pick(INTEGERS);
  return (
    (integer.startsWith('-') ? integer : sign + integer) +
    random.pick(FRACTIONS) +
    random.pick(EXPONENTS)
  );
}

function string(random: Random): string {
  const parts = Array.from({ length: random.below(4) }, () => random.pick(PARTS));
  return `"${parts.join('')}"`;
}

/** U+00A0 looks like white space and is none. */
function space(random: Random): string {
  return random.chance(99) ? random.pick(SPACES.slice(0, -1)) : random.pick(SPACES);
}

/** Cuts, removes, doubles, inserts or replaces at one place, or flips one bit. */
function mutated(bytes: Uint8Array, random: Random): Uint8Array {
  const at = random.below(bytes.length + 1);
  const end = Math.min(bytes.length, at + random.between(1, 4));
  const before = bytes.subarray(0, at);
  switch (random.below(6)) {
    case 0:
      return before;
    case 1:
      return Buffer.concat([before, bytes.subarray(end)]);
    case 2:
      return Buffer.concat([before, bytes.subarray(at, end), bytes.subarray(at)]);
    case 3:
      return Buffer.concat([before, random.pick(STRAY), bytes.subarray(at)]);
    case 4:
      return Buffer.concat([before, random.pick(STRAY), bytes.subarray(end)]);
    default: {
      const flipped = Buffer.from(bytes);
      if (at < flipped.length) flipped[at]! ^= 1 << random.below(8);
      return flipped;
    }
  }
}
