// Long answers are made of pieces, so that whoever writes them decides how much it does in one go.

/** A part of a JSON document: text, or bytes that already are JSON in UTF-8. */
export type Piece = string | Uint8Array;

/** Separates items that were not separated yet: `before` what comes first, then commas. */
export function* commaSeparated(items: Iterable<Iterable<Piece>>): Generator<Piece> {
  let isFirst = true;
  for (const item of items) {
    if (!isFirst) yield ',';
    isFirst = false;
    yield* item;
  }
}
