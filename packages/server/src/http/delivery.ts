// Whether the client is still there: while its pop waits, and when the answer goes out. A batch that
// nobody received must go back at once (decisions D2).

import type { ServerResponse } from 'node:http';

/** Returns a signal that aborts when the connection ends before the answer is complete. */
export function clientSignal(outgoing: ServerResponse): AbortSignal {
  const controller = new AbortController();
  const abort = (): void => {
    if (!outgoing.writableEnded) controller.abort();
  };
  if (outgoing.closed) abort();
  else outgoing.once('close', abort);
  return controller.signal;
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
