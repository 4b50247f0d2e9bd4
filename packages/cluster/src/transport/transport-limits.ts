// Bounds of one transport. Every queue, frame and wait of the peer protocol has its cap here.

/** Caps that are part of the format: both sides must agree on them. */
export const FORMAT_LIMITS = {
  /** Bytes of a frame after its header, once the peer is authenticated. */
  frameBodyBytesMax: 1024 * 1024,
  /** The same before: only a handshake is expected. */
  handshakeBodyBytesMax: 1024,
  /** Bytes of one message or request: the largest log record and room for what surrounds it. */
  messageBytesMax: 128 * 1024 * 1024,
  /** Entries of one append; a longer one is sent as several. */
  appendEntriesMax: 32_768,
} as const;

/** Caps that a node chooses for itself. */
export interface TransportLimits {
  /** Waiting for one peer on `control`, in bytes; beyond it the oldest message is dropped. */
  readonly controlQueueBytesMax: number;
  /** Waiting for one peer on `bulk`, in bytes; beyond it new messages are dropped. A lone larger one is let in. */
  readonly bulkQueueBytesMax: number;
  /** Handed to the operating system at once, per connection, in bytes. */
  readonly socketBufferBytesMax: number;
  /** Requests to one peer that wait for their answer. */
  readonly openRequestsMax: number;
  /** Requests of one peer that this node works on. */
  readonly incomingRequestsMax: number;
  /** The same in bytes; a lone larger one is let in. */
  readonly incomingRequestBytesMax: number;
  /** Peers, known ones and those that connect on their own. */
  readonly peersMax: number;
  /** Accepted connections whose handshake is not finished. */
  readonly handshakesMax: number;
  /** Time for connecting and the handshake. */
  readonly handshakeUs: number;
  /** How often a connection is probed and checked. */
  readonly pingUs: number;
  /** A control connection is dead after that many probes without a byte from the peer. */
  readonly controlSilentPingsMax: number;
  /** The same for a bulk connection, where progress in sending counts too. */
  readonly bulkSilentPingsMax: number;
  /** First and longest wait before dialing again; in between it doubles, and each is drawn from [x/2, x). */
  readonly redialUsMin: number;
  readonly redialUsMax: number;
  /** How late a request may learn that its deadline passed. */
  readonly deadlineResolutionUs: number;
  /** At most one event for each reason of a refused peer in this time. */
  readonly refusalEventUs: number;
}

/** What a node runs with unless it is told otherwise. */
export const TRANSPORT_LIMITS_DEFAULT: TransportLimits = {
  controlQueueBytesMax: 64 * 1024,
  bulkQueueBytesMax: 64 * 1024 * 1024,
  socketBufferBytesMax: 512 * 1024,
  openRequestsMax: 131_072,
  incomingRequestsMax: 131_072,
  incomingRequestBytesMax: 256 * 1024 * 1024,
  peersMax: 64,
  handshakesMax: 64,
  handshakeUs: 3_000_000,
  pingUs: 500_000,
  controlSilentPingsMax: 6,
  bulkSilentPingsMax: 30,
  redialUsMin: 50_000,
  redialUsMax: 1_000_000,
  deadlineResolutionUs: 20_000,
  refusalEventUs: 10_000_000,
};
