// A set of (scope, byte string) pairs that numbers its members from 0 in first-seen order. Open
// addressing over typed arrays: no object per member, and cleared instead of rebuilt.

import { assert } from '@queen-ts/base';

/** Columns of one member in {@link NameTable.rows}. */
export const NAME_ROW = { SCOPE: 0, START: 1, LENGTH: 2, OWNER: 3, HASH: 4, WIDTH: 5 } as const;

const SLOTS_MIN = 16;

/** Tables that grew beyond this many slots are dropped by `clear`, not kept. */
const SLOTS_KEPT_MAX = 2 ** 16;

/** See the head of the file. */
export class NameTable {
  /** `NAME_ROW.WIDTH` words a member. */
  rows = new Uint32Array((SLOTS_MIN / 2) * NAME_ROW.WIDTH);
  /** Number of members. */
  count = 0;

  /** Member number + 1; 0 means free. At most half full. */
  #slots = new Uint32Array(SLOTS_MIN);
  #mask = SLOTS_MIN - 1;

  /**
   * Returns the number of the member with this scope and this name; if there is none, adds it as the
   * last one. Positional arguments because it runs per item.
   * @param text holds the name at [start, start + length); the names of members must stay in place.
   * @param nameHash hash of the name under a secret key, so that nobody can crowd one slot.
   * @param owner any number of the caller's, remembered for a new member.
   */
  intern(
    scope: number,
    text: Uint8Array,
    start: number,
    length: number,
    nameHash: number,
    owner: number,
  ): number {
    const hash = (nameHash ^ Math.imul(scope + 1, 0x9e3779b1)) >>> 0;
    let slot = hash & this.#mask;
    for (;;) {
      const member = this.#slots[slot]! - 1;
      if (member < 0) break;
      if (this.#equals(member, hash, scope, text, start, length)) return member;
      slot = (slot + 1) & this.#mask;
    }
    this.#slots[slot] = this.count + 1;
    return this.#add(hash, scope, start, length, owner);
  }

  /** Removes all members. */
  clear(): void {
    if (this.count === 0) return;
    this.count = 0;
    if (this.#slots.length > SLOTS_KEPT_MAX) {
      this.#slots = new Uint32Array(SLOTS_MIN);
      this.rows = new Uint32Array((SLOTS_MIN / 2) * NAME_ROW.WIDTH);
    } else this.#slots.fill(0, 0, this.#mask + 1);
    // A small request in a grown table probes, and later clears, only the first slots.
    this.#mask = SLOTS_MIN - 1;
  }

  #equals(
    member: number,
    hash: number,
    scope: number,
    text: Uint8Array,
    start: number,
    length: number,
  ): boolean {
    const { rows } = this;
    const row = member * NAME_ROW.WIDTH;
    if (rows[row + NAME_ROW.HASH] !== hash) return false;
    if (rows[row + NAME_ROW.SCOPE] !== scope) return false;
    if (rows[row + NAME_ROW.LENGTH] !== length) return false;
    const memberStart = rows[row + NAME_ROW.START]!;
    for (let i = 0; i < length; i++) {
      if (text[memberStart + i] !== text[start + i]) return false;
    }
    return true;
  }

  #add(hash: number, scope: number, start: number, length: number, owner: number): number {
    const member = this.count;
    const row = member * NAME_ROW.WIDTH;
    if (row === this.rows.length) this.#growRows();
    const { rows } = this;
    rows[row + NAME_ROW.SCOPE] = scope;
    rows[row + NAME_ROW.START] = start;
    rows[row + NAME_ROW.LENGTH] = length;
    rows[row + NAME_ROW.OWNER] = owner;
    rows[row + NAME_ROW.HASH] = hash;
    this.count = member + 1;
    if (this.count * 2 > this.#mask) this.#growSlots();
    return member;
  }

  #growRows(): void {
    const rows = new Uint32Array(this.rows.length * 2);
    rows.set(this.rows);
    this.rows = rows;
  }

  #growSlots(): void {
    const size = (this.#mask + 1) * 2;
    assert(size <= 2 ** 30, () => `name table of ${this.count} members`);
    this.#mask = size - 1;
    if (size > this.#slots.length) this.#slots = new Uint32Array(size);
    else this.#slots.fill(0, 0, size);
    for (let member = 0; member < this.count; member++) {
      let slot = this.rows[member * NAME_ROW.WIDTH + NAME_ROW.HASH]! & this.#mask;
      while (this.#slots[slot] !== 0) slot = (slot + 1) & this.#mask;
      this.#slots[slot] = member + 1;
    }
  }
}
