import { describe, expect, it } from 'vitest';
import { ACK_STATUS } from '../commands.ts';
import { ACK_ERROR } from '../outcomes.ts';
import type { AckOutcome } from '../outcomes.ts';
import { parseAck } from '../requests/ack.ts';
import type { AckEcho } from '../requests/ack.ts';
import { renderAck } from './ack.ts';

function echoOf(body: string): AckEcho {
  const context = { hashKey: new Uint32Array(4), tenant: 't' };
  const parsed = parseAck(new TextEncoder().encode(body), context);
  if (parsed.kind !== 'request') throw new Error(`not an ack: ${body}`);
  return parsed.echo;
}

function render(outcome: Partial<AckOutcome>, body: string): string {
  const count = outcome.errors?.length ?? 1;
  const whole: AckOutcome = {
    kind: 'ack',
    errors: new Uint8Array(count),
    leaseReleased: new Uint8Array(count),
    deadLettered: new Uint8Array(count),
    noops: new Uint8Array(count),
    statuses: Array.from({ length: count }, () => ACK_STATUS.COMPLETED),
    ...outcome,
  };
  return new TextDecoder().decode(renderAck(whole, echoOf(body)));
}

describe('renderAck', () => {
  it('has the keys of the reference, in their order', () => {
    expect(
      render({ leaseReleased: Uint8Array.of(1) }, '{"transactionId":"t-1","partitionId":"1"}'),
    ).toBe(
      '[{"index":0,"transactionId":"t-1","success":true,"error":null,' +
        '"leaseReleased":true,"dlq":false,"noop":false}]',
    );
  });

  it('renders flags and errors an item, and echoes ids as they were spelled', () => {
    const text = render(
      {
        errors: Uint8Array.of(
          ACK_ERROR.NONE,
          ACK_ERROR.UNKNOWN_PARTITION,
          ACK_ERROR.INVALID_LEASE,
          ACK_ERROR.UNRESOLVABLE,
          ACK_ERROR.UNKNOWN_STATUS,
        ),
        leaseReleased: Uint8Array.of(0, 1, 0, 0, 0),
        deadLettered: Uint8Array.of(1, 0, 0, 0, 0),
        noops: Uint8Array.of(1, 0, 0, 0, 0),
      },
      '{"acknowledgments":[{"transactionId":"\\u00e4\\n"},{},{"transactionId":7},{},{}]}',
    );
    expect(text).toContain('"transactionId":"\\u00e4\\n"');
    const answer = JSON.parse(text) as { error: string; success: boolean }[];
    expect(answer).toMatchObject([
      { index: 0, success: true, error: null, leaseReleased: false, dlq: true, noop: true },
      { index: 1, transactionId: '', success: false, leaseReleased: true, dlq: false },
      { index: 2, transactionId: '', success: false },
      { index: 3, success: false },
      { index: 4, success: false },
    ]);
    expect(answer[1]!.error).toMatch(/unknown partition/);
    expect(answer[2]!.error).toMatch(/invalid or expired lease/i);
    expect(answer[3]!.error).toMatch(/unresolvable.*already committed/);
    expect(answer[4]!.error).toMatch(/unknown status/);
  });
});
