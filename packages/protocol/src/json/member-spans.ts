// The members of one kind of object by number: where each one's value lies. Of repeated members the
// last counts, as in JSON.parse; unknown ones are only checked.

import { LETTER_N, QUOTE } from './characters.ts';
import { FAILED } from './scanner.ts';
import type { JsonScanner } from './scanner.ts';
import type { NameSet } from './strings.ts';

/** {@link MemberSpans.starts} of a member that did not occur. */
export const ABSENT = -1;

/** Reusable: `read` and `clear` forget the object before. */
export class MemberSpans {
  /** Start of each member's value, or ABSENT. */
  readonly starts: Int32Array;
  /** End of each member's value; meaningless when absent. */
  readonly ends: Int32Array;
  /** 1 where the value is a string spelled with an escape. */
  readonly hasEscape: Uint8Array;

  readonly #names: NameSet;

  constructor(names: NameSet) {
    this.#names = names;
    this.starts = new Int32Array(names.count).fill(ABSENT);
    this.ends = new Int32Array(names.count);
    this.hasEscape = new Uint8Array(names.count);
  }

  /** Forgets everything. */
  clear(): void {
    this.starts.fill(ABSENT);
  }

  /**
   * Reads the object at `start`, whose first byte the caller has seen to be `{`. Returns the
   * position after it, or FAILED.
   */
  read(scanner: JsonScanner, start: number): number {
    this.clear();
    let at = scanner.firstMember(start);
    while (at >= 0) {
      const member = this.#names.match(scanner);
      const end = scanner.skipValue(at);
      if (end < 0) return FAILED;
      if (member >= 0) this.record(scanner, member, at, end);
      at = scanner.nextMember(end);
    }
    return at === FAILED ? FAILED : scanner.position;
  }

  /** Notes a value that was just skipped. */
  record(scanner: JsonScanner, member: number, start: number, end: number): void {
    this.starts[member] = start;
    this.ends[member] = end;
    // For a string value, the string skipped last is the value itself.
    this.hasEscape[member] = scanner.hasEscape && scanner.bytes[start] === QUOTE ? 1 : 0;
  }

  /** True when the member is absent or null. */
  isNone(bytes: Uint8Array, member: number): boolean {
    const start = this.starts[member]!;
    return start === ABSENT || bytes[start] === LETTER_N;
  }

  /** True when the member is a string. */
  isString(bytes: Uint8Array, member: number): boolean {
    const start = this.starts[member]!;
    return start !== ABSENT && bytes[start] === QUOTE;
  }

  /** True when the member is `""`. */
  isEmptyString(bytes: Uint8Array, member: number): boolean {
    return this.isString(bytes, member) && this.ends[member]! - this.starts[member]! === 2;
  }
}
