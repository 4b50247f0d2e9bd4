// The connection of one class that this node dials to one peer, and what waits to be sent on it. It
// dials again for as long as it is open, and tells its owner when it was lost.

import type { Clock, Rng } from '@queen-ts/base';
import type { NodeId } from '@queen-ts/raft';
import { connect } from 'node:net';
import type { Scheduler } from '../scheduler.ts';
import { parseAddress } from './addresses.ts';
import { Backoff } from './backoff.ts';
import { FRAME_KIND } from './frame.ts';
import type { FrameKind } from './frame.ts';
import type { OutgoingMessage } from './frame-writer.ts';
import { FramedSocket } from './framed-socket.ts';
import { DialerHandshake } from './handshake.ts';
import type { HandshakeParts, HandshakeStep } from './handshake.ts';
import { HandshakeSink } from './handshake-sink.ts';
import { IncomingStream } from './incoming-stream.ts';
import type { ResponseFrame } from './request-codec.ts';
import { describeRefusal } from './refusal.ts';
import type { RefusalReason } from './refusal.ts';
import { SendQueue } from './send-queue.ts';
import { FORMAT_LIMITS } from './transport-limits.ts';
import type { TransportLimits } from './transport-limits.ts';
import type { ConnectionClass, LinkState } from './transport.ts';

const PING: OutgoingMessage = {
  kind: FRAME_KIND.ping,
  head: new Uint8Array(0),
  parts: [],
  dataSize: 0,
};

const SILENT = 'the peer is silent';

/** What a link is built from. */
export interface OutboundLinkParts {
  readonly handshake: HandshakeParts;
  readonly clock: Clock;
  readonly scheduler: Scheduler;
  readonly rng: Rng;
  readonly limits: TransportLimits;
}

/** Whom a link is for. */
export interface OutboundLinkTarget {
  readonly to: NodeId;
  readonly connectionClass: ConnectionClass;
  /** Whether it is only dialed back; asked at every attempt. */
  readonly isAnswering: () => boolean;
}

/** What a link tells its owner. */
export interface OutboundLinkEvents {
  readonly opened: () => void;
  /** The connection that was open is gone; what was queued is forgotten. */
  readonly lost: (why: { readonly wasSilent: boolean }) => void;
  /** A handshake was refused, by either side. */
  readonly refused: (reason: RefusalReason) => void;
  /** A reason, new since the last connection, why there is none. One line. */
  readonly problem: (text: string) => void;
  readonly response: (response: ResponseFrame) => void;
}

/** One per peer and class. */
export class OutboundLink {
  readonly #target: OutboundLinkTarget;
  readonly #class: ConnectionClass;
  readonly #parts: OutboundLinkParts;
  readonly #events: OutboundLinkEvents;
  readonly #queue: SendQueue;
  readonly #backoff: Backoff;
  #address = '';
  #state: LinkState['state'] | 'closed' = 'waiting';
  #socket: FramedSocket | undefined;
  #cancelTimer: () => void = () => {};
  #problem = '';
  #connects = 0;
  #dropped = 0;
  /** Bytes of connections that are over. */
  #sentBytes = 0;
  #receivedBytes = 0;
  /** When the unanswered ping was sent. */
  #pingedAtUs: number | undefined;
  #roundTripUs: number | undefined;

  constructor(target: OutboundLinkTarget, parts: OutboundLinkParts, events: OutboundLinkEvents) {
    this.#target = target;
    this.#class = target.connectionClass;
    this.#parts = parts;
    this.#events = events;
    const { limits, rng } = parts;
    const isControl = target.connectionClass === 'control';
    this.#queue = new SendQueue(isControl ? limits.controlQueueBytesMax : limits.bulkQueueBytesMax);
    this.#backoff = new Backoff({ rng, minUs: limits.redialUsMin, maxUs: limits.redialUsMax });
  }

  get isOpen(): boolean {
    return this.#state === 'open';
  }

  get roundTripUs(): number | undefined {
    return this.#roundTripUs;
  }

  status(): LinkState {
    return {
      state: this.#state === 'closed' ? 'waiting' : this.#state,
      connectsTotal: this.#connects,
      queuedBytes: this.#queue.bytes,
      sentBytesTotal: this.#sentBytes + (this.#socket?.sentBytes ?? 0),
      receivedBytesTotal: this.#receivedBytes + (this.#socket?.receivedBytes ?? 0),
      droppedTotal: this.#dropped,
      problem: this.#problem,
    };
  }

  /** Dials this address from now on; a connection to another one is dropped. */
  dial(address: string): void {
    if (address === this.#address || this.#state === 'closed') return;
    this.#address = address;
    this.#socket?.end('the address changed');
    this.hurry();
  }

  /** Waits no longer: something says that the peer is there. */
  hurry(): void {
    if (this.#state !== 'waiting') return;
    this.#cancelTimer();
    this.#connect();
  }

  /** Drops the connection, if there is one, and dials again at once. */
  reconnect(reason: string): void {
    if (this.#socket === undefined) return;
    this.#socket.end(reason);
    this.hurry();
  }

  /** Queues a message and makes room for it; also while not connected, for a short outage. */
  push(message: OutgoingMessage): void {
    this.#dropped += this.#queue.push(message);
    this.#socket?.pump();
  }

  /**
   * Queues a message if there is a connection and room.
   * @param begin as in {@link SendQueue.offer}.
   */
  offer(message: OutgoingMessage, begin?: () => boolean): 'queued' | 'unreachable' | 'overloaded' {
    const isQueued = this.isOpen && this.#queue.offer(message, begin);
    if (!isQueued) {
      this.#dropped += 1;
      return this.isOpen ? 'overloaded' : 'unreachable';
    }
    this.#socket?.pump();
    return 'queued';
  }

  /** Probes the connection; called once a probe interval. */
  tick(): void {
    if (this.#state !== 'open' || this.#socket === undefined) return;
    const { controlSilentPingsMax, bulkSilentPingsMax } = this.#parts.limits;
    const silentMax = this.#class === 'control' ? controlSilentPingsMax : bulkSilentPingsMax;
    if (this.#socket.tick() > silentMax) return this.#socket.end(SILENT);
    // With anything queued, progress of the sending shows whether the peer lives.
    if (this.#pingedAtUs !== undefined || this.#queue.bytes > 0) return;
    this.#pingedAtUs = this.#parts.clock.monotonicUs();
    this.#queue.offer(PING);
    this.#socket.pump();
  }

  /** Closes for good. */
  close(): void {
    if (this.#state === 'closed') return;
    this.#cancelTimer();
    const socket = this.#socket;
    const wasOpen = this.#state === 'open';
    this.#state = 'closed';
    this.#socket = undefined;
    socket?.end('closed');
    this.#queue.clear();
    if (wasOpen) this.#events.lost({ wasSilent: false });
  }

  #connect(): void {
    const target = parseAddress(this.#address);
    if (target === undefined) {
      this.#complain(
        this.#address === '' ? 'its address is not known' : 'its address is not valid',
      );
      return;
    }
    this.#state = 'connecting';
    const { handshake, limits, scheduler } = this.#parts;
    const dialer = new DialerHandshake(handshake, {
      ...this.#target,
      isAnswering: this.#target.isAnswering(),
    });
    const socket: FramedSocket = new FramedSocket(connect(target), {
      sink: new HandshakeSink((kind, body) => this.#stepHandshake(socket, dialer, kind, body)),
      bodyBytesMax: FORMAT_LIMITS.handshakeBodyBytesMax,
      bufferBytesMax: limits.socketBufferBytesMax,
      onEnd: ({ reason }) => this.#ended(socket, reason),
    });
    this.#socket = socket;
    this.#cancelTimer = scheduler.after(limits.handshakeUs, () => socket.end('no answer in time'));
    // Node keeps what is written before the connection is there.
    socket.write(dialer.begin());
  }

  #stepHandshake(
    socket: FramedSocket,
    dialer: DialerHandshake,
    kind: FrameKind,
    body: Uint8Array,
  ): void {
    const step: HandshakeStep = dialer.step(kind, body);
    if (step.kind === 'refused') {
      this.#events.refused(step.reason);
      return socket.end(describeRefusal(step.reason));
    }
    if (step.kind === 'send') return socket.write(step.frame);
    this.#cancelTimer();
    const { nodeId, incarnation } = step.peer;
    const { self } = this.#parts.handshake;
    const pong = (): void => this.#takePong();
    const stream = new IncomingStream({
      connectionClass: this.#class,
      parties: { from: nodeId, to: self.nodeId, incarnation },
      handlers: this.#class === 'control' ? { pong } : { pong, response: this.#events.response },
    });
    this.#state = 'open';
    this.#connects += 1;
    this.#problem = '';
    this.#pingedAtUs = undefined;
    this.#backoff.reset();
    socket.upgrade(stream, FORMAT_LIMITS.frameBodyBytesMax);
    this.#events.opened();
    socket.attach(this.#queue);
  }

  #takePong(): void {
    if (this.#pingedAtUs === undefined) return;
    this.#roundTripUs = this.#parts.clock.monotonicUs() - this.#pingedAtUs;
    this.#pingedAtUs = undefined;
  }

  #ended(socket: FramedSocket, reason: string): void {
    this.#sentBytes += socket.sentBytes;
    this.#receivedBytes += socket.receivedBytes;
    if (this.#state === 'closed') return;
    this.#cancelTimer();
    const wasOpen = this.#state === 'open';
    this.#state = 'waiting';
    this.#socket = undefined;
    // What the peer has not got by now is old news when it is back.
    this.#dropped += this.#queue.clear();
    const delayUs = this.#backoff.nextDelayUs();
    this.#cancelTimer = this.#parts.scheduler.after(delayUs, () => this.#connect());
    this.#complain(reason);
    if (wasOpen) this.#events.lost({ wasSilent: reason === SILENT });
  }

  #complain(problem: string): void {
    if (problem === this.#problem) return;
    this.#problem = problem;
    this.#events.problem(problem);
  }
}
