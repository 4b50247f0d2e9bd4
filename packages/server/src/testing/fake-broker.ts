// A broker that does what a test tells it to, and remembers what it was asked.

import type {
  AppendMark,
  Broker,
  BrokerStatus,
  PopOptions,
  ReadOptions,
  RequestOptions,
  WaitOptions,
  WriteCommand,
} from '@queen-ts/cluster';
import type { EngineView, Read } from '@queen-ts/engine';
import { completed } from '@queen-ts/engine';
import { BrokerError, PUSH_STATUS } from '@queen-ts/protocol';
import type { Id128, Outcome, PayloadReader, PopCommand, PushOutcome } from '@queen-ts/protocol';

/** Stands in for a broker at the edge. Unset behaviour is an error that names the call. */
export class FakeBroker implements Broker {
  hashKey = new Uint32Array([1, 2, 3, 4]);
  readonly commands: WriteCommand[] = [];
  readonly pops: PopCommand[] = [];
  readonly popOptions: PopOptions[] = [];
  readonly released: Id128[] = [];
  readonly reads: ReadOptions[] = [];
  readonly waits: (readonly AppendMark[])[] = [];
  readonly deadlines: number[] = [];
  isStopped = false;
  /** The state that reads see; undefined: none is expected. */
  view: (() => EngineView) | undefined;
  statusFields: Partial<BrokerStatus> = {};
  payloads: PayloadReader = { payload: () => unexpected('payloads') };
  onSubmit: (command: WriteCommand, options: RequestOptions) => Outcome | Promise<Outcome> = () =>
    unexpected('submit');
  onPop: (command: PopCommand, options: PopOptions) => Outcome | Promise<Outcome> = () =>
    unexpected('pop');

  payloadsOf(): PayloadReader {
    return this.payloads;
  }

  onEncrypts: (queue: string) => boolean = () => false;

  onWait: (marks: readonly AppendMark[], options: WaitOptions) => boolean = () =>
    unexpected('waitForAppends');

  async submit(command: WriteCommand, options: RequestOptions): Promise<Outcome> {
    this.commands.push(command);
    this.deadlines.push(options.deadlineUs);
    return this.onSubmit(command, options);
  }

  async pop(command: PopCommand, options: PopOptions): Promise<Outcome> {
    this.pops.push(command);
    this.popOptions.push(options);
    return this.onPop(command, options);
  }

  release(leaseId: Id128): void {
    this.released.push(leaseId);
  }

  async read<T>(read: (view: EngineView) => Read<T>, options: ReadOptions): Promise<T> {
    this.reads.push(options);
    return completed(read((this.view ?? (() => unexpected('read')))()));
  }

  encrypts(queue: string): boolean {
    return this.onEncrypts(queue);
  }

  async waitForAppends(marks: readonly AppendMark[], options: WaitOptions): Promise<boolean> {
    this.waits.push(marks);
    return this.onWait(marks, options);
  }

  status(): BrokerStatus {
    return {
      nodeId: 1,
      role: 'leader',
      leaderId: 1,
      term: 3,
      lastIndex: 12,
      commitIndex: 11,
      appliedIndex: 10,
      failure: undefined,
      parkedPops: 5,
      queuedCommands: 2,
      queuedBytes: 200,
      entriesTotal: 9,
      entryBytesTotal: 900,
      syncsTotal: 8,
      queues: 1,
      partitions: 2,
      cursors: 3,
      deadLetters: 4,
      checkpoints: {
        finishedTotal: 6,
        droppedTotal: 1,
        failedTotal: 0,
        sizeBytes: 7000,
        durationUs: 1_500_000,
        ageUs: 30_000_000,
        uncoveredBytes: 800,
      },
      log: {
        logFirstIndex: 5,
        purgedRecordsTotal: 3,
        purgedBytesTotal: 900,
        reclaimsTotal: 2,
        snapshotsSending: 1,
        snapshotsSentTotal: 8,
        snapshotsFailedTotal: 7,
        snapshotsInstalledTotal: 1,
        isReceivingSnapshot: true,
      },
      ...this.statusFields,
    };
  }

  async stop(): Promise<void> {
    this.isStopped = true;
  }
}

/** Waits as a parked pop does: until the client is gone. */
export function untilAborted({ signal }: PopOptions): Promise<Outcome> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(new BrokerError('timeout', 'client left')));
  });
}

/** A push outcome that stored every item of `itemCount` from offset 0 on. */
export function storedAll(itemCount: number): PushOutcome {
  return {
    kind: 'push',
    statuses: new Uint8Array(itemCount).fill(PUSH_STATUS.QUEUED),
    offsets: Float64Array.from({ length: itemCount }, (_, i) => i),
    messageIds: Uint32Array.from({ length: itemCount * 4 }, (_, i) => i),
    errors: undefined,
  };
}

function unexpected(call: string): never {
  throw new Error(`the test did not expect ${call}`);
}
