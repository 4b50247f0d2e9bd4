// The broker of one member as its clients see it: plans here while this node leads, and asks the leader
// otherwise. A request keeps its ids over all attempts, so a change of leader repeats nothing.

import { UuidMinter } from '@queen-ts/base';
import type { Clock, Rng } from '@queen-ts/base';
import type { EngineView, Read } from '@queen-ts/engine';
import type {
  Command,
  Id128,
  Outcome,
  PayloadReader,
  PopCommand,
  PopOutcome,
  RequestId,
} from '@queen-ts/protocol';
import type { NodeId } from '@queen-ts/raft';
import type { AppendMark, WaitOptions } from '../append-watch.ts';
import type {
  Broker,
  BrokerStatus,
  CancelSignal,
  PopOptions,
  ReadOptions,
  RequestOptions,
  WriteCommand,
} from '../broker.ts';
import { laneOf } from '../command-queue.ts';
import type { Lane } from '../command-queue.ts';
import type { NodeBroker } from '../node-broker.ts';
import {
  clientLeft,
  inDoubtOf,
  nodeFailed,
  nodeStopping,
  notPlanned,
  payloadsMissing,
} from '../refusals.ts';
import { claimOf, emptyOutcome } from '../request.ts';
import type { Scheduler } from '../scheduler.ts';
import type { Transport } from '../transport/transport.ts';
import { Cancellation } from './cancellation.ts';
import { ForwardBudget } from './forward-budget.ts';
import type { ForwardLimits } from './forward-budget.ts';
import type { LeaderWatch } from './leader-watch.ts';
import { CALL, decodeAnswer } from './peer-calls.ts';
import type { PeerAnswer, PopCall, SubmitCall } from './peer-calls.ts';
import { ANSWER_MARGIN_US } from './peer-service.ts';
import { encodeValue } from './peer-values.ts';
import { PopAttempts } from './pop-attempts.ts';
import { missingBlocks, newestIndexOf, OverlaidPayloads } from './remote-payloads.ts';
import { attemptFailure } from './attempt-failure.ts';

/** How long an answer of the leader waits for this node to have applied it, in microseconds. */
const CATCH_UP_US = 250_000;

/** How long a claim that nobody received is offered back, in microseconds. */
const RELEASE_US = 5_000_000;

/** Parts of a member's broker. */
export interface MemberBrokerParts {
  readonly local: NodeBroker;
  readonly transport: Pick<Transport, 'request'>;
  readonly watch: LeaderWatch;
  readonly clock: Clock;
  readonly scheduler: Scheduler;
  /** For request ids: unpredictable. */
  readonly rng: Rng;
  readonly limits: ForwardLimits;
}

/** One way to get an answer: here or from the leader. */
interface Attempts<T> {
  readonly deadlineUs: number;
  readonly kind: Command['kind'] | 'read';
  readonly signal?: CancelSignal;
  here(): Promise<T>;
  there(leader: NodeId): Promise<T>;
  /** Called between an attempt that may have had an effect and the next one. */
  again?(): Promise<void>;
}

/** See the head of the file. */
export class MemberBroker implements Broker {
  readonly #parts: MemberBrokerParts;
  readonly #budget: ForwardBudget;
  readonly #fetched = new WeakMap<PopOutcome, PayloadReader>();
  /** Aborts the pops of this node's clients when it stops. */
  readonly #waiting = new Set<Cancellation>();
  readonly #ids: UuidMinter;
  #isStopping = false;

  constructor(parts: MemberBrokerParts) {
    this.#parts = parts;
    this.#budget = new ForwardBudget(parts.limits);
    this.#ids = new UuidMinter(parts.clock, parts.rng);
  }

  get payloads(): PayloadReader {
    return this.#parts.local.payloads;
  }

  get hashKey(): Uint32Array {
    return this.#parts.local.hashKey;
  }

  payloadsOf(outcome: PopOutcome): PayloadReader {
    return this.#fetched.get(outcome) ?? this.#parts.local.payloads;
  }

  encrypts(queue: string): boolean {
    return this.#parts.local.encrypts(queue);
  }

  status(): BrokerStatus {
    return this.#parts.local.status();
  }

  submit(command: WriteCommand, options: RequestOptions): Promise<Outcome> {
    const { local } = this.#parts;
    const { deadlineUs } = options;
    const requestId = options.requestId ?? this.#mintRequestId();
    // Encoded at most once, and only if this node does not lead.
    let bytes: Uint8Array | undefined;
    return this.#attempt({
      deadlineUs,
      kind: command.kind,
      here: () => local.submit(command, { deadlineUs, requestId }),
      there: async (leader) => {
        bytes ??= encodeValue({ command, requestId } satisfies SubmitCall, sizeHintOf(command));
        const request = { kind: CALL.SUBMIT, bytes };
        const answer = await this.#ask(leader, request, { lane: laneOf(command.kind), deadlineUs });
        await this.#catchUp(answer.index, deadlineUs);
        return answer.value as Outcome;
      },
    });
  }

  async pop(command: PopCommand, options: PopOptions): Promise<Outcome> {
    const { signal, wait } = options;
    if (this.#isStopping) throw nodeStopping();
    if (signal.aborted) throw clientLeft();
    const cancellation = new Cancellation();
    const leave = (): void => cancellation.abort();
    signal.addEventListener('abort', leave, { once: true });
    this.#waiting.add(cancellation);
    try {
      return await this.#pop(command, { ...options, signal: cancellation });
    } catch (error) {
      if (wait && this.#isStopping && !signal.aborted) return emptyOutcome(command);
      throw error;
    } finally {
      this.#waiting.delete(cancellation);
      signal.removeEventListener('abort', leave);
    }
  }

  release(leaseId: Id128): void {
    const { local, clock } = this.#parts;
    if (local.isLeader) {
      local.release(leaseId);
      return;
    }
    // Not delivered: the lease ends by itself when its time is over.
    this.#giveBack(leaseId, clock.monotonicUs() + RELEASE_US).catch(() => {});
  }

  async read<T>(read: (view: EngineView) => Read<T>, options: ReadOptions): Promise<T> {
    const { local } = this.#parts;
    const { deadlineUs } = options;
    if (options.from === 'node') return local.read(read, options);
    return this.#attempt({
      deadlineUs,
      kind: 'read',
      here: () => local.read(read, options),
      there: async (leader) => {
        const request = { kind: CALL.READ_INDEX, bytes: encodeValue({}) };
        const answer = await this.#ask(leader, request, { lane: 'settle', deadlineUs });
        const index = Number(answer.value);
        if (!(await local.applied(index, deadlineUs))) throw notPlanned(true);
        return local.read(read, { ...options, from: 'node' });
      },
    });
  }

  waitForAppends(marks: readonly AppendMark[], options: WaitOptions): Promise<boolean> {
    return this.#parts.local.waitForAppends(marks, options);
  }

  /** Answers the pops that wait here with nothing; what is claimed for them goes back. */
  endPops(): void {
    this.#isStopping = true;
    for (const cancellation of this.#waiting) cancellation.abort();
  }

  async stop(): Promise<void> {
    this.endPops();
    await this.#parts.local.stop();
  }

  async #pop(command: PopCommand, options: PopOptions): Promise<Outcome> {
    const { local } = this.#parts;
    const { deadlineUs, wait, signal } = options;
    const attempts = new PopAttempts(command, () => this.#ids.mint(1));
    // What commits at once is recognised by the request's name; a claim is given back by its lease.
    const requestId = options.requestId ?? this.#mintRequestId();
    try {
      return await this.#attempt({
        deadlineUs,
        kind: 'pop',
        signal,
        again: async () => {
          for (const leaseId of attempts.doubt()) await this.#giveBack(leaseId, deadlineUs);
        },
        here: () => local.pop(attempts.begin(), { deadlineUs, wait, signal, requestId }),
        there: async (leader) => {
          const call: PopCall = { command: attempts.begin(), wait, requestId };
          const request = { kind: CALL.POP, bytes: encodeValue(call) };
          const answer = await this.#ask(leader, request, { lane: 'pop', deadlineUs, signal });
          const value = answer.value as Outcome;
          // Also an empty pop may have done something: created its queue.
          await this.#catchUp(answer.index, deadlineUs);
          if (value.kind === 'pop') await this.#fetchPayloads(value, { leader, deadlineUs });
          return value;
        },
      });
    } catch (error) {
      // Nobody gets an answer any more: whatever was claimed, also while this was on its way, goes back.
      for (const leaseId of attempts.doubt()) this.release(leaseId);
      throw error;
    }
  }

  /** Resolves once the leader has the release: what it plans later finds the claim gone. */
  #giveBack(leaseId: Id128, deadlineUs: number): Promise<unknown> {
    const { local } = this.#parts;
    const command: Command = { kind: 'release', leaseId };
    const bytes = encodeValue({ command, requestId: undefined } satisfies SubmitCall);
    return this.#attempt<unknown>({
      deadlineUs,
      kind: command.kind,
      here: () => {
        local.release(leaseId);
        return Promise.resolve();
      },
      there: (leader) =>
        this.#ask(leader, { kind: CALL.SUBMIT, bytes }, { lane: 'settle', deadlineUs }),
    });
  }

  /** Makes sure that what was claimed can be read here; gives it back when it cannot. */
  async #fetchPayloads(
    outcome: PopOutcome,
    { leader, deadlineUs }: { readonly leader: NodeId; readonly deadlineUs: number },
  ): Promise<void> {
    const { local } = this.#parts;
    const newest = newestIndexOf(outcome);
    if (newest === 0 || (await local.applied(newest, 0))) return;
    const overlay = new OverlaidPayloads(local.payloads);
    try {
      for (const blocks of missingBlocks(outcome, local.replica.appliedIndex)) {
        const ranges = blocks.map(({ entryIndex: index, blockStart: from, blockSize }) => ({
          index,
          from,
          to: from + blockSize,
        }));
        const request = { kind: CALL.PAYLOADS, bytes: encodeValue({ ranges }) };
        const answer = await this.#ask(leader, request, { lane: 'pop', deadlineUs });
        const bytes = answer.value as readonly Uint8Array[];
        blocks.forEach((block, i) => overlay.add(block, bytes[i]!));
      }
    } catch (error) {
      const leaseId = claimOf(outcome);
      if (leaseId !== undefined) this.release(leaseId);
      throw payloadsMissing(error);
    }
    this.#fetched.set(outcome, overlay);
  }

  /** Waits a little for this node to have applied `index`, so that its clients read what they wrote. */
  #catchUp(index: number, deadlineUs: number): Promise<boolean> {
    const { local, clock } = this.#parts;
    return local.applied(index, Math.min(deadlineUs, clock.monotonicUs() + CATCH_UP_US));
  }

  /** Tries until there is an answer, a refusal that no other leader would change, or no time left. */
  async #attempt<T>(attempts: Attempts<T>): Promise<T> {
    const { local, watch, clock } = this.#parts;
    const { deadlineUs, kind, signal } = attempts;
    let isInDoubt = false;
    for (;;) {
      const seen = watch.changes;
      const { leaderId } = local;
      let mayHaveActed = false;
      try {
        if (local.isLeader) return await attempts.here();
        if (leaderId !== 0) return await attempts.there(leaderId);
      } catch (error) {
        if (local.failure !== undefined) throw error;
        const failure = attemptFailure(error);
        if (failure.isFinal) throw failure.error;
        mayHaveActed = failure.isInDoubt;
        isInDoubt ||= mayHaveActed;
      }
      if (local.failure !== undefined) throw nodeFailed(local.failure);
      if (signal?.aborted === true) throw clientLeft();
      const isOver = this.#isStopping || clock.monotonicUs() >= deadlineUs;
      // A read that failed changed nothing.
      if (isOver && isInDoubt && kind !== 'read') throw inDoubtOf(kind);
      if (this.#isStopping) throw nodeStopping();
      if (isOver) throw notPlanned(local.leaderId !== 0);
      await watch.next(seen, deadlineUs);
      if (mayHaveActed) await attempts.again?.();
    }
  }

  /** Sends one request to a member. */
  async #ask(
    to: NodeId,
    request: { readonly kind: number; readonly bytes: Uint8Array },
    options: { readonly lane: Lane; readonly deadlineUs: number; readonly signal?: CancelSignal },
  ): Promise<PeerAnswer> {
    const { transport } = this.#parts;
    const { lane, signal } = options;
    const deadlineUs = options.deadlineUs + ANSWER_MARGIN_US;
    const bytes = await this.#budget.within(lane, request.bytes.length, () =>
      transport.request(to, request, { deadlineUs, ...(signal !== undefined && { signal }) }),
    );
    return decodeAnswer(bytes);
  }

  #mintRequestId(): RequestId {
    const { rng } = this.#parts;
    // Never zero, which means «none».
    return { words: [rng.u32(), rng.u32(), rng.u32(), (rng.u32() | 1) >>> 0], isClientKey: false };
  }
}

/** Bytes that the encoded command takes, roughly: saves the copies of a growing buffer. */
function sizeHintOf(command: WriteCommand): number {
  if (command.kind !== 'push') return 1024;
  const { body, text, itemColumns, txnHashes, order, groupColumns } = command;
  const words = itemColumns.length + txnHashes.length + order.length + groupColumns.length;
  return body.length + text.length + words * 4 + 512;
}
