// Answers of the routes that answer little: extend, configure, delete, errors.

import { describe, expect, it } from 'vitest';
import { CONFIGURED_QUEUE_DEFAULTS } from '../queue-options.ts';
import { renderConfigure } from './configure.ts';
import { renderDeleteQueue } from './delete-queue.ts';
import { renderError } from './error.ts';
import { renderExtend } from './lease.ts';

function textOf(body: Uint8Array): string {
  return new TextDecoder().decode(body);
}

describe('renderExtend', () => {
  it('shows the earliest expiry under its three names', () => {
    const expiresAtUs = Date.UTC(2026, 0, 2, 3, 4, 5, 678) * 1000 + 999;
    expect(textOf(renderExtend({ kind: 'extend', renewed: 2, expiresAtUs }, 'L"1'))).toBe(
      '{"leaseId":"L\\"1","success":true,"renewed":2,' +
        '"newExpiresAt":"2026-01-02T03:04:05.678Z","expiresAt":"2026-01-02T03:04:05.678Z",' +
        '"lease_expires_at":"2026-01-02T03:04:05.678Z"}',
    );
  });

  it('shows null and no success when nothing was extended', () => {
    expect(textOf(renderExtend({ kind: 'extend', renewed: 0, expiresAtUs: 0 }, 'x'))).toBe(
      '{"leaseId":"x","success":false,"renewed":0,"newExpiresAt":null,"expiresAt":null,' +
        '"lease_expires_at":null}',
    );
  });
});

describe('renderConfigure', () => {
  it('echoes every option but the labels, and the older name of maxSize', () => {
    const options = { ...CONFIGURED_QUEUE_DEFAULTS, namespace: 'n', maxSize: 9 };
    const text = textOf(
      renderConfigure({ kind: 'configure', queue: 'q"1', queueId: [1, 2, 3, 4], options }),
    );
    expect(text).toMatch(
      /^{"configured":true,"queueId":"00000001-0000-0002-0000-000300000004","partitionId":null,"queue":"q\\"1","namespace":"n","task":"","storage":"segments","options":{"leaseTime":300,/,
    );
    const answer = JSON.parse(text) as { options: Record<string, unknown> };
    const { namespace: _namespace, task: _task, ...shown } = options;
    expect(answer.options).toEqual({ ...shown, maxQueueSize: 9 });
  });
});

describe('renderDeleteQueue', () => {
  it('says whether there was a queue', () => {
    expect(textOf(renderDeleteQueue({ kind: 'deleteQueue', queue: 'q', existed: true }))).toBe(
      '{"deleted":true,"existed":true,"queue":"q"}',
    );
    expect(textOf(renderDeleteQueue({ kind: 'deleteQueue', queue: 'q', existed: false }))).toBe(
      '{"deleted":false,"existed":false,"queue":"q",' +
        '"message":"Queue not found, nothing was deleted"}',
    );
  });
});

describe('renderError', () => {
  it('has error and code first, details after them', () => {
    expect(textOf(renderError({ code: 'bad_body', message: 'say "x"' }))).toBe(
      '{"error":"say \\"x\\"","code":"bad_body"}',
    );
    expect(
      textOf(renderError({ code: 'retry', message: 'm', details: { leader: 'http://n1' } })),
    ).toBe('{"error":"m","code":"retry","leader":"http://n1"}');
  });
});
