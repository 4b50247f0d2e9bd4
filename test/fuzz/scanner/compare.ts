// The scanner against JSON.parse: the same documents are valid, and every span, at every depth, holds the
// value that JSON.parse finds there.

import { DONE, FAILED, JsonScanner } from '@queen-ts/protocol';
import { readPlainly } from './plain-reader.ts';

const STRICT = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** How one document came out. */
export type Outcome =
  { readonly kind: 'accepted' | 'refused' } | { readonly kind: 'different'; readonly what: string };

/** Compares documents, one after the other. */
export class Comparison {
  readonly #scanner = new JsonScanner();

  /** Compares one document. */
  check(bytes: Uint8Array): Outcome {
    const expected = parse(bytes);
    const scanner = this.#scanner;
    scanner.reset(bytes);
    const end = scanner.skipValue(scanner.skipSpace(0));
    const isAccepted = end >= 0 && scanner.expectEnd(end);
    if (isAccepted !== (expected !== undefined)) {
      const verdict = isAccepted ? 'accepts' : `expects ${scanner.expected} at ${scanner.failedAt}`;
      return { kind: 'different', what: `the scanner ${verdict}, JSON.parse does not agree` };
    }
    if (expected === undefined) return this.#refused(bytes);
    const start = scanner.skipSpace(0);
    const what =
      this.#compare(start, end, expected.value, '$') &&
      this.#compare(start, end, readPlainly(STRICT.decode(bytes)), '$');
    return what === undefined ? { kind: 'accepted' } : { kind: 'different', what };
  }

  /** A refusal names a place inside the document, or its end. */
  #refused(bytes: Uint8Array): Outcome {
    const { failedAt, expected } = this.#scanner;
    if (failedAt >= 0 && failedAt <= bytes.length && expected !== '') return { kind: 'refused' };
    return { kind: 'different', what: `a refusal at ${failedAt} that expects "${expected}"` };
  }

  /** The value in [start, end); returns what is different. */
  #compare(start: number, end: number, value: unknown, path: string): string | undefined {
    const own = this.#scanner.skipValue(start);
    if (own !== end) return `${path} ends at ${own}, not at ${end}`;
    if (Array.isArray(value)) return this.#compareArray(start, end, value, path);
    if (typeof value === 'object' && value !== null) {
      return this.#compareObject(start, end, value as Record<string, unknown>, path);
    }
    const text = STRICT.decode(this.#scanner.bytes.subarray(start, end));
    const parsed: unknown = JSON.parse(text);
    const isSame = Object.is(parsed, value) && text.trim() === text;
    return isSame ? undefined : `${path} is ${text}, not ${JSON.stringify(value)}`;
  }

  #compareArray(
    start: number,
    end: number,
    elements: readonly unknown[],
    path: string,
  ): string | undefined {
    const scanner = this.#scanner;
    const spans: (readonly [number, number])[] = [];
    let at = scanner.firstElement(start);
    while (at >= 0) {
      const elementEnd = scanner.skipValue(at);
      spans.push([at, elementEnd]);
      at = scanner.nextElement(elementEnd);
    }
    const wrong = this.#wrongEnd(at, end, path);
    if (wrong !== undefined) return wrong;
    if (spans.length !== elements.length) return `${path} has ${spans.length} elements`;
    return firstOf(spans, ([from, to], i) => this.#compare(from, to, elements[i], `${path}[${i}]`));
  }

  #compareObject(
    start: number,
    end: number,
    members: Readonly<Record<string, unknown>>,
    path: string,
  ): string | undefined {
    const scanner = this.#scanner;
    // Of repeated members the last one counts.
    const spans = new Map<string, readonly [number, number]>();
    let at = scanner.firstMember(start);
    while (at >= 0) {
      const quoted = scanner.bytes.subarray(scanner.nameStart - 1, scanner.nameEnd + 1);
      const spelled = STRICT.decode(quoted);
      if (scanner.nameHasEscape !== spelled.includes('\\')) {
        return `${path}: nameHasEscape of ${spelled} is ${scanner.nameHasEscape}`;
      }
      const memberEnd = scanner.skipValue(at);
      spans.set(JSON.parse(spelled) as string, [at, memberEnd]);
      at = scanner.nextMember(memberEnd);
    }
    const wrong = this.#wrongEnd(at, end, path);
    if (wrong !== undefined) return wrong;
    if (spans.size !== Object.keys(members).length) return `${path} has ${spans.size} members`;
    return firstOf([...spans], ([name, [from, to]]) =>
      Object.hasOwn(members, name)
        ? this.#compare(from, to, members[name], `${path}.${name}`)
        : `${path} has a member ${name}`,
    );
  }

  #wrongEnd(at: number, end: number, path: string): string | undefined {
    if (at === FAILED) return `${path} fails when it is walked through`;
    const { position } = this.#scanner;
    const isDone = at === DONE && position === end;
    return isDone ? undefined : `${path} is walked through to ${position}, not to ${end}`;
  }
}

function firstOf<T>(
  items: readonly T[],
  check: (item: T, position: number) => string | undefined,
): string | undefined {
  for (const [position, item] of items.entries()) {
    const what = check(item, position);
    if (what !== undefined) return what;
  }
  return undefined;
}

/** The platform's verdict: the value, or undefined when the bytes are no JSON document. */
function parse(bytes: Uint8Array): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(STRICT.decode(bytes)) };
  } catch {
    // That is the verdict.
    return undefined;
  }
}
