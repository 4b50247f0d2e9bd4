import { describe, expect, test } from 'vitest';
import { IDEMPOTENCY_KEY_BYTES_MAX } from './limits.ts';
import { clientRequestId } from './request-id.ts';

const CONTEXT = { hashKey: Uint32Array.of(1, 2, 3, 4), tenant: 't', request: 'POST /push' };

describe('the request id of a client’s key', () => {
  test('is the same for the same key, request and tenant, and another otherwise', () => {
    const ids = [
      clientRequestId('order-1', CONTEXT),
      clientRequestId('order-2', CONTEXT),
      clientRequestId('order-1', { ...CONTEXT, tenant: 'u' }),
      clientRequestId('order-1', { ...CONTEXT, request: 'POST /ack' }),
      clientRequestId('order-1', { ...CONTEXT, hashKey: Uint32Array.of(1, 2, 3, 5) }),
    ].map((id) => JSON.stringify(id));
    expect(new Set(ids).size).toBe(5);
    expect(clientRequestId('order-1', CONTEXT)).toMatchObject({ isClientKey: true });
    expect(JSON.stringify(clientRequestId('order-1', CONTEXT))).toBe(ids[0]);
  });

  test('is refused for a key that is empty, too long or no text', () => {
    for (const key of ['', 'x'.repeat(IDEMPOTENCY_KEY_BYTES_MAX + 1), '\ud800']) {
      expect(clientRequestId(key, CONTEXT)).toMatchObject({ kind: 'refused', code: 'bad_request' });
    }
    const longest = 'x'.repeat(IDEMPOTENCY_KEY_BYTES_MAX);
    expect(clientRequestId(longest, CONTEXT)).toMatchObject({ isClientKey: true });
  });
});
