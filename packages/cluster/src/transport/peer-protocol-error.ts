// What ends a connection whose bytes cannot be trusted.

/**
 * A peer sent bytes that the protocol does not allow. Nothing of the frame was used; the connection
 * is closed, and what else was in flight on it is lost.
 */
export class PeerProtocolError extends Error {
  override readonly name = 'PeerProtocolError';
}
