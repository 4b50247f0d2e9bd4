// Requests of one connection that this node works on: bounded, answered once, aborted when the asker
// is gone.

import { InvariantError } from '@queen-ts/base';
import type { Clock } from '@queen-ts/base';
import type { NodeId } from '@queen-ts/raft';
import type { RequestFrame, ResponseFrame, ResponseStatus } from './request-codec.ts';
import type { TransportLimits } from './transport-limits.ts';
import type { PeerRequest } from './transport.ts';

/** What one peer's requests occupy, over all its connections. */
export interface RequestLoad {
  count: number;
  bytes: number;
}

/** Parts of an {@link IncomingRequests}. */
export interface IncomingRequestsParts {
  readonly from: NodeId;
  readonly clock: Clock;
  readonly limits: TransportLimits;
  readonly load: RequestLoad;
  readonly handle: (request: PeerRequest) => Promise<Uint8Array>;
  readonly respond: (response: ResponseFrame) => void;
  readonly overloaded: () => void;
  /** The handler rejected. */
  readonly failed: (error: unknown) => void;
}

const NO_BYTES = new Uint8Array(0);

/** One per bulk connection that a peer dialed. */
export class IncomingRequests {
  readonly #parts: IncomingRequestsParts;
  readonly #running = new Map<number, AbortController>();
  #isOver = false;

  constructor(parts: IncomingRequestsParts) {
    this.#parts = parts;
  }

  /** Begins a request, or refuses it without beginning. */
  begin(frame: RequestFrame): void {
    const { load, limits, from, clock } = this.#parts;
    const { id, kind, bytes } = frame;
    const hasRoom =
      load.count < limits.incomingRequestsMax &&
      (load.count === 0 || load.bytes + bytes.length <= limits.incomingRequestBytesMax);
    if (!hasRoom || this.#running.has(id)) {
      this.#parts.overloaded();
      this.#parts.respond({ id, status: 'overloaded', bytes: NO_BYTES });
      return;
    }
    const controller = new AbortController();
    this.#running.set(id, controller);
    load.count += 1;
    load.bytes += bytes.length;
    const deadlineUs = clock.monotonicUs() + frame.timeoutUs;
    const request = { from, kind, bytes, deadlineUs, signal: controller.signal };
    const finish = (status: ResponseStatus, answer: Uint8Array): void => {
      load.count -= 1;
      load.bytes -= bytes.length;
      this.#finish({ id, status, bytes: answer });
    };
    this.#parts.handle(request).then(
      (answer) => finish('ok', answer),
      (error: unknown) => {
        // A bug is for the crash handler, not for the asker.
        if (error instanceof InvariantError) throw error;
        this.#parts.failed(error);
        finish('failed', NO_BYTES);
      },
    );
  }

  /** The asker waits no longer. */
  cancel(id: number): void {
    const controller = this.#running.get(id);
    // Answered already: the two crossed on the way.
    if (controller === undefined) return;
    this.#running.delete(id);
    controller.abort();
  }

  /** The connection is gone, and with it every asker. */
  abortAll(): void {
    this.#isOver = true;
    const controllers = [...this.#running.values()];
    this.#running.clear();
    for (const controller of controllers) controller.abort();
  }

  #finish(response: ResponseFrame): void {
    if (this.#isOver || !this.#running.delete(response.id)) return;
    this.#parts.respond(response);
  }
}
