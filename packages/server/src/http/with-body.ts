// The way of every request with a body: read it, taking room from a budget as it arrives, handle it,
// and give the room back once the answer is there.

import { readBody, declaredSize } from './body.ts';
import type { ByteBudget, Grant } from './byte-budget.ts';
import type { Exchange } from './exchange.ts';

/** Where a route's bodies are admitted. */
export interface BodyAdmission {
  readonly budget: ByteBudget;
  readonly bytesMax: number;
}

/**
 * Calls `handle` with the whole body, which it may keep until its answer is there, and with the room
 * that was taken for it.
 * Throws `body_too_large`, before anything was read where the size is declared, and `overloaded`.
 */
export async function withBody<T>(
  exchange: Exchange,
  { budget, bytesMax }: BodyAdmission,
  handle: (exchange: Exchange, body: Uint8Array, grant: Grant) => Promise<T>,
): Promise<T> {
  const size = declaredSize(exchange, bytesMax);
  const grant = budget.open();
  try {
    return await handle(exchange, await readBody(exchange, { size, bytesMax, grant }), grant);
  } finally {
    grant.release();
  }
}
