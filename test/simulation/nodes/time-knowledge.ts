// Whether a process could know the log's time from more than its wall clock: the rule of ADR 0011, told
// from what was delivered to it.

import type { Message } from '@queen-ts/raft';

/** What one process knows of the time. */
export class TimeKnowledge {
  /** It has seen the log's time pass as a follower; what it gave out itself may be by its wall clock. */
  isKnown = false;
  /** The newest leader whose clock it has heard: its own, or that of a young entry. */
  knownTerm = 0;
  /** Its wall clock jumped while it ran; machines set their clocks when processes start. */
  hasWallJumped = false;
  #term = 0;

  /** A message is handed to the broker. */
  arrived(message: Message): void {
    if (message.kind !== 'append' || message.term < this.#term) return;
    const { entries, term, commitIndex } = message;
    for (const entry of entries) {
      if (entry.type === 'command') this.#term = Math.max(this.#term, entry.term);
    }
    const last = entries.at(-1);
    const isYoung = last?.type === 'command' && last.term === term && last.index > commitIndex;
    if (!isYoung) return;
    this.isKnown = true;
    this.knownTerm = term;
  }
}
