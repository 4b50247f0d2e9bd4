// Long answers are made of pieces, so that whoever writes them decides how much it does in one go.

/** A part of a JSON document: text, or bytes that already are JSON in UTF-8. */
export type Piece = string | Uint8Array;

/** Renders rows one after the other, with commas between them. */
export function* commaSeparated<T>(
  rows: readonly T[],
  render: (row: T) => Iterable<Piece>,
): Generator<Piece> {
  let isFirst = true;
  for (const row of rows) {
    if (!isFirst) yield ',';
    isFirst = false;
    yield* render(row);
  }
}
