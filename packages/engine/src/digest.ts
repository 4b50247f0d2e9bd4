// The rolling digest of everything applied (I9). Two 32-bit lanes over the entry heads, and over
// counters that applying them produced, so that a replica that reads the same effects but ends up
// with different rows is found too. Detects faults, resists no attacker.

const PRIME_A = 0x9e3779b1;
const PRIME_B = 0x85ebca77;

/** A chain of digests; equal inputs in equal order give equal texts. */
export class Digest {
  #a = 0x2545f491;
  #b = 0x6b43a9b5;

  /** Mixes one integer; only its low 53 bits count. */
  number(value: number): void {
    this.#word(value >>> 0);
    this.#word(Math.floor(value / 0x1_0000_0000) >>> 0);
  }

  /** Mixes bytes, then their count. */
  bytes(bytes: Uint8Array): void {
    const words = bytes.length & ~3;
    for (let i = 0; i < words; i += 4) {
      this.#word(bytes[i]! | (bytes[i + 1]! << 8) | (bytes[i + 2]! << 16) | (bytes[i + 3]! << 24));
    }
    let rest = 0;
    for (let i = words; i < bytes.length; i += 1) rest = (rest << 8) | bytes[i]!;
    this.#word(rest);
    this.#word(bytes.length);
  }

  /** The digest so far, 16 hex digits. */
  text(): string {
    return hex(this.#a) + hex(this.#b);
  }

  /** The two lanes, to go on from them with {@link restore}. */
  lanes(): readonly [number, number] {
    return [this.#a >>> 0, this.#b >>> 0];
  }

  /** Goes on from the lanes of another digest. */
  restore(a: number, b: number): void {
    this.#a = a | 0;
    this.#b = b | 0;
  }

  #word(word: number): void {
    const a = Math.imul(this.#a ^ word, PRIME_A);
    const b = Math.imul(this.#b + word, PRIME_B);
    // Each lane feeds the other, so neither collides alone.
    this.#a = (a ^ (a >>> 15)) + b;
    this.#b = (b ^ (b >>> 13)) + Math.imul(a, 5);
    this.#a |= 0;
    this.#b |= 0;
  }
}

function hex(word: number): string {
  return (word >>> 0).toString(16).padStart(8, '0');
}
