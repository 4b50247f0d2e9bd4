// Long answers without long stalls: pieces are made one after the other, and whenever that took a
// while the event loop gets its turn first. The answer itself goes out in one piece, as all do.

import type { Clock } from '@queen-ts/base';
import { commaSeparated } from '@queen-ts/protocol';
import type { Piece } from '@queen-ts/protocol';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { jsonBytes } from './answers.ts';
import { STRETCH_US } from './paced.ts';

/** Answers with the document that the pieces make. */
export async function pacedJson(
  clock: Clock,
  pieces: Iterable<Piece>,
  status = 200,
): Promise<Response> {
  const chunks: Uint8Array[] = [];
  let stretchEndUs = clock.monotonicUs() + STRETCH_US;
  for (const piece of pieces) {
    chunks.push(typeof piece === 'string' ? Buffer.from(piece) : piece);
    if (clock.monotonicUs() < stretchEndUs) continue;
    await nextTurn();
    stretchEndUs = clock.monotonicUs() + STRETCH_US;
  }
  return jsonBytes(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks), status);
}

/** An array of values as JSON. */
export function* arrayPieces<T>(rows: readonly T[], show: (row: T) => unknown): Generator<Piece> {
  yield '[';
  yield* commaSeparated(rows, (row) => [JSON.stringify(show(row))]);
  yield ']';
}

/**
 * An object as JSON; members whose values are arrays of rows come in pieces.
 * @param members in the order of the answer.
 */
export function* objectPieces(
  members: readonly (readonly [name: string, value: unknown])[],
): Generator<Piece> {
  yield '{';
  yield* commaSeparated(members, ([name, value]) => memberPieces(name, value));
  yield '}';
}

/** A value of {@link objectPieces} that comes in pieces. */
export class Pieces {
  readonly pieces: Iterable<Piece>;

  constructor(pieces: Iterable<Piece>) {
    this.pieces = pieces;
  }
}

function* memberPieces(name: string, value: unknown): Generator<Piece> {
  yield `${JSON.stringify(name)}:`;
  if (value instanceof Pieces) yield* value.pieces;
  else yield JSON.stringify(value);
}
