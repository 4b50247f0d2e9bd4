// What every transport must do. Fixtures give it started nodes that know each other.

import { toNodeId } from '@queen-ts/raft';
import type { AppendMessage, Entry, Heartbeat, NodeId } from '@queen-ts/raft';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FORMAT_LIMITS } from '../transport-limits.ts';
import { PeerRequestError } from '../transport.ts';
import type { Transport } from '../transport.ts';
import { entryOf } from './arbitrary-message.ts';
import type { RecordingHandler } from './recording-handler.ts';

/** One node under test. */
export interface ContractNode {
  readonly id: NodeId;
  readonly transport: Transport;
  readonly handler: RecordingHandler;
}

/** Started, connected nodes with ids from 1, and a hand on what is between them. */
export interface TransportFixture {
  readonly nodes: readonly ContractNode[];
  /** Monotonic microseconds of the nodes' clock. */
  readonly nowUs: () => number;
  /** Lets things happen until `check` does not throw; fails after a deadline. */
  readonly eventually: (check: () => void) => Promise<void>;
  /** Breaks all connections between two nodes, and lets no new ones be made. */
  readonly cut: (a: NodeId, b: NodeId) => void;
  readonly heal: (a: NodeId, b: NodeId) => void;
  readonly close: () => Promise<void>;
}

/** Most requests of one peer that the nodes work on. */
export const CONTRACT_INCOMING_REQUESTS_MAX = 40;

/** A heartbeat that is known by its number. */
export function heartbeat(from: NodeId, to: NodeId, number: number): Heartbeat {
  return { kind: 'heartbeat', from, to, term: 3, incarnation: 100 + from, readRound: number };
}

/** An append that is known by its number. */
export function append(options: {
  readonly from: NodeId;
  readonly to: NodeId;
  readonly number: number;
  readonly entries?: readonly Entry[];
}): AppendMessage {
  const { from, to, number, entries = [] } = options;
  const place = { prevIndex: (entries[0]?.index ?? 1) - 1, prevTerm: 0, commitIndex: number };
  return {
    kind: 'append',
    from,
    to,
    term: 3,
    incarnation: 100 + from,
    ...place,
    prevTerm: place.prevIndex === 0 ? 0 : 1,
    entries,
  };
}

/** Runs the contract. */
export function describeTransportContract(
  name: string,
  create: (nodeCount: number) => Promise<TransportFixture>,
): void {
  describe(`${name} as a transport`, () => {
    let fixture: TransportFixture;
    let one: ContractNode;
    let two: ContractNode;
    let three: ContractNode;

    beforeEach(async () => {
      fixture = await create(3);
      [one, two, three] = fixture.nodes as [ContractNode, ContractNode, ContractNode];
    });

    afterEach(() => fixture.close());

    const ask = (text: string, waitUs = 30_000_000, signal?: AbortSignal): Promise<Uint8Array> =>
      one.transport.request(
        two.id,
        { kind: 7, bytes: Buffer.from(text) },
        {
          deadlineUs: fixture.nowUs() + waitUs,
          ...(signal === undefined ? {} : { signal }),
        },
      );

    /** The request's failure, once it has one. */
    const failureOf = async (answer: Promise<Uint8Array>): Promise<PeerRequestError> => {
      let failure: unknown;
      answer.catch((error: unknown) => {
        failure = error;
      });
      await fixture.eventually(() => expect(failure).toBeInstanceOf(PeerRequestError));
      return failure as PeerRequestError;
    };

    const answerOf = async (answer: Promise<Uint8Array>): Promise<string> => {
      let text: string | undefined;
      answer.then(
        (bytes) => {
          text = Buffer.from(bytes).toString();
        },
        (error: unknown) => {
          text = String(error);
        },
      );
      await fixture.eventually(() => expect(text).toBeDefined());
      return text!;
    };

    it('carries messages of both classes to their addressees only', async () => {
      one.transport.send([
        heartbeat(one.id, two.id, 1),
        append({ from: one.id, to: three.id, number: 2 }),
        heartbeat(one.id, three.id, 3),
      ]);
      two.transport.send([heartbeat(two.id, one.id, 4)]);
      await fixture.eventually(() => {
        expect(two.handler.messages).toEqual([heartbeat(one.id, two.id, 1)]);
        expect(three.handler.order.toSorted()).toEqual(['append:2', 'heartbeat:3']);
        expect(one.handler.messages).toEqual([heartbeat(two.id, one.id, 4)]);
      });
    });

    it('keeps the order within a class', async () => {
      const numbers = Array.from({ length: 300 }, (_, i) => i + 1);
      for (const number of numbers) {
        const entries = [entryOf({ index: number, payloadSize: (number * 7919) % 30_000 })];
        one.transport.send([
          append({ from: one.id, to: two.id, number, entries }),
          heartbeat(one.id, two.id, number),
        ]);
      }
      await fixture.eventually(() => expect(two.handler.messages).toHaveLength(600));
      const { order } = two.handler;
      expect(order.filter((text) => text.startsWith('append'))).toEqual(
        numbers.map((number) => `append:${number}`),
      );
      expect(order.filter((text) => text.startsWith('heartbeat'))).toEqual(
        numbers.map((number) => `heartbeat:${number}`),
      );
    });

    it('carries large entries verbatim into buffers of their own size', async () => {
      const entries = [
        entryOf({ index: 1, payloadSize: 9_000_001 }),
        entryOf({ index: 2, payloadSize: 3 }),
      ];
      one.transport.send([append({ from: one.id, to: two.id, number: 0, entries })]);
      await fixture.eventually(() => expect(two.handler.messages).toHaveLength(1));
      const got = two.handler.messages[0] as AppendMessage;
      expect(got.entries.map(({ payload }) => payload.buffer.byteLength)).toEqual([9_000_009, 11]);
      got.entries.forEach((entry, i) => {
        expect(Buffer.compare(entry.payload, entries[i]!.payload)).toBe(0);
        expect(Buffer.compare(entry.head, entries[i]!.head)).toBe(0);
      });
    });

    it('reports a bulk message to nobody as unreachable, once a turn and not within the call', async () => {
      const stranger = toNodeId(9);
      const lost = append({ from: one.id, to: stranger, number: 1 });
      one.transport.send([lost, lost, heartbeat(one.id, stranger, 2)]);
      expect(one.handler.lost).toEqual([]);
      await fixture.eventually(() => expect(one.handler.lost).toEqual([stranger]));
    });

    it('answers requests, also out of order', async () => {
      const waiting: (() => void)[] = [];
      two.handler.answer = ({ bytes }) =>
        new Promise((resolve) => {
          waiting.push(() => resolve(Buffer.concat([Buffer.from('re: '), bytes])));
        });
      const answers = Array.from({ length: 20 }, (_, i) => ask(`number ${i}`));
      await fixture.eventually(() => expect(waiting).toHaveLength(20));
      expect(two.handler.requests[3]).toMatchObject({ from: one.id, kind: 7 });
      for (const go of waiting.toReversed()) go();
      for (const [i, answer] of answers.entries()) {
        expect(await answerOf(answer)).toBe(`re: number ${i}`);
      }
      expect(one.transport.peers()[0]).toMatchObject({ id: two.id, openRequests: 0 });
    });

    it('carries large and empty requests and answers', async () => {
      for (const size of [0, 1, 16_384, 16_385, 3_000_000]) {
        const bytes = Buffer.alloc(size, `${size}`);
        const options = { deadlineUs: fixture.nowUs() + 30_000_000 };
        const answer = one.transport.request(two.id, { kind: 0, bytes }, options);
        expect(await answerOf(answer)).toBe(bytes.toString());
        expect(two.handler.requests.at(-1)?.bytes.buffer.byteLength).toBe(size);
      }
    });

    it('tells that a handler failed, and that it may have done something', async () => {
      two.handler.answer = () => Promise.reject(new Error('no'));
      expect(await failureOf(ask('x'))).toMatchObject({ reason: 'failed', outcome: 'unknown' });
    });

    it('gives up at the deadline and lets the peer stop', async () => {
      two.handler.answer = () => new Promise(() => {});
      const askedUs = fixture.nowUs();
      const answer = ask('x', 200_000);
      await fixture.eventually(() => expect(two.handler.requests).toHaveLength(1));
      const { deadlineUs, signal } = two.handler.requests[0]!;
      expect(deadlineUs).toBeGreaterThanOrEqual(askedUs + 200_000 - 1);
      expect(deadlineUs).toBeLessThanOrEqual(fixture.nowUs() + 200_000);
      expect(await failureOf(answer)).toMatchObject({ reason: 'timeout', outcome: 'unknown' });
      await fixture.eventually(() => expect(signal.aborted).toBe(true));
    });

    it('gives up when the caller does and lets the peer stop', async () => {
      two.handler.answer = () => new Promise(() => {});
      const caller = new AbortController();
      const answer = ask('x', 30_000_000, caller.signal);
      await fixture.eventually(() => expect(two.handler.requests).toHaveLength(1));
      expect(two.handler.requests[0]?.signal.aborted).toBe(false);
      caller.abort();
      expect(await failureOf(answer)).toMatchObject({ reason: 'cancelled', outcome: 'unknown' });
      await fixture.eventually(() => expect(two.handler.requests[0]?.signal.aborted).toBe(true));
    });

    it('does not begin what its caller has given up already', async () => {
      const failure = await failureOf(ask('x', 30_000_000, AbortSignal.abort()));
      expect(failure).toMatchObject({ reason: 'cancelled', outcome: 'notApplied' });
      expect(await answerOf(ask('y'))).toBe('y');
      expect(two.handler.requests.map(({ bytes }) => Buffer.from(bytes).toString())).toEqual(['y']);
    });

    it('refuses what cannot be sent, and says that nothing happened', async () => {
      const options = { deadlineUs: fixture.nowUs() + 30_000_000 };
      const nobody = one.transport.request(
        toNodeId(9),
        { kind: 0, bytes: new Uint8Array(1) },
        options,
      );
      expect(await failureOf(nobody)).toMatchObject({
        reason: 'unreachable',
        outcome: 'notApplied',
      });
      const bytes = new Uint8Array(FORMAT_LIMITS.messageBytesMax + 1);
      const tooLarge = one.transport.request(two.id, { kind: 0, bytes }, options);
      expect(await failureOf(tooLarge)).toMatchObject({
        reason: 'tooLarge',
        outcome: 'notApplied',
      });
    });

    it('refuses to work on more requests of a peer than it may, without beginning them', async () => {
      const waiting: (() => void)[] = [];
      two.handler.answer = ({ bytes }) =>
        new Promise((resolve) => waiting.push(() => resolve(bytes)));
      const answers = Array.from({ length: CONTRACT_INCOMING_REQUESTS_MAX }, () => ask('x'));
      const failure = await failureOf(ask('one too many'));
      expect(failure).toMatchObject({ reason: 'overloaded', outcome: 'notApplied' });
      expect(two.handler.requests).toHaveLength(CONTRACT_INCOMING_REQUESTS_MAX);
      expect(two.transport.stats().overloadedTotal).toBe(1);
      for (const go of waiting) go();
      for (const answer of answers) expect(await answerOf(answer)).toBe('x');
      two.handler.answer = ({ bytes }) => Promise.resolve(bytes);
      expect(await answerOf(ask('again'))).toBe('again');
    });

    it('tells everybody concerned when a connection breaks, and mends it', async () => {
      two.handler.answer = () => new Promise(() => {});
      const answer = ask('x');
      await fixture.eventually(() => expect(two.handler.requests).toHaveLength(1));
      fixture.cut(one.id, two.id);
      expect(await failureOf(answer)).toMatchObject({ reason: 'lost', outcome: 'unknown' });
      await fixture.eventually(() => {
        expect(one.handler.lost).toContain(two.id);
        expect(two.handler.requests[0]?.signal.aborted).toBe(true);
        expect(one.transport.peers()[0]?.bulk.state).not.toBe('open');
      });
      expect(await failureOf(ask('y'))).toMatchObject({
        reason: 'unreachable',
        outcome: 'notApplied',
      });
      one.handler.lost.length = 0;
      one.transport.send([append({ from: one.id, to: two.id, number: 1 })]);
      await fixture.eventually(() => expect(one.handler.lost).toEqual([two.id]));
      // Others are not affected.
      one.transport.send([append({ from: one.id, to: three.id, number: 2 })]);
      await fixture.eventually(() => expect(three.handler.order).toEqual(['append:2']));

      fixture.heal(one.id, two.id);
      await fixture.eventually(() => {
        const [peer] = one.transport.peers();
        expect([peer?.control.state, peer?.bulk.state]).toEqual(['open', 'open']);
      });
      one.transport.send([
        append({ from: one.id, to: two.id, number: 5 }),
        heartbeat(one.id, two.id, 6),
      ]);
      await fixture.eventually(() =>
        expect(two.handler.order.toSorted()).toEqual(['append:5', 'heartbeat:6']),
      );
    });

    it('shows its peers by ascending id', async () => {
      await fixture.eventually(() => {
        expect(two.transport.peers()).toMatchObject([
          { id: 1, control: { state: 'open' }, bulk: { state: 'open' } },
          { id: 3, control: { state: 'open' }, bulk: { state: 'open' } },
        ]);
        expect(two.transport.peers().map(({ inbound }) => inbound)).toEqual([
          ['bulk', 'control'],
          ['bulk', 'control'],
        ]);
      });
    });

    it('sends nothing to a peer that is none any more', async () => {
      const peers = one.transport.peers().map(({ id, address }) => ({ id, address }));
      two.handler.answer = () => new Promise(() => {});
      const answer = ask('x');
      await fixture.eventually(() => expect(two.handler.requests).toHaveLength(1));
      one.transport.setPeers(peers.filter(({ id }) => id !== two.id));
      two.transport.setPeers([]);
      expect(await failureOf(answer)).toMatchObject({ reason: 'lost', outcome: 'unknown' });
      await fixture.eventually(() =>
        expect(one.transport.peers().map(({ id }) => id)).toEqual([three.id]),
      );
      one.transport.send([append({ from: one.id, to: two.id, number: 1 })]);
      await fixture.eventually(() => expect(one.handler.lost).toContain(two.id));
      expect(two.handler.messages).toEqual([]);
    });

    it('stops once, rejects what is open, and is silent afterwards', async () => {
      two.handler.answer = () => new Promise(() => {});
      const answer = ask('x');
      await fixture.eventually(() => expect(two.handler.requests).toHaveLength(1));
      const stopping = one.transport.stop();
      expect(await failureOf(answer)).toMatchObject({ reason: 'stopped', outcome: 'unknown' });
      await Promise.all([stopping, one.transport.stop()]);
      expect(await failureOf(ask('y'))).toMatchObject({
        reason: 'stopped',
        outcome: 'notApplied',
      });
      one.transport.send([append({ from: one.id, to: two.id, number: 1 })]);
      two.transport.send([append({ from: two.id, to: one.id, number: 1 })]);
      await fixture.eventually(() => {
        expect(two.handler.requests[0]?.signal.aborted).toBe(true);
        expect(two.handler.lost).toContain(one.id);
      });
      expect(one.handler.lost).toEqual([]);
      expect(one.handler.messages).toEqual([]);
      expect(two.handler.messages).toEqual([]);
      expect(one.transport.peers()).toEqual([]);
    });
  });
}
