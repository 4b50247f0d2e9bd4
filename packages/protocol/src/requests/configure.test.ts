import { describe, expect, it } from 'vitest';
import { DEFAULT_TENANT } from '../limits.ts';
import { CONFIGURED_QUEUE_DEFAULTS, QUEUE_OPTION_NAMES } from '../queue-options.ts';
import { showQueueOptions } from '../answers/configure.ts';
import { parseConfigure } from './configure.ts';

function parse(body: unknown): ReturnType<typeof parseConfigure> {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return parseConfigure(new TextEncoder().encode(text), {
    mintIds: () => [1, 2, 3, 4],
    tenant: DEFAULT_TENANT,
  });
}

function options(body: object): unknown {
  const parsed = parse({ queue: 'q', ...body });
  if (parsed.kind !== 'configure') throw new Error(`refused: ${parsed.message}`);
  return parsed.options;
}

describe('parseConfigure', () => {
  it('reads a patch and mints an id for a queue that may be new', () => {
    expect(parse({ queue: 'q', options: { leaseTime: 30, retentionEnabled: true } })).toEqual({
      kind: 'configure',
      queue: 'q',
      mode: 'merge',
      options: { leaseTime: 30, retentionEnabled: true },
      queueId: [1, 2, 3, 4],
    });
    expect(parse({ queue: 'q', mode: 'replace' })).toMatchObject({ queue: 'q', mode: 'replace' });
    expect(parse({ queue: 'q', mode: null })).toMatchObject({ mode: 'merge', options: {} });
  });

  it('keeps null apart from absent, and ignores what it does not know', () => {
    expect(options({ options: { ttl: null, colour: 'red', maxQueueSize: 4 } })).toEqual({
      ttl: null,
    });
    expect(options({ options: JSON.parse('{"__proto__":{"ttl":1}}') as object })).toEqual({});
  });

  it('reads options from the top level only when there is no options member', () => {
    expect(options({ leaseTime: 5, options: { ttl: 1 } })).toEqual({ ttl: 1 });
    expect(options({ leaseTime: 5 })).toEqual({ leaseTime: 5 });
    expect(options({ leaseTime: 5, options: null })).toEqual({ leaseTime: 5 });
  });

  it('prefers labels inside options; outside they count as non-empty strings only', () => {
    expect(options({ namespace: 'n', task: 't', options: { task: 'inner' } })).toEqual({
      namespace: 'n',
      task: 'inner',
    });
    expect(options({ namespace: null, task: '' })).toEqual({});
    expect(options({ namespace: 'n', options: { namespace: null, task: 7 } })).toEqual({
      namespace: '',
      task: '',
    });
  });

  it('refuses an empty queue name and labels that are longer than a name may be', () => {
    expect(parse({ queue: '' })).toMatchObject({ kind: 'refused', code: 'bad_request' });
    const long = 'é'.repeat(206);
    expect(parse({ queue: 'q', task: long })).toMatchObject({ code: 'name_too_long' });
    expect(parse({ queue: 'q', task: long.slice(1) })).toMatchObject({ kind: 'configure' });
  });

  it('bounds what the reference bounds', () => {
    const sent = {
      leaseTime: 0,
      retryLimit: -1,
      dedupWindowSeconds: -3,
      delayedProcessing: -0,
      minPopWaitTime: 99_999,
      priority: -7,
      retentionSinkHoldMaxSeconds: 60,
      retentionSinkHold: 'a.B_9-',
    };
    expect(options({ options: sent })).toEqual({
      leaseTime: 1,
      retryLimit: 0,
      dedupWindowSeconds: 0,
      delayedProcessing: 0,
      minPopWaitTime: 60_000,
      priority: -7,
      retentionSinkHoldMaxSeconds: 60,
      retentionSinkHold: 'a.B_9-',
    });
  });

  it('reads back what an answer shows as no change', () => {
    const { namespace: _namespace, task: _task, ...rest } = CONFIGURED_QUEUE_DEFAULTS;
    expect(options({ options: showQueueOptions(CONFIGURED_QUEUE_DEFAULTS) })).toEqual(rest);
  });

  it('accepts null for every option', () => {
    for (const name of QUEUE_OPTION_NAMES) {
      const isLabel = name === 'namespace' || name === 'task';
      expect(options({ options: { [name]: null } })).toEqual({ [name]: isLabel ? '' : null });
    }
  });

  it.each([
    ['', 'bad_body', /must be a JSON object/],
    ['[]', 'bad_body', /must be a JSON object/],
    ['{"queue"', 'bad_body', /must be a JSON object/],
    ['{}', 'bad_request', /"queue" must be a non-empty string/],
    ['{"queue":null}', 'bad_request', /"queue" must be a non-empty string/],
    ['{"queue":"\\ud800"}', 'bad_request', /"queue" must be a non-empty string/],
    [`{"queue":"${'q'.repeat(412)}"}`, 'name_too_long', /^queue is too long/],
    ['{"queue":"q","mode":"patch"}', 'bad_request', /"mode" must be "merge" or "replace"/],
    ['{"queue":"q","options":[]}', 'bad_request', /"options" must be an object/],
    ['{"queue":"q","options":{"leaseTime":"5"}}', 'bad_request', /^leaseTime must be an integer/],
    ['{"queue":"q","options":{"leaseTime":1.5}}', 'bad_request', /^leaseTime must be an integer/],
    ['{"queue":"q","ttl":2147483648}', 'bad_request', /^ttl must be an integer/],
    ['{"queue":"q","ttl":true}', 'bad_request', /^ttl must be an integer/],
    ['{"queue":"q","deadLetterQueue":1}', 'bad_request', /^deadLetterQueue must be true or false/],
    ['{"queue":"q","retentionSinkHold":"a b"}', 'bad_request', /^retentionSinkHold must be/],
    ['{"queue":"q","retentionSinkHold":7}', 'bad_request', /^retentionSinkHold must be/],
    ['{"queue":"q","retentionSinkHoldMaxSeconds":59}', 'bad_request', /from 60 to 31536000/],
  ])('refuses %j', (body, code, message) => {
    const parsed = parse(body);
    expect(parsed).toMatchObject({ kind: 'refused', code });
    expect((parsed as { message: string }).message).toMatch(message);
  });
});
