// What the control routes do alike: read the state, submit commands, take bodies.

import type { EngineView, Read } from '@queen-ts/engine';
import { BrokerError, QueryReader } from '@queen-ts/protocol';
import type { AdminCommand, OutcomeOf, Refused } from '@queen-ts/protocol';
import { deadlineIn } from '../edge.ts';
import type { Edge } from '../edge.ts';
import type { Exchange } from './exchange.ts';
import { parseQuery } from './query.ts';
import { requestOptions } from './request-options.ts';
import type { Write } from './request-options.ts';
import { rawQuery } from './target.ts';
import { withBody } from './with-body.ts';

/** Reads the state of this node, or, `fresh`, with every write that was answered before. */
export function readState<T>(
  edge: Edge,
  read: (view: EngineView) => Read<T>,
  from: 'node' | 'leader' = 'node',
): Promise<T> {
  const deadlineUs = deadlineIn(edge, edge.config.statementTimeoutMs);
  return edge.broker.read(read, { deadlineUs, from });
}

/** Which outcome each command comes to. */
interface AdminOutcomes {
  readonly seek: OutcomeOf<'seek'>;
  readonly deleteGroup: OutcomeOf<'deleteGroup'>;
  readonly subscribe: OutcomeOf<'subscribe'>;
  readonly replayDeadLetter: OutcomeOf<'replayDeadLetter'>;
  readonly purgeDeadLetters: OutcomeOf<'deletedDeadLetters'>;
  readonly deleteDeadLetters: OutcomeOf<'deletedDeadLetters'>;
  readonly maintenance: OutcomeOf<'maintenance'>;
}

/**
 * Submits a command of the control plane. Throws its refusal as a BrokerError.
 * @param write the request that it comes from; `part` tells its commands apart if it has several.
 */
export async function submitAdmin<K extends keyof AdminOutcomes>(
  edge: Edge,
  write: Write & { readonly part?: string },
  command: AdminCommand & { readonly kind: K },
): Promise<AdminOutcomes[K]> {
  const timeoutMs = edge.config.statementTimeoutMs;
  const outcome = await edge.broker.submit(command, requestOptions(edge, { ...write, timeoutMs }));
  if (outcome.kind === 'refused') throw refusal(outcome);
  // The planner answers each command with its own outcome.
  return outcome as AdminOutcomes[K];
}

/** Wraps the handler of a small body. */
export function bodyHandler(
  edge: Edge,
  handle: (exchange: Exchange, body: Uint8Array) => Promise<Response>,
): (exchange: Exchange) => Promise<Response> {
  const admission = { budget: edge.controlBudget, bytesMax: edge.config.bodyBytesMax };
  return (exchange) => withBody(exchange, admission, handle);
}

/** Reads a body and gives its room back at once: for requests that may wait long afterwards. */
export function takeBody<T>(
  edge: Edge,
  exchange: Exchange,
  read: (body: Uint8Array) => T,
): Promise<T> {
  const admission = { budget: edge.controlBudget, bytesMax: edge.config.bodyBytesMax };
  return withBody(exchange, admission, async (_exchange, body) => read(body));
}

/** The query parameters of a request. */
export function queryOf(exchange: Exchange): QueryReader {
  const parameters = parseQuery(rawQuery(exchange));
  return new QueryReader((name) => parameters.get(name));
}

function refusal({ code, message }: Refused): BrokerError {
  return new BrokerError(code, message);
}
