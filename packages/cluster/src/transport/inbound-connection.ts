// A connection that a peer dialed, after its handshake: takes what the peer says, and sends back only
// answers and pongs.

import type { Clock } from '@queen-ts/base';
import type { Message, NodeId } from '@queen-ts/raft';
import { FRAME_KIND } from './frame.ts';
import type { OutgoingMessage } from './frame-writer.ts';
import type { FramedSocket } from './framed-socket.ts';
import type { PeerIdentity } from './handshake-codec.ts';
import { IncomingRequests } from './incoming-requests.ts';
import type { RequestLoad } from './incoming-requests.ts';
import { IncomingStream } from './incoming-stream.ts';
import { encodeResponse } from './request-codec.ts';
import type { ResponseFrame } from './request-codec.ts';
import { SendQueue } from './send-queue.ts';
import { FORMAT_LIMITS } from './transport-limits.ts';
import type { TransportLimits } from './transport-limits.ts';
import type { ConnectionClass, TransportHandler } from './transport.ts';

const PONG: OutgoingMessage = {
  kind: FRAME_KIND.pong,
  head: new Uint8Array(0),
  parts: [],
  dataSize: 0,
};

/** Parts of an {@link InboundConnection}. */
export interface InboundConnectionParts {
  readonly socket: FramedSocket;
  readonly connectionClass: ConnectionClass;
  readonly self: NodeId;
  readonly peer: PeerIdentity;
  readonly clock: Clock;
  readonly limits: TransportLimits;
  readonly load: RequestLoad;
  readonly handler: Pick<TransportHandler, 'receive' | 'request'>;
  readonly overloaded: () => void;
  readonly failed: (error: unknown) => void;
}

/** One per connection. */
export class InboundConnection {
  readonly #parts: InboundConnectionParts;
  readonly #queue: SendQueue;
  readonly #requests: IncomingRequests | undefined;

  constructor(parts: InboundConnectionParts) {
    this.#parts = parts;
    const { socket, self, peer, connectionClass, handler, limits } = parts;
    const isBulk = connectionClass === 'bulk';
    this.#queue = new SendQueue(isBulk ? limits.bulkQueueBytesMax : limits.controlQueueBytesMax);
    if (isBulk) this.#requests = this.#takeRequests();
    const requests = this.#requests;
    const stream = new IncomingStream({
      connectionClass,
      parties: { from: peer.nodeId, to: self, incarnation: peer.incarnation },
      handlers: {
        message: (message: Message) => handler.receive(message),
        ping: () => this.#send(PONG),
        ...(requests === undefined
          ? {}
          : {
              request: (request) => requests.begin(request),
              cancel: (id) => requests.cancel(id),
            }),
      },
    });
    socket.upgrade(stream, FORMAT_LIMITS.frameBodyBytesMax);
    socket.attach(this.#queue);
  }

  get peer(): PeerIdentity {
    return this.#parts.peer;
  }

  /** One probe interval passed; true if the dialer has been silent for too long. */
  tick(): boolean {
    const { socket, connectionClass, limits } = this.#parts;
    const silentMax =
      connectionClass === 'control' ? limits.controlSilentPingsMax : limits.bulkSilentPingsMax;
    return socket.tick() > silentMax;
  }

  /** Closes the connection. */
  end(reason: string): void {
    this.#parts.socket.end(reason);
  }

  /** To be called when the socket is over: ends what the peer had asked for. */
  ended(): void {
    this.#requests?.abortAll();
  }

  #takeRequests(): IncomingRequests {
    const { peer, clock, limits, load, handler, overloaded, failed } = this.#parts;
    return new IncomingRequests({
      from: peer.nodeId,
      clock,
      limits,
      load,
      handle: (request) => handler.request(request),
      respond: (response) => this.#respond(response),
      overloaded,
      failed,
    });
  }

  #respond(response: ResponseFrame): void {
    const isTooLarge = response.bytes.length > FORMAT_LIMITS.messageBytesMax;
    const sent: ResponseFrame = isTooLarge
      ? { id: response.id, status: 'failed', bytes: new Uint8Array(0) }
      : response;
    this.#send(encodeResponse(sent));
  }

  #send(message: OutgoingMessage): void {
    const { socket } = this.#parts;
    // An answer must not be dropped in silence; closing tells the peer that it will not come.
    if (this.#queue.offer(message)) socket.pump();
    else socket.end('the peer does not read its answers');
  }
}
