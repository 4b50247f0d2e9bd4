// Consumers that fight for single partitions: each is a register that one lease holds. Leases are
// longer than any run, so only a release frees one. Judged: some order explains all answers (I4).

import { randomBelow } from '@queen-ts/base';
import type { Answer } from '../../support/http-client.ts';
import type { AckVerdict, Batch } from '../../support/wire.ts';
import { checkClaimRegisters } from '../checkers/claim-register.ts';
import type { RegisterOperation } from '../checkers/claim-register.ts';
import { mapOutcome } from './member-client.ts';
import type { MemberClient } from './member-client.ts';
import { createQueue, insist } from './consuming.ts';
import type { NamedVerdict, Workload, WorkloadContext } from './workload.ts';

const QUEUE = 'chaos-register';
const GROUP = 'g';
const CONSUMERS = 3;
const LEASE_SECONDS = 3600;
const HELD_MS_MAX = 30;
/** A history this long is checked fast; then the consumers move on to a fresh register. */
const OPERATIONS_MAX = 60;
/** So many answers «leased» in a row: its holder was lost with its answer. */
const LEASED_IN_A_ROW_MAX = 12;

interface Register {
  readonly name: string;
  readonly operations: RegisterOperation[];
  leasedInARow: number;
}

/** Claims and releases of one partition after the other. */
export class RegisterWorkload implements Workload {
  readonly reads = [];
  readonly #context: WorkloadContext;
  readonly #registers = new Map<string, readonly RegisterOperation[]>();
  #current: Promise<Register> | undefined;

  constructor(context: WorkloadContext) {
    this.#context = context;
  }

  prepare(): Promise<void> {
    const options = { leaseTime: LEASE_SECONDS, retryLimit: 1_000_000 };
    return createQueue(this.#context, QUEUE, options);
  }

  async run(signal: AbortSignal): Promise<void> {
    await Promise.all(Array.from({ length: CONSUMERS }, () => this.#contend(signal)));
  }

  settle(): Promise<void> {
    return Promise.resolve();
  }

  judge(): readonly NamedVerdict[] {
    return [{ checker: 'claim register (I4)', ...checkClaimRegisters(this.#registers) }];
  }

  async #contend(signal: AbortSignal): Promise<void> {
    const rng = this.#context.rng();
    const client = this.#context.client();
    while (!signal.aborted) {
      const register = await this.#register(client);
      if (register === undefined) continue;
      const batch = await this.#claim(client, register);
      await new Promise((resolve) => setTimeout(resolve, randomBelow(rng, HELD_MS_MAX)));
      if (batch !== undefined) await this.#release(client, register, batch);
    }
    client.close();
  }

  /** The register that all consumers use now; a new one if that is used up. */
  async #register(client: MemberClient): Promise<Register | undefined> {
    const current = await this.#current?.catch(() => undefined);
    const isUsedUp =
      current === undefined ||
      current.operations.length >= OPERATIONS_MAX ||
      current.leasedInARow >= LEASED_IN_A_ROW_MAX;
    if (!isUsedUp) return current;
    // Another consumer may have seen the same at the same time.
    const latest = await this.#current?.catch(() => undefined);
    if (latest === current) this.#current = this.#create(client);
    return this.#current?.catch(() => undefined);
  }

  async #create(client: MemberClient): Promise<Register> {
    const name = `r${this.#registers.size + 1}`;
    const operations: RegisterOperation[] = [];
    this.#registers.set(name, operations);
    const item = { queue: QUEUE, partition: name, transactionId: name, payload: name };
    const body = { items: [item] };
    await insist('a register', () => client.ask('POST', '/api/v1/push', { body }));
    return { name, operations, leasedInARow: 0 };
  }

  async #claim(client: MemberClient, register: Register): Promise<Batch | undefined> {
    const path = `/api/v1/pop/queue/${QUEUE}/partition/${register.name}?consumerGroup=${GROUP}&batch=1`;
    const { startUs, endUs, outcome: answer } = await client.ask('GET', path);
    // Any other reason for an empty answer says nothing about the lease.
    if (answer.kind === 'ok' && !tellsOfLease(answer.value)) return undefined;
    const batch = mapOutcome(answer, ({ status, text }) => {
      return status === 204 ? undefined : (JSON.parse(text) as Batch);
    });
    const outcome = mapOutcome(batch, (value) => ({ lease: value?.leaseId }));
    register.operations.push({ kind: 'claim', startUs, endUs, outcome });
    if (batch.kind !== 'ok') return undefined;
    register.leasedInARow = batch.value === undefined ? register.leasedInARow + 1 : 0;
    return batch.value;
  }

  async #release(client: MemberClient, register: Register, batch: Batch): Promise<void> {
    const { leaseId, partitionId, messages } = batch;
    const transactionId = messages[0]?.transactionId;
    const acknowledgments = [{ transactionId, partitionId, leaseId, status: 'retry' }];
    const body = { acknowledgments, consumerGroup: GROUP };
    const { startUs, endUs, outcome } = await client.ask('POST', '/api/v1/ack/batch', { body });
    const isAccepted = mapOutcome(outcome, ({ text }) => {
      return (JSON.parse(text) as AckVerdict[])[0]?.success === true;
    });
    const operation = { kind: 'release', startUs, endUs, lease: leaseId } as const;
    register.operations.push({ ...operation, outcome: isAccepted });
  }
}

function tellsOfLease({ status, headers }: Answer): boolean {
  return status === 200 || headers['queen-pop-reason'] === 'leased';
}
