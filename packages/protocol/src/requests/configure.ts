// `POST /api/v1/configure` (data-plane reference §6): a patch of queue options. Rare, so JSON.parse
// does the reading.

import { decodeUtf8, utf8Size } from '@queen-ts/base';
import type { ConfigureCommand, Id128 } from '../commands.ts';
import { LABEL_BYTES_MAX } from '../limits.ts';
import { nameBudgetError } from '../names.ts';
import type { Refused } from '../outcomes.ts';
import { QUEUE_OPTION_NAMES } from '../queue-options.ts';
import type { QueueOptionName, QueueOptionsPatch } from '../queue-options.ts';
import { readOption } from './queue-option.ts';
import { refuse } from './refusal.ts';

const FORM = 'send {"queue":"…","options":{…}}';

/** What parsing depends on besides the body. */
export interface ConfigureContext {
  /** Mints an id with `count` fresh ids from it on in the low word. */
  readonly mintIds: (count: number) => Id128;
  readonly tenant: string;
}

type Members = Readonly<Record<string, unknown>>;

/**
 * Reads a configuration. The options lie in `options`, or, when that is absent or null, at the top
 * level. Values are checked here, and those that the reference bounds are stored as bounded.
 */
export function parseConfigure(
  body: Uint8Array,
  context: ConfigureContext,
): ConfigureCommand | Refused {
  const request = readObject(body);
  if (request === undefined) {
    return refuse('bad_body', `the body must be a JSON object: ${FORM}`);
  }
  const queue = member(request, 'queue');
  if (typeof queue !== 'string' || queue === '' || !queue.isWellFormed()) {
    return refuse('bad_request', `"queue" must be a non-empty string: ${FORM}`);
  }
  const tooLong = nameBudgetError({
    tenant: utf8Size(context.tenant),
    queue: utf8Size(queue),
    partition: 0,
    group: 0,
  });
  if (tooLong !== undefined) return refuse('name_too_long', tooLong);
  const mode = member(request, 'mode') ?? 'merge';
  if (mode !== 'merge' && mode !== 'replace') {
    return refuse('bad_request', '"mode" must be "merge" or "replace"');
  }
  const options = readOptions(request);
  if (!options.ok) return options.refusal;
  const longLabel = tooLongLabel(options.patch);
  if (longLabel !== undefined) {
    const message = `"${longLabel}" may have ${LABEL_BYTES_MAX} bytes of UTF-8`;
    return refuse('name_too_long', message);
  }
  return {
    kind: 'configure',
    queue,
    mode,
    options: options.patch,
    queueId: context.mintIds(1),
  };
}

type OptionsResult =
  | { readonly ok: true; readonly patch: QueueOptionsPatch }
  | { readonly ok: false; readonly refusal: Refused };

function readOptions(request: Members): OptionsResult {
  const nested = member(request, 'options') ?? undefined;
  if (nested !== undefined && !isObject(nested)) {
    return { ok: false, refusal: refuse('bad_request', '"options" must be an object') };
  }
  const patch: Partial<Record<QueueOptionName, unknown>> = {};
  for (const name of QUEUE_OPTION_NAMES) {
    const raw = rawOption(request, nested, name);
    if (raw === undefined) continue;
    const option = readOption(name, raw);
    if (!option.ok) return { ok: false, refusal: refuse('bad_request', option.message) };
    patch[name] = option.value;
  }
  // readOption has given each name a value of its own type.
  return { ok: true, patch: patch as QueueOptionsPatch };
}

function tooLongLabel(patch: QueueOptionsPatch): 'namespace' | 'task' | undefined {
  const labels = ['namespace', 'task'] as const;
  return labels.find((label) => utf8Size(patch[label] ?? '') > LABEL_BYTES_MAX);
}

/** The value sent for an option. Labels at the top level count only as non-empty strings. */
function rawOption(request: Members, nested: Members | undefined, name: QueueOptionName): unknown {
  const inner = nested === undefined ? undefined : member(nested, name);
  if (inner !== undefined) return inner;
  const outer = member(request, name);
  if (name !== 'namespace' && name !== 'task') return nested === undefined ? outer : undefined;
  return typeof outer === 'string' && outer !== '' ? outer : undefined;
}

function readObject(body: Uint8Array): Members | undefined {
  const text = decodeUtf8(body, 0, body.length);
  if (text === undefined) return undefined;
  try {
    const parsed: unknown = JSON.parse(text);
    return isObject(parsed) ? parsed : undefined;
  } catch {
    // Malformed JSON is refused like any other body that is no object.
    return undefined;
  }
}

function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** An own member, so that names of Object.prototype mean nothing. */
function member(object: Members, name: string): unknown {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}
