// The network between the nodes: messages are lost, late, doubled and overtaken, and links are cut in
// one direction or both.

import type { Message } from '@queen-ts/raft';
import type { Dice } from './dice.ts';
import type { World } from './world.ts';

const NODE_IDS_MAX = 16;

/** A direction between two nodes. */
interface Link {
  readonly from: number;
  readonly to: number;
}

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
    if (!this.carry(message, () => this.#deliver(message))) return;
    if (this.#world.isPeaceful || !this.#dice.chance(this.#world.profile.network.duplicateRate)) {
      return;
    }
    this.#world.count('messageDuplicated');
    this.#schedule(message, () => this.#deliver(message));
  }

  /** Lets something arrive at the other end of a link, once or never; false when it is lost already. */
  carry(link: Link, arrive: () => void): boolean {
    if (this.#isCut(link)) return false;
    const { isPeaceful, profile } = this.#world;
    if (!isPeaceful && this.#dice.chance(profile.network.dropRate)) {
      this.#world.count('messageDropped');
      return false;
    }
    this.#schedule(link, arrive);
    return true;
  }

  #schedule(link: Link, arrive: () => void): void {
    this.#world.time.after(this.#travelUs(), 'message', link.to, () => {
      // A cut that came meanwhile takes what is on the way, too.
      if (!this.#isCut(link)) arrive();
    });
  }

  #travelUs(): number {
    const { latencyUs, jitterUs, stragglerRate, stragglerUs } = this.#world.profile.network;
    const travelUs = latencyUs + this.#dice.below(jitterUs + 1);
    if (this.#world.isPeaceful || !this.#dice.chance(stragglerRate)) return travelUs;
    this.#world.count('messageDelayed');
    return travelUs + this.#dice.below(stragglerUs);
  }

  #isCut({ from, to }: Link): boolean {
    return this.#cuts[from * NODE_IDS_MAX + to] === 1;
  }
}
