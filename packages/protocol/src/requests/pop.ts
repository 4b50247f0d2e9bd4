// The three pop routes (data-plane reference §2): path and query to a command. Query values are read
// strictly; what is out of range but readable is bounded as the reference and decisions D1 say.

import { parseTimestampUs, utf8Size } from '@queen-ts/base';
import type { Id128, PopCommand, PopScope, Subscription } from '../commands.ts';
import {
  CONFLATED_PARTITIONS_MAX,
  POP_BATCH_DEFAULT,
  POP_TIMEOUT_MS_MAX,
  QUEUE_MODE_GROUP,
} from '../limits.ts';
import { nameBudgetError } from '../names.ts';
import type { Refused } from '../outcomes.ts';
import { QueryError, QueryReader } from './query.ts';
import { refuse } from './refusal.ts';

const NEW_MODES: ReadonlySet<string> = new Set(['new', 'new-only', 'new_only', 'newonly']);
const NO_LEASE: Id128 = [0, 0, 0, 0];

/** What the path says. Labels come from the query. */
export type PopPath =
  | { readonly kind: 'queue'; readonly queue: string }
  | { readonly kind: 'partition'; readonly queue: string; readonly partition: string }
  | { readonly kind: 'labels' };

/** What parsing depends on besides the request. */
export interface PopContext {
  /** Mints an id with `count` fresh ids from it on in the low word. */
  readonly mintIds: (count: number) => Id128;
  readonly tenant: string;
  /** `timeout` of a pop that sends none, in milliseconds (`DEFAULT_TIMEOUT`). */
  readonly defaultTimeoutMs: number;
  /** `subscriptionMode` of a pop that sends none (`DEFAULT_SUBSCRIPTION_MODE`). */
  readonly defaultSubscriptionMode: 'all' | 'new';
  /** Id of this node's key, empty without one; absent where nothing is encrypted. */
  readonly keyId?: Uint8Array;
}

/** A parsed pop. */
export interface PopRequest {
  readonly kind: 'request';
  readonly command: PopCommand;
  /** Whether an empty pop parks until something becomes claimable. */
  readonly wait: boolean;
  /** How long it may park, and the request's deadline, in milliseconds; in [1, 600000]. */
  readonly timeoutMs: number;
}

/** A query parameter that cannot be read: 400 with this text as `text/plain`. */
export interface BadQuery {
  readonly kind: 'badQuery';
  readonly message: string;
}

/** Parameters that contradict each other: 400 with the body of `renderPopRefusal`. */
export interface PopRefused {
  readonly kind: 'popRefused';
  readonly message: string;
}

/**
 * Reads a pop.
 * @param get returns the decoded value of a query parameter, or undefined when it is absent.
 */
export function parsePop(
  path: PopPath,
  get: (name: string) => string | undefined,
  context: PopContext,
): PopRequest | BadQuery | PopRefused | Refused {
  try {
    return readPop(path, new QueryReader(get), context);
  } catch (error) {
    if (error instanceof QueryError) return { kind: 'badQuery', message: error.message };
    throw error;
  }
}

function readPop(
  path: PopPath,
  query: QueryReader,
  context: PopContext,
): PopRequest | PopRefused | Refused {
  const namespace = query.text('namespace') ?? '';
  const task = query.text('task') ?? '';
  const group = query.text('consumerGroup') ?? QUEUE_MODE_GROUP;
  const autoAck = query.boolean('commitOnDelivery') === true || query.boolean('autoAck') === true;
  const conflation = query.boolean('conflation');
  const batch = Math.max(1, query.int32('batch') ?? POP_BATCH_DEFAULT);
  const partitions = query.int32('partitions');
  const leaseSeconds = Math.max(0, query.int32('leaseSeconds') ?? 0);
  const timeoutMs = query.unsigned('timeout') ?? context.defaultTimeoutMs;
  const wait = query.boolean('wait') === true;
  // Sizing of its own choice is optional for a broker (reference §2.7); the defaults apply.
  query.boolean('autopilot');
  if (path.kind === 'labels' && namespace === '' && task === '') {
    return { kind: 'popRefused', message: 'namespace or task is required' };
  }
  const conflict = conflation === true ? conflationError(group, autoAck) : undefined;
  if (conflict !== undefined) return { kind: 'popRefused', message: conflict };
  const scope: PopScope = path.kind === 'labels' ? { kind: 'labels', namespace, task } : path;
  const tooLong = nameBudgetError(sizesOf(scope, group, context.tenant));
  if (tooLong !== undefined) return refuse('name_too_long', tooLong);
  const command: PopCommand = {
    kind: 'pop',
    scope,
    group,
    leaseId: autoAck ? NO_LEASE : context.mintIds(1),
    batch,
    partitions: partitionCap({ scope, partitions, conflation, batch }),
    autoAck,
    leaseSeconds,
    subscription: readSubscription(group, query, context.defaultSubscriptionMode),
    conflation,
    ...(autoAck && context.keyId !== undefined && { keyId: context.keyId }),
  };
  const boundedMs = Math.min(Math.max(1, timeoutMs), POP_TIMEOUT_MS_MAX);
  return { kind: 'request', command, wait, timeoutMs: boundedMs };
}

function conflationError(group: string, autoAck: boolean): string | undefined {
  if (group === QUEUE_MODE_GROUP) {
    return 'conflation needs a consumerGroup: queue mode cannot conflate';
  }
  if (!autoAck) return undefined;
  return 'conflation cannot be combined with autoAck or commitOnDelivery';
}

/** A pinned pop claims its one partition, whatever it asks for. */
function partitionCap(asked: {
  readonly scope: PopScope;
  readonly partitions: number | undefined;
  readonly conflation: boolean | undefined;
  readonly batch: number;
}): number {
  if (asked.scope.kind === 'partition') return 1;
  if (asked.partitions !== undefined) return Math.max(0, asked.partitions);
  return asked.conflation === true ? Math.min(asked.batch, CONFLATED_PARTITIONS_MAX) : 1;
}

/** `subscriptionFrom` wins over the mode; queue mode never skips anything. */
function readSubscription(
  group: string,
  query: QueryReader,
  defaultMode: 'all' | 'new',
): Subscription {
  const mode = query.text('subscriptionMode')?.trim().toLowerCase() ?? defaultMode;
  const from = query.text('subscriptionFrom')?.trim() ?? '';
  if (group === QUEUE_MODE_GROUP) return { mode: 'all' };
  if (from.toLowerCase() === 'now') return { mode: 'new' };
  const fromUs = parseTimestampUs(from);
  if (fromUs !== undefined) return { mode: 'from', fromUs };
  return NEW_MODES.has(mode) ? { mode: 'new' } : { mode: 'all' };
}

function sizesOf(
  scope: PopScope,
  group: string,
  tenant: string,
): Parameters<typeof nameBudgetError>[0] {
  return {
    tenant: utf8Size(tenant),
    queue: scope.kind === 'labels' ? 0 : utf8Size(scope.queue),
    partition: scope.kind === 'partition' ? utf8Size(scope.partition) : 0,
    group: utf8Size(group),
  };
}
