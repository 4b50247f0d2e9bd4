// The broker as a whole, on in-memory stores and virtual time: what is answered, and when.

import type { Outcome } from '@queen-ts/protocol';
import { describe, expect, it, vi } from 'vitest';
import { BROKER_LIMITS_DEFAULT } from './limits.ts';
import { ManualTime } from './testing/manual-scheduler.ts';
import { expectKind, TestNode } from './testing/test-node.ts';

const ONE = [{ queue: 'orders', partition: 'c-1', id: 'a', data: { n: 1 } }];

/** Follows a promise without waiting: `open`, `answered` or the code of its error. */
function watch(answer: Promise<Outcome>): { readonly state: string } {
  const watched = { state: 'open' };
  answer.then(
    () => (watched.state = 'answered'),
    (error: { code?: string }) => (watched.state = error.code ?? 'error'),
  );
  return watched;
}

describe('answers', () => {
  it('pushes, delivers and settles a message', async () => {
    const node = await TestNode.start();
    const pushed = expectKind(await node.finish(node.push(ONE)), 'push');
    expect([...pushed.statuses, ...pushed.offsets]).toEqual([0, 0]);
    const popped = expectKind(await node.finish(node.pop({ queue: 'orders' })), 'pop');
    expect(popped.messageCount).toBe(1);
    const partition = popped.claims[0]!.partitionNumber;
    const acked = await node.finish(node.ack([{ partition, id: 'a', lease: popped.leaseId }]));
    expect([...expectKind(acked, 'ack').errors]).toEqual([0]);
    expect(expectKind(await node.finish(node.pop({ queue: 'orders' })), 'pop').claims).toEqual([]);
  });

  it('answers nothing before the entry is synced', async () => {
    const node = await TestNode.start();
    node.log.closeGate();
    const push = watch(node.push(ONE));
    await node.time.pass(500_000);
    expect(push.state).toBe('open');
    node.log.openGate();
    await node.time.settle();
    expect(push.state).toBe('answered');
  });

  it('puts every request that waits for a sync into the next entry', async () => {
    const node = await TestNode.start();
    const before = node.log.appends.length;
    node.log.closeGate();
    const pushes = [watch(node.push(ONE))];
    await node.time.settle();
    for (let i = 0; i < 50; i += 1) {
      pushes.push(watch(node.push([{ queue: 'orders', partition: `c-${i}` }])));
    }
    await node.time.settle();
    expect(node.log.appends.length).toBe(before + 1);
    node.log.openGate();
    await node.time.settle();
    expect(node.log.appends.length).toBe(before + 2);
    expect(pushes.every((push) => push.state === 'answered')).toBe(true);
  });

  it('holds an empty answer back while it rests on an entry in flight', async () => {
    const node = await TestNode.start();
    await node.finish(node.push(ONE));
    node.log.closeGate();
    const claim = watch(node.pop({ queue: 'orders' }));
    await node.time.settle();
    const empty = watch(node.pop({ queue: 'orders' }));
    await node.time.settle();
    expect([claim.state, empty.state]).toEqual(['open', 'open']);
    node.log.openGate();
    await node.time.settle();
    expect([claim.state, empty.state]).toEqual(['answered', 'answered']);
  });
});

describe('commands that look at much', () => {
  it('have a cycle each, so that other events come in between', async () => {
    const node = await TestNode.start({ limits: { laneCostBytesMax: 1 } });
    const names = ['a', 'b', 'c'];
    await node.finish(
      node.push(names.map((id) => ({ queue: 'orders', partition: id, id, data: 1 }))),
    );
    const pop = { queue: 'orders', partitions: 3 };
    const { claims, leaseId: lease } = expectKind(await node.finish(node.pop(pop)), 'pop');
    node.log.closeGate();
    watch(node.push(ONE));
    await node.time.settle();
    const before = node.log.appends.length;
    const acks = claims.map(({ partition: id, partitionNumber: partition }) =>
      watch(node.ack([{ partition, id, lease }])),
    );
    // Without an effect nothing is waited for, yet the next cycle leaves room for other events.
    const unknown = claims.map(({ partitionNumber: partition }) =>
      watch(node.ack([{ partition, id: 'unknown', lease }])),
    );
    node.log.openGate();
    await node.time.settle();
    expect(node.log.appends.length).toBe(before + acks.length);
    expect([...acks, ...unknown].map(({ state }) => state)).toEqual(Array(6).fill('answered'));
  });
});

describe('a start', () => {
  it('ends only when the node can serve, also on a log with history', async () => {
    const node = await TestNode.start();
    await node.finish(node.push(ONE));
    const time = new ManualTime();
    const remains = node.crash();
    remains.log.closeGate();
    let hasStarted = false;
    const starting = TestNode.start({ ...remains, time }).then(() => (hasStarted = true));
    await time.pass(500_000);
    expect(hasStarted).toBe(false);
    remains.log.openGate();
    await time.settle();
    await starting;
    expect(hasStarted).toBe(true);
  });
});

describe('long polls', () => {
  it('wakes the oldest parked pop by a push, in the entry of the push', async () => {
    const node = await TestNode.start();
    const first = node.pop({ queue: 'orders' }, { waitUs: 5_000_000 });
    const second = watch(node.pop({ queue: 'orders' }, { waitUs: 5_000_000 }));
    await node.time.settle();
    expect(node.broker.status().parkedPops).toBe(2);
    const before = node.log.appends.length;
    await node.finish(node.push(ONE));
    expect(expectKind(await first, 'pop').messageCount).toBe(1);
    expect(node.log.appends.length).toBe(before + 1);
    expect(second.state).toBe('open');
    expect(node.broker.status().parkedPops).toBe(1);
  });

  it('tells a waiting pop that nothing came although the answer takes the time of a commit', async () => {
    const node = await TestNode.start();
    const parked = node.pop({ queue: 'orders' }, { waitUs: 1_000_000 });
    const answer = watch(parked);
    await node.time.pass(900_000);
    node.log.closeGate();
    const push = watch(node.push([{ queue: 'other' }]));
    // The deadline passes, and several ticks, while the entry that the answer rests on is not synced.
    await node.time.pass(400_000);
    expect([answer.state, push.state]).toEqual(['open', 'open']);
    node.log.openGate();
    expect(expectKind(await node.finish(parked), 'pop').claims).toEqual([]);
  });

  it('does not hold a waiting pop for long behind a commit that does not come', async () => {
    const node = await TestNode.start();
    const answer = watch(node.pop({ queue: 'orders' }, { waitUs: 1_000_000 }));
    await node.time.pass(900_000);
    node.log.closeGate();
    const push = watch(node.push([{ queue: 'other' }]));
    await node.time.pass(700_000);
    expect([answer.state, push.state]).toEqual(['timeout', 'open']);
  });

  it('wakes a parked pop when the lease that held the partition ends', async () => {
    const node = await TestNode.start();
    await node.finish(node.push(ONE));
    await node.finish(node.pop({ queue: 'orders', leaseSeconds: 2 }));
    const waiting = node.pop({ queue: 'orders' }, { waitUs: 10_000_000 });
    const watched = watch(waiting);
    await node.time.pass(1_900_000);
    expect(watched.state).toBe('open');
    await node.time.pass(200_000);
    expect(watched.state).toBe('answered');
    const claim = expectKind(await waiting, 'pop').claims[0];
    expect(claim?.deliveryAttempt).toBe(2);
  });

  it('does not spin while a lease has run out and a slow sync keeps it from planning', async () => {
    const node = await TestNode.start();
    await node.finish(node.push(ONE));
    await node.finish(node.pop({ queue: 'orders', leaseSeconds: 1 }));
    watch(node.pop({ queue: 'orders' }, { waitUs: 10_000_000 }));
    await node.time.settle();
    node.log.closeGate();
    watch(node.push([{ queue: 'orders', partition: 'c-2' }]));
    await node.time.pass(900_000);
    const after = vi.spyOn(node.time, 'after');
    await node.time.pass(2_000_000);
    // Twenty ticks, and what a tick sets anew.
    expect(after.mock.calls.length).toBeLessThan(100);
    node.log.openGate();
    await node.time.settle();
  });

  it('answers empty at the deadline and not much later', async () => {
    const node = await TestNode.start();
    const waiting = node.pop({ queue: 'orders' }, { waitUs: 1_000_000 });
    const watched = watch(waiting);
    await node.time.pass(999_000);
    expect(watched.state).toBe('open');
    await node.time.pass(21_000);
    expect(watched.state).toBe('answered');
    expect(expectKind(await waiting, 'pop').emptyReason).toBe('empty');
  });

  it('forgets a pop whose client left, and the next one gets the message as a first delivery', async () => {
    const node = await TestNode.start();
    const client = new AbortController();
    const gone = watch(node.pop({ queue: 'orders' }, { waitUs: 5_000_000, signal: client.signal }));
    await node.time.settle();
    client.abort();
    await node.time.pass(BROKER_LIMITS_DEFAULT.deadlineResolutionUs);
    expect(node.broker.status().parkedPops).toBe(0);
    await node.finish(node.push(ONE));
    expect(gone.state).toBe('timeout');
    const popped = expectKind(await node.finish(node.pop({ queue: 'orders' })), 'pop');
    expect(popped.claims[0]?.deliveryAttempt).toBe(1);
  });

  it('gives a claim back whose client left while the entry was in flight', async () => {
    const node = await TestNode.start();
    await node.finish(node.push(ONE));
    node.log.closeGate();
    const client = new AbortController();
    const gone = watch(node.pop({ queue: 'orders' }, { signal: client.signal }));
    await node.time.settle();
    client.abort();
    node.log.openGate();
    await node.time.settle();
    expect(gone.state).toBe('timeout');
    const popped = expectKind(await node.finish(node.pop({ queue: 'orders' })), 'pop');
    expect(popped.claims[0]?.deliveryAttempt).toBe(1);
  });
});

describe('maintenance', () => {
  it('keeps waiting pops parked while pops are paused, and wakes them when it ends', async () => {
    const node = await TestNode.start();
    const pause = (paused: boolean): Promise<Outcome> =>
      node.finish(node.submit({ kind: 'maintenance', requests: 'pop', paused }));
    const parked = node.pop({ queue: 'orders', partition: 'c-1' }, { waitUs: 60_000_000 });
    const answer = watch(parked);
    await pause(true);
    await node.finish(node.push(ONE));
    const late = watch(node.pop({ queue: 'orders' }, { waitUs: 60_000_000 }));
    await node.time.pass(1_000_000);
    expect([answer.state, late.state]).toEqual(['open', 'open']);
    const now = expectKind(await node.finish(node.pop({ queue: 'orders' })), 'pop');
    expect(now.emptyReason).toBe('paused');
    await pause(false);
    expect(expectKind(await node.finish(parked), 'pop').messageCount).toBe(1);
    expect(late.state).toBe('open');
  });
});

describe('a pop of one partition', () => {
  it('wakes when the delay that held its messages back is switched off', async () => {
    const node = await TestNode.start();
    const configure = (delayedProcessing: number): Promise<Outcome> =>
      node.finish(
        node.submit({
          kind: 'configure',
          queue: 'orders',
          mode: 'merge',
          options: { delayedProcessing },
          queueId: [1, 2, 3, 4],
        }),
      );
    await configure(3600);
    await node.finish(node.push(ONE));
    const pop = node.pop({ queue: 'orders', partition: 'c-1' }, { waitUs: 60_000_000 });
    await node.time.pass(1_000_000);
    await configure(0);
    expect(expectKind(await node.finish(pop), 'pop').messageCount).toBe(1);
  });
});

describe('a waiting pop that takes what is new', () => {
  it('gets what arrives while it waits for a partition that is not there yet', async () => {
    const node = await TestNode.start();
    const fields = { queue: 'orders', partition: 'c-1', group: 'g' } as const;
    const pop = node.pop({ ...fields, subscription: { mode: 'new' } }, { waitUs: 60_000_000 });
    await node.time.pass(1_000_000);
    await node.finish(node.push(ONE));
    expect(expectKind(await node.finish(pop), 'pop').messageCount).toBe(1);
  });
});

describe('minPopWaitTime', () => {
  async function nodeWithWait(): Promise<TestNode> {
    const node = await TestNode.start();
    const options = { minPopWaitTime: 300 };
    const configure = { kind: 'configure', queue: 'orders', mode: 'merge', options } as const;
    await node.finish(node.submit({ ...configure, queueId: [1, 2, 3, 4] }));
    await node.finish(node.pop({ queue: 'orders' }));
    return node;
  }

  it('holds an under-full batch back until its time is over', async () => {
    const node = await nodeWithWait();
    const pop = node.pop({ queue: 'orders', batch: 3 }, { waitUs: 5_000_000 });
    const answer = watch(pop);
    await node.finish(node.push(ONE));
    await node.time.pass(290_000);
    expect(answer.state).toBe('open');
    await node.time.pass(20_000);
    expect(answer.state).toBe('answered');
    expect(expectKind(await pop, 'pop').messageCount).toBe(1);
  });

  it('ends as soon as the batch is full', async () => {
    const node = await nodeWithWait();
    await node.finish(node.push([{ queue: 'orders', partition: 'c-1' }]));
    const pop = node.pop({ queue: 'orders', batch: 3 }, { waitUs: 5_000_000 });
    const answer = watch(pop);
    await node.time.pass(100_000);
    await node.finish(node.push([{ queue: 'orders', partition: 'c-1' }]));
    expect(answer.state).toBe('open');
    await node.finish(node.push([{ queue: 'orders', partition: 'c-1' }]));
    expect(expectKind(await pop, 'pop').messageCount).toBe(3);
  });

  it('never outlives the pop, and delays neither an empty queue nor a pop that does not wait', async () => {
    const node = await nodeWithWait();
    const empty = watch(node.pop({ queue: 'orders', batch: 3 }, { waitUs: 150_000 }));
    await node.time.pass(200_000);
    expect(empty.state).toBe('answered');
    await node.finish(node.push(ONE));
    const hurried = node.pop({ queue: 'orders', batch: 3 }, { waitUs: 250_000 });
    await node.time.pass(160_000);
    expect(expectKind(await hurried, 'pop').messageCount).toBe(1);
    await node.finish(node.push([{ queue: 'orders', partition: 'c-2' }]));
    const now = await node.finish(node.pop({ queue: 'orders', batch: 3 }));
    expect(expectKind(now, 'pop').messageCount).toBe(1);
  });

  it('lets a client leave while it waits', async () => {
    const node = await nodeWithWait();
    await node.finish(node.push(ONE));
    const client = new AbortController();
    const options = { waitUs: 5_000_000, signal: client.signal };
    const gone = watch(node.pop({ queue: 'orders', batch: 3 }, options));
    await node.time.pass(100_000);
    client.abort();
    await node.time.pass(400_000);
    expect(gone.state).toBe('timeout');
    expect(node.broker.status().parkedPops).toBe(0);
    const popped = expectKind(await node.finish(node.pop({ queue: 'orders' })), 'pop');
    expect(popped.messageCount).toBe(1);
  });
});

describe('a request id', () => {
  it('makes a repeat get the first outcome, while it is in flight and later', async () => {
    const node = await TestNode.start();
    const requestId = { words: [1, 2, 3, 4], isClientKey: false } as const;
    const push = (): Promise<Outcome> => node.push([{ queue: 'orders' }], 30_000_000, requestId);
    node.log.closeGate();
    const first = push();
    await node.time.settle();
    const second = push();
    await node.time.settle();
    node.log.openGate();
    const [one, two] = await Promise.all([node.finish(first), node.finish(second)]);
    expect([...expectKind(one, 'push').statuses, ...expectKind(two, 'push').statuses]).toEqual([
      0, 0,
    ]);
    const third = expectKind(await node.finish(push()), 'push');
    expect(third.offsets[0]).toBe(0);
    const popped = expectKind(await node.finish(node.pop({ queue: 'orders' })), 'pop');
    expect(popped.messageCount).toBe(1);
  });

  it('is remembered over a restart', async () => {
    const node = await TestNode.start();
    const requestId = { words: [1, 2, 3, 4], isClientKey: true } as const;
    await node.finish(node.push([{ queue: 'orders' }], 30_000_000, requestId));
    const restarted = await node.restart();
    await restarted.finish(restarted.push([{ queue: 'orders' }], 30_000_000, requestId));
    const popped = expectKind(await restarted.finish(restarted.pop({ queue: 'orders' })), 'pop');
    expect(popped.messageCount).toBe(1);
  });
});

describe('limits and failures', () => {
  it('refuses what does not fit its lane and goes on with the rest', async () => {
    const node = await TestNode.start({ limits: { queuedCommandsMax: 2 } });
    const pushes = [1, 2, 3].map(() => watch(node.push(ONE)));
    await node.time.settle();
    expect(pushes.map((push) => push.state)).toEqual(['answered', 'answered', 'overloaded']);
  });

  it('refuses pops beyond the parking lot', async () => {
    const node = await TestNode.start({ limits: { parkedPopsMax: 1 } });
    const pops = [1, 2].map(() => watch(node.pop({ queue: 'q' }, { waitUs: 1_000_000 })));
    await node.time.settle();
    expect(pops.map((pop) => pop.state)).toEqual(['open', 'overloaded']);
  });

  it('says that the outcome is unknown when the sync outlasts the deadline', async () => {
    const node = await TestNode.start();
    node.log.closeGate();
    const push = watch(node.push(ONE, 1_000_000));
    await node.time.pass(1_200_000);
    expect(push.state).toBe('timeout');
    node.log.openGate();
    await node.time.settle();
    // It was stored after all: the same id is a duplicate now.
    const again = expectKind(await node.finish(node.push(ONE)), 'push');
    expect([...again.statuses]).toEqual([1]);
  });

  it('acknowledges nothing after a failed write and reports it once', async () => {
    const node = await TestNode.start();
    node.log.closeGate();
    const inFlight = watch(node.push(ONE));
    await node.time.settle();
    const queued = watch(node.push(ONE));
    node.log.failWrites();
    node.log.openGate();
    await node.time.settle();
    const later = watch(node.push(ONE));
    await node.time.settle();
    expect([inFlight.state, queued.state, later.state]).toEqual([
      'timeout',
      'no_leader',
      'no_leader',
    ]);
    expect(node.failures).toHaveLength(1);
    expect(node.broker.status().failure).toBeDefined();
  });

  it('finds everything acknowledged again after a crash, and nothing twice', async () => {
    const node = await TestNode.start();
    for (let i = 0; i < 20; i += 1) {
      await node.finish(node.push([{ queue: 'orders', partition: 'c-1', id: `t-${i}` }]));
    }
    const restarted = await node.restart();
    const again = await restarted.finish(
      restarted.push([
        { queue: 'orders', partition: 'c-1', id: 't-7' },
        { queue: 'orders', partition: 'c-1', id: 't-20' },
      ]),
    );
    const { statuses, offsets } = expectKind(again, 'push');
    expect([...statuses]).toEqual([1, 0]);
    expect([...offsets]).toEqual([7, 20]);
  });

  it('answers what is queued and parked before it stops, and refuses what comes after', async () => {
    const node = await TestNode.start();
    const push = watch(node.push(ONE));
    const parked = watch(node.pop({ queue: 'other' }, { waitUs: 60_000_000 }));
    await node.time.settle();
    const stopping = node.broker.stop();
    await node.time.settle();
    await stopping;
    const late = watch(node.push(ONE));
    await node.time.settle();
    expect([push.state, parked.state, late.state]).toEqual([
      'answered',
      'answered',
      'shutting_down',
    ]);
    expect(node.hardState.current.commitIndex).toBeGreaterThan(1);
  });
});
