// The way of every request with a body: take its size from a budget, read it, handle it, give the
// size back once the answer is there.

import { readBody, declaredSize } from './body.ts';
import type { ByteBudget } from './byte-budget.ts';
import type { Exchange } from './exchange.ts';

/** What a body in chunks takes before its size is known. */
const CHUNKED_FIRST_BYTES = 64 * 1024;

/** Where a route's bodies are admitted. */
export interface BodyAdmission {
  readonly budget: ByteBudget;
  readonly bytesMax: number;
}

/**
 * Calls `handle` with the whole body, which it may keep until its answer is there.
 * Throws `body_too_large` and `overloaded` before anything was read where that is known.
 */
export async function withBody<T>(
  exchange: Exchange,
  { budget, bytesMax }: BodyAdmission,
  handle: (exchange: Exchange, body: Uint8Array) => Promise<T>,
): Promise<T> {
  const size = declaredSize(exchange, bytesMax);
  const taken = budget.take(size ?? CHUNKED_FIRST_BYTES);
  // Awaiting a grant that is there already would cost every push a turn of the microtask queue.
  const grant = taken instanceof Promise ? await taken : taken;
  try {
    return await handle(exchange, await readBody(exchange, { size, bytesMax, grant }));
  } finally {
    grant.release();
  }
}
