// Payloads, as JSON text, that a broker which parses and prints again would change.

const DEEP = 100;

/** Names and texts. */
export const VERBATIM: readonly (readonly [string, string])[] = [
  ['1.0', '1.0'],
  ['1e400', '1e400'],
  ['-0', '-0'],
  ['9007199254740993', '9007199254740993'],
  ['a long fraction', '0.10000000000000000000000000000000001'],
  ['1E+2', '1E+2'],
  ['duplicate keys', '{"a":1,"a":2}'],
  ['a __proto__ key', '{"__proto__":{"x":1},"constructor":null}'],
  ['keys in their order, numeric ones too', '{"b":1,"2":2,"a":3,"1":4}'],
  ['blanks inside', '{ "a" : [ 1 ,\t2 ] ,\n"b":{ } }'],
  ['escapes as they were spelled', String.raw`"\u0041\/\u00e4ä\ud83d\ude00😀\b"`],
  ['a lone surrogate', String.raw`"\ud800 and \udfff"`],
  ['an escaped NUL', String.raw`"\u0000"`],
  ['text outside the BMP', '"𝄞 \u2028 \u2029"'],
  ['deep nesting', '['.repeat(DEEP) + ']'.repeat(DEEP)],
  ['an empty key', '{"":{"":[]}}'],
];

/** One text with most of them. */
export const VERBATIM_TEXT = String.raw`{ "n": 1.50,"e":1e400,"a":1,"a":2, "s":"\u00e4\/\ud800","__proto__":[ ] }`;
