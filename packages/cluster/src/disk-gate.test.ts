import { BrokerError } from '@queen-ts/protocol';
import type { RequestId } from '@queen-ts/protocol';
import { describe, expect, it } from 'vitest';
import { DiskGate } from './disk-gate.ts';
import { expectKind, TestNode } from './testing/test-node.ts';

const MARKS = { high: 0.85, low: 0.8 };

describe('a disk gate', () => {
  it('closes at the high mark and opens below the low one', () => {
    const gate = new DiskGate(MARKS);
    expect([gate.isClosed, gate.worstVoterDisk]).toEqual([false, undefined]);
    const closedAt = [0.5, 0.8, 0.849, 0.85, 0.82, 0.8, 0.799, 0.82, 1].map((used) => {
      gate.report({ nodeId: 1, used });
      return gate.isClosed;
    });
    expect(closedAt).toEqual([false, false, false, true, true, true, false, false, true]);
  });

  it('goes by the fullest disk', () => {
    const gate = new DiskGate(MARKS);
    gate.report({ nodeId: 1, used: 0.1 });
    gate.report({ nodeId: 2, used: 0.9 });
    gate.report({ nodeId: 3, used: 0.2 });
    expect([gate.isClosed, gate.worstVoterDisk]).toEqual([true, { nodeId: 2, used: 0.9 }]);
    gate.report({ nodeId: 1, used: 0 });
    expect(gate.isClosed).toBe(true);
    gate.report({ nodeId: 2, used: 0.5 });
    expect(gate.isClosed).toBe(false);
  });

  it('forgets who is no voter any more', () => {
    const gate = new DiskGate(MARKS);
    gate.report({ nodeId: 1, used: 0.1 });
    gate.report({ nodeId: 2, used: 0.9 });
    gate.retain([1, 3]);
    expect([gate.isClosed, gate.worstVoterDisk]).toEqual([false, { nodeId: 1, used: 0.1 }]);
  });
});

describe('a broker whose gate is closed', () => {
  it('refuses what stores payloads and goes on with everything else', async () => {
    const diskGate = new DiskGate(MARKS);
    const node = await TestNode.start({ diskGate });
    await node.finish(node.push([{ queue: 'q', id: 'before' }]));
    diskGate.report({ nodeId: 1, used: 0.9 });

    const refused = await node.push([{ queue: 'q', id: 'late' }]).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(BrokerError);
    expect(refused).toMatchObject({ code: 'storage_full' });
    const popped = expectKind(await node.finish(node.pop({ queue: 'q' })), 'pop');
    expect(popped.messageCount).toBe(1);
    const deleted = node.finish(node.submit({ kind: 'deleteQueue', queue: 'q' }));
    expect(expectKind(await deleted, 'deleteQueue').existed).toBe(true);

    const requestId: RequestId = { words: [1, 2, 3, 4], isClientKey: true };
    diskGate.report({ nodeId: 1, used: 0.7 });
    const first = await node.finish(node.push([{ queue: 'q', id: 'kept' }], 1_000_000, requestId));
    diskGate.report({ nodeId: 1, used: 0.9 });
    // Its answer may have been lost: that it is refused now would say that it was not done.
    const again = await node.finish(node.push([{ queue: 'q', id: 'kept' }], 1_000_000, requestId));
    expect(again).toEqual(first);

    diskGate.report({ nodeId: 1, used: 0.7 });
    await node.finish(node.push([{ queue: 'q', id: 'later' }]));
  });
});
