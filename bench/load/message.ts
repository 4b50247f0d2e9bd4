// What a payload says: which message of its partition it is and when it should have been sent. All
// payloads have the same size.

/** Microseconds since the epoch, by a clock that all threads of a machine share. */
export function nowUs(): number {
  return (performance.timeOrigin + performance.now()) * 1000;
}

const SEQUENCE_DIGITS = 12;
const TIME_DIGITS = 16;

/** Builds payload texts of one size. */
export class PayloadMaker {
  readonly #filler: string;

  /** @param size bytes of a payload; a shorter one than the numbers need is not made. */
  constructor(size: number) {
    const bare = this.#text(0, 0, '').length;
    this.#filler = 'x'.repeat(Math.max(0, size - bare));
  }

  make(sequence: number, scheduledUs: number): string {
    return this.#text(sequence, scheduledUs, this.#filler);
  }

  #text(sequence: number, scheduledUs: number, filler: string): string {
    const s = String(sequence).padStart(SEQUENCE_DIGITS, '0');
    const t = String(Math.round(scheduledUs)).padStart(TIME_DIGITS, '0');
    return `{"s":"${s}","t":"${t}","x":"${filler}"}`;
  }
}

/** What a consumer reads of a message. */
export interface ReceivedMessage {
  readonly transactionId: string;
  readonly partitionId: string;
  readonly partition: string;
  readonly leaseId: string;
  readonly data: { readonly s: string; readonly t: string };
}

/** Name of partition `position`. */
export function partitionName(position: number): string {
  return `p${position}`;
}

/** The position that {@link partitionName} was made of. */
export function partitionPosition(name: string): number {
  return Number(name.slice(1));
}
