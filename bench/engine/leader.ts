// One engine as the leader of nobody: no network, no disk. The entries' payloads are kept apart from
// the engine and can be moved to a file at any time, so that memory figures are those of the engine.

import { formatUuid, idPlus } from '@queen-ts/base';
import { Engine, ENGINE_LIMITS_DEFAULT } from '@queen-ts/engine';
import type { EntryParts } from '@queen-ts/engine';
import { ackCommand, popCommand } from '@queen-ts/engine/testing';
import type { PopFields } from '@queen-ts/engine/testing';
import { BlockReader } from '@queen-ts/protocol';
import type {
  AckCommand,
  Claim,
  Command,
  Id128,
  Outcome,
  PopCommand,
  PopOutcome,
} from '@queen-ts/protocol';
import { BenchPayloads } from './payloads.ts';

/** Key of the transaction-id hash of every measured engine. */
export const HASH_KEY = Uint32Array.of(1, 2, 3, 4);

/** Queue and group of every scenario. */
export const QUEUE = 'orders';
export const GROUP = 'billing';

const START_US = 1_800_000_000_000_000;
const CYCLE_US = 1000;

/** Plans commands in cycles. */
export class Leader {
  readonly payloads = new BenchPayloads();
  readonly engine = new Engine({ payloads: this.payloads, limits: ENGINE_LIMITS_DEFAULT });
  /** All entries, if they are kept. */
  readonly entries: ({ readonly index: number } & EntryParts)[] = [];
  readonly keepsEntries: boolean;
  #index = 0;
  #nowUs = START_US;
  #minted = 0;

  constructor(options: { readonly keepsEntries: boolean } = { keepsEntries: false }) {
    this.keepsEntries = options.keepsEntries;
    this.cycle(() => this.engine.planGenesis({ clusterId: [1, 2, 3, 4], hashKey: HASH_KEY }));
  }

  /** Time of the newest cycle, in microseconds. */
  get nowUs(): number {
    return this.#nowUs;
  }

  /** The first of `count` fresh ids. */
  mint(count: number): Id128 {
    this.#minted += count;
    return [0x01a0_0000, 0x7000, 0x8000_0000, this.#minted - count + 1];
  }

  /** Runs one cycle, a millisecond after the one before. */
  cycle<T>(run: () => T, payloadSizeHint = 0): T {
    const index = this.#index + 1;
    this.#nowUs += CYCLE_US;
    this.engine.openCycle({ index, nowUs: this.#nowUs, payloadSizeHint });
    const result = run();
    const parts = this.engine.closeCycle();
    this.engine.drainSignals({ appended: () => {}, armed: () => {} });
    if (parts === undefined) return result;
    this.#index = index;
    this.payloads.add(index, parts.payload);
    if (this.keepsEntries) this.entries.push({ index, ...parts });
    return result;
  }

  /** Plans a command with all its steps, inside a cycle. */
  plan(command: Command): Outcome {
    let outcome = this.engine.plan(command);
    while (command.kind === 'ack' && outcome.kind === 'ack' && outcome.next !== undefined) {
      outcome = this.engine.plan({ ...command, from: outcome.next });
    }
    return outcome;
  }

  /** Plans commands, `perCycle` of them in each cycle. */
  run(commands: readonly Command[], perCycle: number): Outcome[] {
    const outcomes: Outcome[] = [];
    for (let from = 0; from < commands.length; from += perCycle) {
      const some = commands.slice(from, from + perCycle);
      this.cycle(
        () => {
          for (const command of some) outcomes.push(this.plan(command));
        },
        some.reduce((sum, command) => sum + payloadSizeOf(command), 0),
      );
    }
    return outcomes;
  }

  /** Applies the kept entries to a new engine, which must come to the same state. */
  replicate(): Engine {
    const replica = new Engine({ payloads: this.payloads, limits: ENGINE_LIMITS_DEFAULT });
    for (const entry of this.entries) replica.apply(entry);
    if (replica.digest() !== this.engine.digest()) throw new Error('the digests differ');
    return replica;
  }

  /** Prepares a pop of the whole queue by the group of the scenarios. */
  pop(fields: PopFields): PopCommand {
    return popCommand({ queue: QUEUE, group: GROUP, ...fields }, this.mint(1));
  }

  /** Prepares an ack that names every message of some claims of one pop. */
  ack(popped: PopOutcome, claims: readonly Claim[]): AckCommand {
    const items = claims.flatMap((claim) =>
      this.#messageIds(claim).map((id) => ({
        partition: claim.partitionNumber,
        id,
        lease: popped.leaseId,
      })),
    );
    return ackCommand(items, { group: popped.group, hashKey: HASH_KEY });
  }

  /** Ids of minted messages: those of an append are consecutive. */
  #messageIds(claim: Claim): string[] {
    return claim.spans.flatMap((span) => {
      const first = new BlockReader(this.payloads, span).messageId(0);
      return Array.from({ length: span.count }, (_, i) =>
        formatUuid(idPlus(first, span.first + i)),
      );
    });
  }
}

/** The outcome of a pop; anything else is an error of the scenario. */
export function asPop(outcome: Outcome | undefined): PopOutcome {
  if (outcome?.kind !== 'pop') throw new Error(`a pop was answered ${outcome?.kind}`);
  return outcome;
}

/** Throws unless every item of every ack was settled. */
export function expectAcked(outcomes: readonly Outcome[]): void {
  const areGood = outcomes.every(
    (outcome) =>
      outcome.kind === 'ack' &&
      outcome.next === undefined &&
      outcome.errors.every((error) => error === 0),
  );
  if (!areGood) throw new Error('an ack was refused');
}

/** About what a command adds to the payload, as the broker estimates it from the request. */
function payloadSizeOf(command: Command): number {
  return command.kind === 'push' ? command.body.length + command.itemCount * 160 : 0;
}
