// Bodies and query parameters of the control routes.

import { QueryReader } from '@queen-ts/protocol';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { queryInstant, queryPage, readJsonBody, readOptionalBody } from './json-body.ts';

const Body = z.object({ name: z.string(), items: z.array(z.object({ n: z.int() })).nullish() });

function bytes(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

function query(text: string): QueryReader {
  const parameters = new URLSearchParams(text);
  return new QueryReader((name) => parameters.get(name) ?? undefined);
}

describe('a body', () => {
  test('is read as described; what nobody named is ignored', () => {
    const read = readJsonBody(Body, bytes('{"name":"ä","more":1,"items":[{"n":1,"x":2}]}'));
    expect(read).toEqual({ name: 'ä', items: [{ n: 1 }] });
  });

  test('that is no JSON is bad_body', () => {
    for (const body of [bytes(''), bytes('{'), Uint8Array.of(0x22, 0xff, 0x22)]) {
      expect(() => readJsonBody(Body, body)).toThrow(expect.objectContaining({ code: 'bad_body' }));
    }
  });

  test('that is not as described is bad_request, and says where', () => {
    const wrong = bytes('{"name":"a","items":[{"n":1},{"n":"2"}]}');
    expect(() => readJsonBody(Body, wrong)).toThrow(/^items\.1\.n: /);
    expect(() => readJsonBody(Body, bytes('[]'))).toThrow(/^the body: /);
    expect(() => readJsonBody(Body, wrong)).toThrow(
      expect.objectContaining({ code: 'bad_request' }),
    );
  });

  test('may be absent where that is allowed', () => {
    expect(readOptionalBody(Body, bytes(''))).toBeUndefined();
    expect(readOptionalBody(Body, bytes('{"name":"a"}'))).toEqual({ name: 'a' });
  });
});

describe('query parameters', () => {
  test('hold pages to their limits', () => {
    const limits = { limitDefault: 10, limitMax: 100 };
    expect(queryPage(query(''), limits)).toEqual({ limit: 10, offset: 0 });
    expect(queryPage(query('limit=500&offset=7'), limits)).toEqual({ limit: 100, offset: 7 });
    expect(queryPage(query('limit=0&offset=-7'), limits)).toEqual({ limit: 1, offset: 0 });
    expect(() => queryPage(query('limit=ten'), limits)).toThrow('limit');
  });

  test('are instants to the microsecond', () => {
    const at = query('t=2027-01-02T03:04:05.000006Z&empty=&wrong=noon');
    expect(queryInstant(at, 't')).toBe(Date.UTC(2027, 0, 2, 3, 4, 5) * 1000 + 6);
    expect(queryInstant(at, 'empty')).toBeUndefined();
    expect(queryInstant(at, 'absent')).toBeUndefined();
    expect(() => queryInstant(at, 'wrong')).toThrow('wrong');
  });
});
