// The attempts of one pop. Each has a lease of its own: an attempt that failed on its way may still be
// made, at a leader that notices late that nobody waits, and that leader then gives the claim back by its
// lease. Under the same lease it would take away what a later attempt got.

import type { Id128, PopCommand } from '@queen-ts/protocol';

/** See the head of the file. */
export class PopAttempts {
  readonly #mint: () => Id128;
  /** Leases of attempts that may have claimed something. */
  readonly #doubted: Id128[] = [];
  #command: PopCommand;
  #isBegun = false;

  /** @param mint a lease id that was never used. */
  constructor(command: PopCommand, mint: () => Id128) {
    this.#command = command;
    this.#mint = mint;
  }

  /** The pop as this attempt sends it, which may claim something from now on. */
  begin(): PopCommand {
    this.#isBegun = true;
    return this.#command;
  }

  /**
   * What was begun may have claimed something. Returns the leases of all such attempts, which must be given
   * back before the next one. Of attempts at earlier leaders, too: one may lead again.
   */
  doubt(): readonly Id128[] {
    if (this.#command.autoAck || !this.#isBegun) return this.#doubted;
    this.#isBegun = false;
    this.#doubted.push(this.#command.leaseId);
    this.#command = { ...this.#command, leaseId: this.#mint() };
    return this.#doubted;
  }
}
