// The network between the nodes: messages are lost, late, doubled and overtaken, and links are cut in
// one direction or both.

import type { Message } from '@queen-ts/raft';
import type { Dice } from './dice.ts';
import type { World } from './world.ts';

const NODE_IDS_MAX = 16;

/** Carries messages. */
export class Network {
  readonly #world: World;
  readonly #dice: Dice;
  readonly #deliver: (message: Message) => void;
  /** By sender * NODE_IDS_MAX + receiver. */
  readonly #cuts = new Uint8Array(NODE_IDS_MAX * NODE_IDS_MAX);

  /** @param deliver called when a message arrives. */
  constructor(world: World, deliver: (message: Message) => void) {
    this.#world = world;
    this.#dice = world.dice(2);
    this.#deliver = deliver;
  }

  /** Cuts the links for which `isCut` holds and mends all others. */
  shape(isCut: (from: number, to: number) => boolean): void {
    for (let from = 0; from < NODE_IDS_MAX; from += 1) {
      for (let to = 0; to < NODE_IDS_MAX; to += 1) {
        this.#cuts[from * NODE_IDS_MAX + to] = isCut(from, to) ? 1 : 0;
      }
    }
  }

  /** Takes a message; it arrives never, once or twice. */
  send(message: Message): void {
    const { dropRate, duplicateRate } = this.#world.profile.network;
    const isPeaceful = this.#world.isPeaceful;
    if (this.#isCut(message)) return;
    if (!isPeaceful && this.#dice.chance(dropRate)) {
      this.#world.count('messageDropped');
      return;
    }
    this.#schedule(message);
    if (!isPeaceful && this.#dice.chance(duplicateRate)) {
      this.#world.count('messageDuplicated');
      this.#schedule(message);
    }
  }

  #schedule(message: Message): void {
    this.#world.time.after(this.#travelUs(), 'message', message.to, () => {
      // A cut that came meanwhile takes what is on the way, too.
      if (!this.#isCut(message)) this.#deliver(message);
    });
  }

  #travelUs(): number {
    const { latencyUs, jitterUs, stragglerRate, stragglerUs } = this.#world.profile.network;
    const travelUs = latencyUs + this.#dice.below(jitterUs + 1);
    if (this.#world.isPeaceful || !this.#dice.chance(stragglerRate)) return travelUs;
    this.#world.count('messageDelayed');
    return travelUs + this.#dice.below(stragglerUs);
  }

  #isCut({ from, to }: Message): boolean {
    return this.#cuts[from * NODE_IDS_MAX + to] === 1;
  }
}
