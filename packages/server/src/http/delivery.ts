// Whether the client is still there: while its pop waits, and when the answer goes out. A batch that
// nobody received must go back at once (decisions D2).

import { assert } from '@queen-ts/base';
import type { CancelSignal } from '@queen-ts/cluster';
import type { ServerResponse } from 'node:http';

/**
 * Aborts when the client leaves before its answer is complete. It serves as an AbortSignal with one
 * listener at a time and without the memory of one: thousands of them wait in a node.
 */
export class ClientPresence implements CancelSignal {
  #aborted = false;
  #onAbort: (() => void) | undefined;

  /** Aborts when the connection ends before `outgoing` is complete: at once if it has ended. */
  watch(outgoing: ServerResponse): void {
    const closed = (): void => {
      if (!outgoing.writableEnded) this.leave();
    };
    if (outgoing.closed) closed();
    else outgoing.once('close', closed);
  }

  /** The client has left. Calling it again does nothing. */
  leave(): void {
    if (this.#aborted) return;
    this.#aborted = true;
    this.#onAbort?.();
    this.#onAbort = undefined;
  }

  get aborted(): boolean {
    return this.#aborted;
  }

  addEventListener(_event: 'abort', listener: () => void): void {
    assert(this.#onAbort === undefined, 'a client has one listener at a time');
    this.#onAbort = listener;
  }

  removeEventListener(_event: 'abort', listener: () => void): void {
    if (this.#onAbort === listener) this.#onAbort = undefined;
  }
}

/** Returns a signal that aborts when the connection ends before the answer is complete. */
export function clientSignal(outgoing: ServerResponse): CancelSignal {
  const client = new ClientPresence();
  client.watch(outgoing);
  return client;
}

/**
 * Calls `onLost` once if the connection ends before the system has taken over the whole answer.
 * Later losses cannot be seen from here: the lease then ends by itself.
 */
export function watchDelivery(outgoing: ServerResponse, onLost: () => void): void {
  const { socket } = outgoing;
  if (outgoing.closed || socket === null || socket.destroyed) {
    onLost();
    return;
  }
  let isDelivered = false;
  outgoing.once('finish', () => {
    // A connection that is torn down finishes its answers too, without having sent them.
    isDelivered = !socket.destroyed;
  });
  outgoing.once('close', () => {
    if (!isDelivered) onLost();
  });
}
