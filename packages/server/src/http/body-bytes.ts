// The bytes of one body while they arrive. A body in one piece is never copied, and a larger one has
// a buffer that grows with what has come: at most four times that, however much was announced.

/** Size of the first buffer. */
const FIRST_BUFFER_BYTES = 256 * 1024;

const GROWTH = 4;

/** Collects the pieces of a body. */
export class BodyBytes {
  /** Most bytes that the body may have. */
  readonly sizeBytesMax: number;
  readonly #declaredSize: number | undefined;
  #bytes: Uint8Array = new Uint8Array(0);
  #sizeBytes = 0;

  /** @param declaredSize undefined when it is not known; else at most `sizeBytesMax`. */
  constructor(declaredSize: number | undefined, sizeBytesMax: number) {
    this.#declaredSize = declaredSize;
    this.sizeBytesMax = sizeBytesMax;
  }

  /** Bytes so far. */
  get sizeBytes(): number {
    return this.#sizeBytes;
  }

  /** False when fewer bytes came than were declared. */
  get isComplete(): boolean {
    return this.#declaredSize === undefined || this.#sizeBytes === this.#declaredSize;
  }

  /** Adds a piece, which the caller hands over for good. */
  add(piece: Uint8Array): void {
    const end = this.#sizeBytes + piece.byteLength;
    if (this.#sizeBytes === 0) this.#bytes = piece;
    else {
      if (end > this.#bytes.byteLength) this.#grow(end);
      this.#bytes.set(piece, this.#sizeBytes);
    }
    this.#sizeBytes = end;
  }

  /** The whole body. */
  finish(): Uint8Array {
    return this.#bytes.subarray(0, this.#sizeBytes);
  }

  #grow(needed: number): void {
    const most = this.#declaredSize ?? this.sizeBytesMax;
    const wanted = Math.max(FIRST_BUFFER_BYTES, needed, this.#sizeBytes * GROWTH);
    const bytes = Buffer.allocUnsafeSlow(Math.max(needed, Math.min(most, wanted)));
    bytes.set(this.#bytes.subarray(0, this.#sizeBytes));
    this.#bytes = bytes;
  }
}
