// A leader and a replica in one process, driven by plain objects, so that tests read like sentences.
// Every call is a cycle of its own unless it runs inside `cycle`. After every entry the replica applies
// what the leader planned, and both must have the same digest and the same rows.

import { assert, decodeUtf8, formatUuid, readIdWords } from '@queen-ts/base';
import { ACK_ERROR, BLOCK_FRAME, BlockReader, MINTED_TXN, PUSH_STATUS } from '@queen-ts/protocol';
import type {
  AdminCommand,
  BlockSpan,
  Command,
  ConfigureOutcome,
  EmptyReason,
  Id128,
  Outcome,
  OutcomeOf,
  PayloadReader,
  QueueOptionsPatch,
} from '@queen-ts/protocol';
import { Engine } from '../engine.ts';
import type { EntryParts } from '../engine.ts';
import { ENGINE_LIMITS_DEFAULT } from '../limits.ts';
import type { EngineLimits } from '../limits.ts';
import type { QueueFilter, QueueList } from '../queries/queue-view.ts';
import { ackCommand, popCommand, pushCommand } from './commands.ts';
import type { AckItem, PopFields, PushItem } from './commands.ts';
import { dump } from './dump.ts';

/** When tests start, in microseconds. */
export const TEST_START_US = 1_800_000_000_000_000;

/** Answer of one pushed item. */
export interface PushedItem {
  readonly status: 'queued' | 'duplicate' | 'error';
  readonly offset: number;
  readonly messageId: string;
  readonly error: string | undefined;
}

/** One message as it is stored. */
export interface StoredMessage {
  readonly offset: number;
  /** Transaction id: the client's or the message id. */
  readonly id: string;
  readonly messageId: string;
  readonly data: unknown;
  readonly createdUs: number;
}

/** One delivered message. */
export interface PoppedMessage extends StoredMessage {
  readonly queue: string;
  readonly partition: string;
  readonly partitionNumber: number;
  readonly attempt: number;
  readonly lease: Id128;
}

/** Answer of a pop. */
export interface Popped {
  readonly lease: Id128;
  readonly messages: readonly PoppedMessage[];
  readonly partitions: readonly string[];
  readonly reason: EmptyReason | undefined;
  readonly isCut: boolean;
  readonly conflation: boolean;
  readonly conflict: boolean;
}

/** Answer of one acked item. */
export interface AckedItem {
  readonly ok: boolean;
  readonly error:
    | 'unknown partition'
    | 'invalid lease'
    | 'unresolvable'
    | 'unknown status'
    | 'too much'
    | undefined;
  readonly released: boolean;
  readonly dlq: boolean;
  readonly noop: boolean;
}

/** One dead letter. */
export interface DeadLetterRow {
  readonly partition: string;
  readonly group: string;
  readonly offset: number;
  readonly id: string;
  readonly messageId: string;
  readonly data: unknown;
  readonly error: string;
  readonly retryCount: number;
  readonly deadLetterId: Id128;
}

/** What became claimable. */
export interface Signal {
  readonly queue: string | undefined;
  readonly group: string | undefined;
  readonly partition: string | undefined;
}

/** Bytes of all entries, in memory. */
export class MemoryPayloads implements PayloadReader {
  readonly #entries = new Map<number, Uint8Array>();

  /** Adds the payload of an entry. */
  add(index: number, payload: Uint8Array): void {
    this.#entries.set(index, payload);
  }

  /** Forgets all entries. */
  clear(): void {
    this.#entries.clear();
  }

  payload(range: { index: number; from: number; toExclusive: number }): Uint8Array {
    const payload = this.#entries.get(range.index);
    assert(payload !== undefined, () => `no entry ${range.index}`);
    assert(range.toExclusive <= payload.length, () => `entry ${range.index} is too short`);
    return payload.subarray(range.from, range.toExclusive);
  }
}

const ERROR_NAMES = {
  [ACK_ERROR.NONE]: undefined,
  [ACK_ERROR.UNKNOWN_PARTITION]: 'unknown partition',
  [ACK_ERROR.INVALID_LEASE]: 'invalid lease',
  [ACK_ERROR.UNRESOLVABLE]: 'unresolvable',
  [ACK_ERROR.UNKNOWN_STATUS]: 'unknown status',
  [ACK_ERROR.TOO_MUCH]: 'too much',
} as const;

const STATUS_NAMES = {
  [PUSH_STATUS.QUEUED]: 'queued',
  [PUSH_STATUS.DUPLICATE]: 'duplicate',
  [PUSH_STATUS.ERROR]: 'error',
} as const;

/** Drives one engine as the leader, with a replica beside it. */
export class EngineDriver {
  readonly payloads = new MemoryPayloads();
  readonly limits: EngineLimits;
  readonly engine: Engine;
  readonly replica: Engine;
  readonly hashKey = Uint32Array.of(11, 22, 33, 44);
  /** Every entry so far. */
  readonly entries: ({ readonly index: number } & EntryParts)[] = [];
  /** Compare all rows after every entry; digests are always compared. */
  checksRows = true;
  nowUs = TEST_START_US;
  #index = 0;
  #isOpen = false;
  #minted = 0;

  constructor(limits: Partial<EngineLimits> = {}) {
    this.limits = { ...ENGINE_LIMITS_DEFAULT, ...limits };
    this.engine = new Engine({ payloads: this.payloads, limits: this.limits });
    // Other hashes than the leader's, and no place of a block in memory but the newest ones: nothing may
    // depend on the order of a table or on a cache.
    const replica = { tableSeed: 0x5eed, blockCache: { recentBytes: 0, lookedUpBytes: 0 } };
    this.replica = new Engine({ payloads: this.payloads, limits: this.limits, ...replica });
    const clusterId = this.mintId();
    this.cycle(() => this.engine.planGenesis({ clusterId, hashKey: this.hashKey }));
  }

  /** Lets time pass. */
  wait(seconds: number): void {
    this.nowUs += Math.round(seconds * 1_000_000);
  }

  /** A fresh id; its low word has room for `reserve` more. */
  mintId(reserve = 1): Id128 {
    const low = this.#minted;
    this.#minted += reserve;
    return [0x01a0_0000, 0x0000_7000, 0x8000_0000, low + 1];
  }

  /** Runs several calls in one cycle, so that they share an entry. */
  cycle<T>(run: () => T): T {
    if (this.#isOpen) return run();
    this.#isOpen = true;
    this.nowUs += 1000;
    const index = this.#index + 1;
    this.engine.openCycle({ index, nowUs: this.nowUs, payloadSizeHint: 64 });
    const result = run();
    const parts = this.engine.closeCycle();
    this.#isOpen = false;
    if (parts !== undefined) this.#commit({ index, ...parts });
    return result;
  }

  /** Plans a prepared command. */
  plan<K extends Outcome['kind']>(command: Command & { readonly kind: K }): OutcomeOf<K>;
  plan(command: Command): Outcome {
    return this.cycle(() => this.engine.plan(command));
  }

  /** Pushes items. */
  push(items: readonly PushItem[] | PushItem): PushedItem[] {
    const list = Array.isArray(items) ? (items as readonly PushItem[]) : [items as PushItem];
    const idBase = this.mintId(list.length);
    const outcome = this.plan(pushCommand(list, { idBase, hashKey: this.hashKey }));
    return list.map((_, i) => ({
      status: STATUS_NAMES[outcome.statuses[i] as 0 | 1 | 2],
      offset: outcome.offsets[i]!,
      messageId: formatUuid(readIdWords(outcome.messageIds, i * 4)),
      error: outcome.errors?.get(i)?.code,
    }));
  }

  /** Pushes one item; the code of the refusal, or undefined when it was not refused. */
  pushRefusal(item: PushItem): string | undefined {
    const ids = { idBase: this.mintId(), hashKey: this.hashKey };
    const outcome = this.cycle(() => this.engine.plan(pushCommand([item], ids)));
    return outcome.kind === 'refused' ? outcome.code : undefined;
  }

  /** Pops; throws when the pop is refused. */
  pop(fields: PopFields): Popped {
    const outcome: Outcome = this.plan(popCommand(fields, this.mintId()));
    assert(outcome.kind === 'pop', () => `refused: ${JSON.stringify(outcome)}`);
    return {
      lease: outcome.leaseId,
      messages: outcome.claims.flatMap((claim) => this.#messagesOf(claim, outcome.leaseId)),
      partitions: outcome.claims.map((claim) => claim.partition),
      reason: outcome.emptyReason,
      isCut: outcome.isCut,
      conflation: outcome.conflation,
      conflict: outcome.conflationConflict,
    };
  }

  /** Runs acks, by group, and pushes as one transaction. */
  transact(parts: {
    readonly acks?: Readonly<Record<string, readonly AckItem[]>>;
    readonly push?: readonly PushItem[];
  }): OutcomeOf<'transaction' | 'rolledBack' | 'refused'> {
    const { hashKey } = this;
    const push = parts.push ?? [];
    const idBase = this.mintId(push.length + 1);
    const outcome = this.cycle(() =>
      this.engine.plan({
        kind: 'transaction',
        transactionId: this.mintId(),
        acks: Object.entries(parts.acks ?? {}).map(([group, items]) =>
          ackCommand(items, { group, hashKey }),
        ),
        push: push.length === 0 ? undefined : pushCommand(push, { idBase, hashKey }),
      }),
    );
    const isAnswer = ['transaction', 'rolledBack', 'refused'].includes(outcome.kind);
    assert(isAnswer, () => `a transaction gave ${outcome.kind}`);
    return outcome as OutcomeOf<'transaction' | 'rolledBack' | 'refused'>;
  }

  /** Acks items of a group. */
  ack(items: readonly AckItem[], group?: string): AckedItem[] {
    const options = { hashKey: this.hashKey, ...(group === undefined ? {} : { group }) };
    const command = ackCommand(items, options);
    let outcome = this.plan(command);
    while (outcome.next !== undefined) outcome = this.plan({ ...command, from: outcome.next });
    return items.map((_, i) => ({
      ok: outcome.errors[i] === ACK_ERROR.NONE,
      error: ERROR_NAMES[outcome.errors[i] as keyof typeof ERROR_NAMES],
      released: outcome.leaseReleased[i] === 1,
      dlq: outcome.deadLettered[i] === 1,
      noop: outcome.noops[i] === 1,
    }));
  }

  /** Configures a queue. */
  configure(
    queue: string,
    options: QueueOptionsPatch = {},
    mode: 'merge' | 'replace' = 'merge',
  ): ConfigureOutcome {
    return this.plan({ kind: 'configure', queue, mode, options, queueId: this.mintId() });
  }

  /** Deletes a queue; true if it existed. */
  deleteQueue(queue: string): boolean {
    return this.plan({ kind: 'deleteQueue', queue }).existed;
  }

  /** Extends a lease. */
  extend(leaseId: Id128 | undefined, seconds: number): OutcomeOf<'extend'> {
    return this.plan({ kind: 'extend', leaseId, seconds });
  }

  /** Gives a claim back; returns how many leases ended. */
  release(leaseId: Id128): number {
    return this.plan({ kind: 'release', leaseId }).released;
  }

  /** Lists queues. */
  list(filter: QueueFilter = {}): QueueList {
    return this.engine.listQueues({ ...filter, nowUs: this.nowUs });
  }

  /** Plans a command of the control plane. */
  admin<K extends Outcome['kind']>(command: AdminCommand, kind: K): OutcomeOf<K> {
    const outcome = this.cycle(() => this.engine.plan(command));
    assert(outcome.kind === kind, () => `${command.kind} gave ${outcome.kind}`);
    return outcome as OutcomeOf<K>;
  }

  /** What became claimable since the last call, by names. */
  signals(): Signal[] {
    const signals: Signal[] = [];
    this.engine.drainSignals({
      appended: (queue, partition) =>
        signals.push({
          queue: this.engine.queueName(queue),
          group: undefined,
          partition: this.engine.partitionName(partition),
        }),
      armed: (queue, group, partition) =>
        signals.push({
          queue: this.engine.queueName(queue),
          group,
          partition: this.engine.partitionName(partition),
        }),
    });
    return signals;
  }

  /** All dead letters, oldest first. */
  deadLetters(): DeadLetterRow[] {
    const { deadLetters } = this.engine.listDeadLetters({ limit: Infinity });
    return [...deadLetters].reverse().map((letter) => ({
      partition: letter.partition,
      group: letter.group,
      offset: letter.offset,
      id: letter.transactionId,
      messageId: formatUuid(letter.messageId),
      data: JSON.parse(decodeUtf8(letter.payload, 0, letter.payload.length) ?? '') as unknown,
      error: letter.error,
      retryCount: letter.retryCount,
      deadLetterId: letter.id,
    }));
  }

  #commit(entry: { readonly index: number } & EntryParts): void {
    this.#index = entry.index;
    this.payloads.add(entry.index, entry.payload);
    this.entries.push(entry);
    this.replica.apply(entry);
    assert(
      this.engine.digest() === this.replica.digest(),
      () => `digests differ at entry ${entry.index}`,
    );
    if (!this.checksRows) return;
    const leader = dump(this.engine).join('\n');
    const replica = dump(this.replica).join('\n');
    assert(
      leader === replica,
      () => `entry ${entry.index}: leader\n${leader}\nreplica\n${replica}`,
    );
  }

  #messagesOf(claim: OutcomeOf<'pop'>['claims'][number], lease: Id128): PoppedMessage[] {
    return claim.spans.flatMap((span) =>
      this.#readSpan(span).map((message) => ({
        ...message,
        queue: claim.queue,
        partition: claim.partition,
        partitionNumber: claim.partitionNumber,
        attempt: claim.deliveryAttempt,
        lease,
      })),
    );
  }

  #readSpan(span: Omit<BlockSpan, 'baseOffset'>): StoredMessage[] {
    const block = new BlockReader(this.engine.state.payload, span);
    const { bytes, spans } = block.frames(span.first, span.count);
    return Array.from({ length: span.count }, (_, i) => {
      const at = i * BLOCK_FRAME.WIDTH;
      const text = (start: number, length: number): string =>
        decodeUtf8(bytes, spans[at + start]!, spans[at + start]! + length) ?? '';
      const messageId = formatUuid(block.messageId(span.first + i));
      const idLength = spans[at + BLOCK_FRAME.TXN_LENGTH]!;
      const payload = text(BLOCK_FRAME.PAYLOAD_START, spans[at + BLOCK_FRAME.PAYLOAD_LENGTH]!);
      return {
        offset: block.baseOffset + span.first + i,
        id: idLength === MINTED_TXN ? messageId : text(BLOCK_FRAME.TXN_START, idLength),
        messageId,
        data: JSON.parse(payload) as unknown,
        createdUs: block.createdUs,
      };
    });
  }
}
