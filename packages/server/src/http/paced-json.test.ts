// Long answers in pieces.

import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { arrayPieces, objectPieces, pacedJson, Pieces } from './paced-json.ts';

/** A clock that moves by `stepUs` whenever it is read. */
function steppingClock(stepUs: number) {
  let nowUs = 0;
  return {
    wallUs: () => 0,
    monotonicUs: () => {
      nowUs += stepUs;
      return nowUs;
    },
  };
}

describe('an answer in pieces', () => {
  test('is the document that they make, texts and bytes alike', async () => {
    const bytes = new TextEncoder().encode('{"ä":1}');
    const answer = await pacedJson(steppingClock(0), ['{"a":', bytes, ',"b":"ö"}'], 201);
    expect(answer.status).toBe(201);
    expect(answer.headers.get('content-type')).toBe('application/json');
    expect(await answer.text()).toBe('{"a":{"ä":1},"b":"ö"}');
  });

  test('lets others have their turn while it is made', async () => {
    const log: string[] = [];
    function* pieces(): Generator<string> {
      for (const piece of ['[1', ',2', ',3', ']']) {
        log.push(piece);
        yield piece;
      }
    }
    const others = (async (): Promise<void> => {
      for (let turn = 1; turn <= 3; turn += 1) {
        await nextTurn();
        log.push(`turn ${turn}`);
      }
    })();
    const answer = await pacedJson(steppingClock(600), pieces());
    await others;
    expect(await answer.text()).toBe('[1,2,3]');
    expect(log.indexOf('turn 1')).toBeLessThan(log.indexOf(']'));
  });

  test('may have members and rows of any kind', () => {
    const rows = new Pieces(arrayPieces([1, 2], (n) => ({ n })));
    const none = new Pieces(arrayPieces([], (n) => n));
    const text = [
      ...objectPieces([
        ['a"b', null],
        ['rows', rows],
        ['none', none],
        ['last', { x: [] }],
      ]),
    ].join('');
    expect(text).toBe('{"a\\"b":null,"rows":[{"n":1},{"n":2}],"none":[],"last":{"x":[]}}');
    expect([...objectPieces([])].join('')).toBe('{}');
  });
});
