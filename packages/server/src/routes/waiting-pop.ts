// One pop from its claim to its answer. It may wait long in between, so it keeps nothing of the
// request that brought it. What it has claimed goes back when nobody is there to receive it.

import { assert } from '@queen-ts/base';
import { renderPop } from '@queen-ts/protocol';
import type {
  EmptyReason,
  Outcome,
  PopOutcome,
  PopPath,
  PopRequest,
  RequestId,
} from '@queen-ts/protocol';
import type { ServerResponse } from 'node:http';
import { deadlineIn } from '../edge.ts';
import type { Edge } from '../edge.ts';
import { empty, jsonBytes } from '../http/answers.ts';
import { ClientPresence, watchDelivery } from '../http/delivery.ts';
import { errorAnswer, refusedAnswer } from '../http/error-answer.ts';
import type { LongWork } from '../http/long-waits.ts';
import { paced } from '../http/paced.ts';

/** Headers of a 204 by its reason (decisions D2). */
const REASON_HEADERS: Readonly<Record<EmptyReason, Readonly<Record<string, string>>>> = {
  empty: { 'Queen-Pop-Reason': 'empty' },
  paused: { 'Queen-Pop-Reason': 'paused' },
  delayed: { 'Queen-Pop-Reason': 'delayed' },
  window: { 'Queen-Pop-Reason': 'window' },
  leased: { 'Queen-Pop-Reason': 'leased' },
};

/** A pop that was handed to the broker. */
export class WaitingPop implements LongWork {
  readonly client = new ClientPresence();
  readonly due: Promise<void>;
  readonly #edge: Edge;
  readonly #path: PopPath;
  #outcome: Outcome | undefined;
  #error: unknown;

  /** Hands it over. */
  constructor(
    edge: Edge,
    path: PopPath,
    {
      command,
      wait,
      timeoutMs,
      requestId,
    }: PopRequest & { readonly requestId: RequestId | undefined },
  ) {
    this.#edge = edge;
    this.#path = path;
    const deadlineUs = deadlineIn(edge, timeoutMs);
    const options = { deadlineUs, wait, signal: this.client, requestId };
    this.due = edge.broker.pop(command, options).then(
      (outcome) => {
        this.#outcome = outcome;
      },
      (error: unknown) => {
        this.#error = error;
      },
    );
  }

  /**
   * Builds the answer, once it is due. Rejects with what the broker rejected with, or when it cannot
   * be rendered. `outgoing` is undefined when there is no socket behind the request.
   */
  async answer(outgoing: ServerResponse | undefined): Promise<Response> {
    const { counters } = this.#edge;
    const outcome = this.#outcome;
    if (outcome === undefined) throw this.#error;
    if (outcome.kind === 'refused') return refusedAnswer(outcome, counters);
    assert(outcome.kind === 'pop', () => `a pop came to ${outcome.kind}`);
    const body = await this.#render(outcome);
    if (outcome.claims.length === 0) counters.popEmpty += 1;
    if (body === undefined) return empty(204, REASON_HEADERS[outcome.emptyReason ?? 'empty']);
    counters.popMessages += outcome.messageCount;
    if (outgoing !== undefined && isLeased(outcome)) {
      watchDelivery(outgoing, () => this.#takeBack(outcome));
    }
    return jsonBytes(body);
  }

  refuse(error: Error): Response {
    return errorAnswer(this.#edge, error, { path: `pop of ${JSON.stringify(this.#path)}` });
  }

  discard(): void {
    const outcome = this.#outcome;
    if (outcome?.kind === 'pop' && isLeased(outcome)) this.#takeBack(outcome);
  }

  async #render(outcome: PopOutcome): Promise<Uint8Array | undefined> {
    const { broker, clock, encryption } = this.#edge;
    const queue = this.#path.kind === 'labels' ? '' : this.#path.queue;
    const source = { payloads: broker.payloadsOf(outcome), opener: encryption.opener, queue };
    try {
      return await paced(clock, renderPop(outcome, source));
    } catch (error) {
      if (isLeased(outcome)) broker.release(outcome.leaseId);
      throw error;
    }
  }

  #takeBack(outcome: PopOutcome): void {
    const { broker, counters } = this.#edge;
    counters.popUndelivered += 1;
    broker.release(outcome.leaseId);
  }
}

/** True when the outcome holds a lease that can be given back. */
function isLeased(outcome: PopOutcome): boolean {
  return outcome.claims.length > 0 && !outcome.autoAck;
}
