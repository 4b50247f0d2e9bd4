import { hash128, encodeUtf8 } from '@queen-ts/base';
import { PUSH_STATUS } from '@queen-ts/protocol';
import type { Command, Id128, Outcome, OutcomeOf, RequestId } from '@queen-ts/protocol';
import { describe, expect, test } from 'vitest';
import { EngineRestorer } from '../checkpoint/restorer.ts';
import type { Engine } from '../engine.ts';
import { ackCommand, EngineDriver, popCommand, pushCommand } from '../testing.ts';
import type { PopFields, PushItem } from '../testing.ts';

const HOUR_S = 3600;

/** A driver whose queue has dedup off, so that nothing but the request id protects it. */
function newDriver(): EngineDriver {
  const driver = new EngineDriver();
  driver.configure('q', { dedupWindowSeconds: 0 });
  return driver;
}

function minted(driver: EngineDriver): RequestId {
  return { words: driver.mintId(), isClientKey: false };
}

function clientKey(text: string): RequestId {
  const words = new Uint32Array(4);
  const bytes = encodeUtf8(text);
  hash128(Uint32Array.of(1, 2, 3, 4), bytes, 0, bytes.length, words, 0);
  return { words: [...words] as unknown as Id128, isClientKey: true };
}

function plan(driver: EngineDriver, command: Command, request: RequestId): Outcome {
  return driver.cycle(() => driver.engine.plan(command, request));
}

function push(driver: EngineDriver, items: readonly PushItem[]): Command {
  return pushCommand(items, { idBase: driver.mintId(items.length), hashKey: driver.hashKey });
}

function pop(driver: EngineDriver, fields: PopFields): Command {
  return popCommand(fields, driver.mintId());
}

/** Plans a command twice and expects the same outcome and no second effect, here and on the replica. */
function expectRepeat<K extends Outcome['kind']>(
  driver: EngineDriver,
  command: Command,
  kind: K,
): OutcomeOf<K> {
  const request = minted(driver);
  const first = plan(driver, command, request);
  const entries = driver.entries.length;
  expect(first.kind).toBe(kind);
  expect(plan(driver, command, request)).toEqual(first);
  expect(driver.entries.length).toBe(entries);
  expect(onReplica(driver, command, request)).toEqual(first);
  return first as OutcomeOf<K>;
}

/** What the replica answers if it leads from now on; the command must have no effect there. */
function onReplica(driver: EngineDriver, command: Command, request: RequestId): Outcome {
  return leadOnce(driver.replica, driver.nowUs + 500, command, request);
}

function leadOnce(engine: Engine, nowUs: number, command: Command, request: RequestId): Outcome {
  engine.openCycle({ index: engine.state.closedIndex + 1, nowUs, payloadSizeHint: 0 });
  const outcome = engine.plan(command, request);
  expect(engine.closeCycle()).toBeUndefined();
  return outcome;
}

describe('a repeated request', () => {
  test('of a pop that acked at once gives no message that was removed since', () => {
    const driver = newDriver();
    driver.configure('q', { retentionEnabled: true, completedRetentionSeconds: 10 });
    driver.push([{ queue: 'q' }, { queue: 'q' }]);
    driver.wait(5);
    driver.push({ queue: 'q', data: 'newer' });
    const command = pop(driver, { queue: 'q', autoAck: true });
    const request = minted(driver);
    const first = plan(driver, command, request) as OutcomeOf<'pop'>;
    driver.wait(6);
    driver.cycle(() => driver.engine.planRetention(100));
    const again = plan(driver, command, request) as OutcomeOf<'pop'>;
    expect([first.messageCount, again.messageCount]).toEqual([3, 1]);
    expect(again.claims[0]?.spans).toEqual(first.claims[0]?.spans.slice(1));
    driver.wait(20);
    driver.cycle(() => driver.engine.planRetention(100));
    expect(plan(driver, command, request)).toMatchObject({ messageCount: 0, claims: [] });
  });

  test('of a push stores nothing again, whatever became of its items', () => {
    const driver = newDriver();
    const whole = push(driver, [
      { queue: 'q', id: 'a' },
      { queue: 'q', partition: 'p' },
      { queue: 'q', id: 'a' },
      { queue: 'q' },
    ]);
    const { statuses } = expectRepeat(driver, whole, 'push');
    const { QUEUED, DUPLICATE } = PUSH_STATUS;
    expect([...statuses]).toEqual([QUEUED, QUEUED, DUPLICATE, QUEUED]);
    driver.push({ queue: 'r', id: 'known' });
    const mixed = push(driver, [
      { queue: 'r', id: 'known' },
      { queue: 'r', id: 'new' },
      { queue: 'r', id: 'known' },
      { queue: 'r' },
    ]);
    expectRepeat(driver, mixed, 'push');
    expect(driver.engine.counters().blocks).toBe(4);
  });

  test('of a push tells again which items were refused', () => {
    const driver = new EngineDriver({ entryBytesMax: 400 });
    const command = push(driver, [
      { queue: 'q', partition: 'small' },
      { queue: 'q', partition: 'large', id: 'x', data: 'x'.repeat(500) },
      { queue: 'q', partition: 'large', id: 'x' },
    ]);
    const { errors } = expectRepeat(driver, command, 'push');
    expect([...errors!.keys()]).toEqual([1, 2]);
  });

  test('of an ack succeeds again where the lease is gone', () => {
    const driver = newDriver();
    driver.push([
      { queue: 'q', id: 'a' },
      { queue: 'q', id: 'b' },
    ]);
    const popped = driver.pop({ queue: 'q' });
    const { partitionNumber: partition, lease } = popped.messages[0]!;
    const command = ackCommand(
      [
        { partition, id: 'a', lease },
        { partition, id: 'b', lease, status: 'failed' },
        { partition, id: 'z', lease },
      ],
      { hashKey: driver.hashKey },
    );
    const { errors, leaseReleased } = expectRepeat(driver, command, 'ack');
    expect([errors[0], errors[1], leaseReleased[1]]).toEqual([0, 0, 1]);
  });

  test('of a pop under a lease gets the same messages while the lease lives', () => {
    const driver = newDriver();
    driver.push(['a', 'b', 'c'].flatMap((partition) => Array(3).fill({ queue: 'q', partition })));
    const command = pop(driver, { queue: 'q', partitions: 2, batch: 5 });
    const first = expectRepeat(driver, command, 'pop');
    expect(first.messageCount).toBe(5);
    driver.release(first.leaseId);
    const again = plan(driver, command, minted(driver)) as OutcomeOf<'pop'>;
    expect(again.messageCount).toBe(5);
    expect(again.claims[0]?.deliveryAttempt).toBe(1);
  });

  test('of a conflating pop gets the newest message of its lease', () => {
    const driver = newDriver();
    driver.push([{ queue: 'q' }, { queue: 'q' }]);
    const command = pop(driver, { queue: 'q', group: 'g', conflation: true });
    expect(expectRepeat(driver, command, 'pop')).toMatchObject({
      messageCount: 1,
      conflation: true,
    });
  });

  test('of a pop that commits on delivery gets the messages that nobody else can get', () => {
    const driver = newDriver();
    driver.push([{ queue: 'q' }, { queue: 'q', partition: 'p' }]);
    const command = pop(driver, { queue: 'q', partitions: 0, autoAck: true });
    expect(expectRepeat(driver, command, 'pop').messageCount).toBe(2);
  });

  test('of a transaction commits once', () => {
    const driver = newDriver();
    driver.push({ queue: 'q', id: 'a' });
    const popped = driver.pop({ queue: 'q', group: 'g' });
    const { partitionNumber: partition, lease } = popped.messages[0]!;
    const { hashKey } = driver;
    const acks = [ackCommand([{ partition, id: 'a', lease }], { group: 'g', hashKey })];
    const pushed = pushCommand([{ queue: 'q' }], { idBase: driver.mintId(), hashKey });
    const transactionId = driver.mintId();
    expectRepeat(driver, { kind: 'transaction', transactionId, acks, push: pushed }, 'transaction');
    const onlyAcks = { kind: 'transaction', transactionId, acks, push: undefined } as const;
    expect(plan(driver, onlyAcks, minted(driver)).kind).toBe('rolledBack');
  });

  test('of the control plane gets the first answer', () => {
    const driver = newDriver();
    driver.push({ queue: 'q', id: 'a' });
    driver.push({ queue: 'q', partition: 'p', id: 'b' });
    const popped = driver.pop({ queue: 'q', partitions: 0, batch: 2 });
    driver.ack(
      popped.messages.map(({ id, lease, partitionNumber: partition }) => {
        return { partition, id, lease, status: 'dlq' } as const;
      }),
    );
    const [letter] = driver.deadLetters();
    const replay = {
      kind: 'replayDeadLetter',
      id: letter!.deadLetterId,
      queue: 'elsewhere',
      partition: undefined,
      messageId: driver.mintId(),
    } as const;
    expect(expectRepeat(driver, replay, 'replayDeadLetter').result).toBe('moved');
    const purge = { kind: 'purgeDeadLetters', queue: 'q', group: undefined } as const;
    expect(expectRepeat(driver, purge, 'deletedDeadLetters').deleted).toBe(1);
    const seek = {
      kind: 'seek',
      queue: 'q',
      partition: undefined,
      group: 'g',
      target: { kind: 'end' },
    } as const;
    expect(expectRepeat(driver, seek, 'seek').partitionsUpdated).toBe(2);
    driver.pop({ queue: 'q', group: 'g' });
    const subscribe = { kind: 'subscribe', group: 'g', fromUs: 5 } as const;
    expect(expectRepeat(driver, subscribe, 'subscribe').queuesUpdated).toBe(1);
    const remove = { kind: 'deleteGroup', queue: 'q', group: 'g', withRegistration: true } as const;
    expect(expectRepeat(driver, remove, 'deleteGroup').registrationDeleted).toBe(true);
    const pause = { kind: 'maintenance', requests: 'pop', paused: true } as const;
    expect(expectRepeat(driver, pause, 'maintenance').popPaused).toBe(true);
    const configure = {
      kind: 'configure',
      queue: 'new',
      mode: 'merge',
      options: { priority: 3 },
      queueId: driver.mintId(),
    } as const;
    expect(expectRepeat(driver, configure, 'configure').options.priority).toBe(3);
    expect(expectRepeat(driver, { kind: 'deleteQueue', queue: 'q' }, 'deleteQueue').existed).toBe(
      true,
    );
  });
});

describe('the memory of requests', () => {
  test('lasts a minute for ids of nodes, ten for keys of clients', () => {
    const driver = newDriver();
    const byNode = { command: push(driver, [{ queue: 'q' }]), request: minted(driver) };
    const byClient = { command: push(driver, [{ queue: 'q' }]), request: clientKey('k') };
    const storedBy = ({ command, request }: typeof byNode): number => {
      const before = driver.engine.counters().blocks;
      plan(driver, command, request);
      return driver.engine.counters().blocks - before;
    };
    expect([storedBy(byNode), storedBy(byClient)]).toEqual([1, 1]);
    driver.wait(59);
    expect([storedBy(byNode), storedBy(byClient)]).toEqual([0, 0]);
    driver.wait(2);
    expect([storedBy(byNode), storedBy(byClient)]).toEqual([1, 0]);
    driver.wait(538);
    expect(storedBy(byClient)).toBe(0);
    driver.wait(2);
    expect(storedBy(byClient)).toBe(1);
  });

  test('gives a client’s repeat the ids of its first attempt', () => {
    const driver = newDriver();
    const request = clientKey('k');
    const items = [{ queue: 'q' }, { queue: 'q' }];
    const first = plan(driver, push(driver, items), request);
    expect(plan(driver, push(driver, items), request)).toEqual(first);
  });

  test('refuses a client’s key for another request', () => {
    const driver = newDriver();
    const request = clientKey('k');
    plan(driver, push(driver, [{ queue: 'q' }]), request);
    for (const command of [
      push(driver, [{ queue: 'q' }, { queue: 'q' }]),
      push(driver, [{ queue: 'q' }, { queue: 'q', partition: 'p' }]),
      { kind: 'deleteQueue', queue: 'q' } as const,
    ]) {
      expect(plan(driver, command, request)).toMatchObject({
        kind: 'refused',
        code: 'bad_request',
      });
    }
  });

  test('holds nothing of requests without effects', () => {
    const driver = newDriver();
    driver.push({ queue: 'r', id: 'x' });
    const command = push(driver, [{ queue: 'r', id: 'x' }]);
    expect(plan(driver, command, minted(driver))).toMatchObject({ statuses: Uint8Array.of(1) });
    expect(driver.engine.counters().recentRequests).toBe(0);
  });

  test('is part of a checkpoint', () => {
    const driver = newDriver();
    const command = push(driver, [{ queue: 'q' }]);
    const requests = [minted(driver), clientKey('k')];
    const outcomes = requests.map((request) => plan(driver, command, request));
    const frozen = driver.engine.freeze();
    const { payloads, limits } = driver;
    const restorer = new EngineRestorer({ payloads, limits });
    for (const piece of frozen.pieces()) restorer.accept(piece);
    frozen.release();
    const restored = restorer.finish();
    expect(restored.counters().recentRequests).toBe(2);
    requests.forEach((request, i) => {
      const nowUs = driver.nowUs + 1000 + i;
      expect(leadOnce(restored, nowUs, command, request)).toEqual(outcomes[i]);
    });
  });

  test('is forgotten by replicas too', () => {
    const driver = newDriver();
    plan(driver, push(driver, [{ queue: 'q' }]), minted(driver));
    driver.wait(HOUR_S);
    driver.push({ queue: 'q' });
    expect(driver.replica.counters().recentRequests).toBe(0);
  });
});
