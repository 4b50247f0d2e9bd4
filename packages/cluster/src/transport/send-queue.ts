// What waits to be sent on one connection, bounded by bytes.

import { assert } from '@queen-ts/base';
import { Fifo } from '../fifo.ts';
import { FrameWriter, outgoingSize } from './frame-writer.ts';
import type { OutgoingMessage } from './frame-writer.ts';

interface Queued {
  readonly message: OutgoingMessage;
  /** Asked when its turn comes; false leaves it out. */
  readonly begin: () => boolean;
}

const ALWAYS = (): boolean => true;

/** First in, first out. What is being sent counts until its last frame was given out. */
export class SendQueue {
  readonly #bytesMax: number;
  readonly #items = new Fifo<Queued>();
  #bytes = 0;
  /** The frames of the first item, once sending it began. */
  #writer: FrameWriter | undefined;

  /** @param bytesMax bound of what may wait; a lone larger message is let in. */
  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Bytes that wait, the message in progress included. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Adds a message; false, with nothing changed, if it does not fit.
   * @param begin called right before the first frame is given out; false leaves the message out.
   */
  offer(message: OutgoingMessage, begin: () => boolean = ALWAYS): boolean {
    const size = outgoingSize(message);
    if (this.#items.size > 0 && this.#bytes + size > this.#bytesMax) return false;
    this.#items.push({ message, begin });
    this.#bytes += size;
    return true;
  }

  /**
   * Adds a message and drops the oldest until it fits; returns how many were dropped. Only for
   * messages of one frame, so that nothing is cut short.
   */
  push(message: OutgoingMessage): number {
    assert(this.#writer === undefined, 'a message in progress cannot be dropped');
    let dropped = 0;
    while (!this.offer(message)) {
      this.#drop();
      dropped += 1;
    }
    return dropped;
  }

  /** The pieces of the next frame; undefined when nothing waits. */
  nextFrame(): readonly Uint8Array[] | undefined {
    while (this.#writer === undefined) {
      const item = this.#items.peek();
      if (item === undefined) return undefined;
      if (item.begin()) this.#writer = new FrameWriter(item.message);
      else this.#drop();
    }
    const frame = this.#writer.next();
    if (this.#writer.isDone) this.#drop();
    return frame;
  }

  /** Forgets everything; returns how many messages were not begun. */
  clear(): number {
    const count = this.#items.size - (this.#writer === undefined ? 0 : 1);
    this.#items.drain();
    this.#writer = undefined;
    this.#bytes = 0;
    return count;
  }

  #drop(): void {
    const item = this.#items.shift();
    assert(item !== undefined, 'nothing to drop');
    this.#bytes -= outgoingSize(item.message);
    this.#writer = undefined;
  }
}
