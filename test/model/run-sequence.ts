// Runs one sequence against the engine and the model side by side and compares after every command.

import { deepStrictEqual, ok } from 'node:assert/strict';
import { formatUuid } from '@queen-ts/base';
import { PUSH_STATUS, ZERO_ID } from '@queen-ts/protocol';
import type { Claim, Id128, Outcome, OutcomeOf, PopCommand } from '@queen-ts/protocol';
import { modelAck } from './ack.ts';
import type { ModelAckVerdict } from './ack.ts';
import { compareListing } from './compare-listing.ts';
import { compareRows } from './compare-rows.ts';
import { Deliveries } from './deliveries.ts';
import { Fairness } from './fairness.ts';
import { modelExtend, modelRelease } from './leases.ts';
import { LogRows, readSpan } from './log-rows.ts';
import { GROUPS, OVERSIZED } from './operations.ts';
import type { Sequence, Step } from './operations.ts';
import { ParkedPops } from './parked-pops.ts';
import { packCommand } from './plain-commands.ts';
import type { PlainAck, PlainCommand, PlainPush, PlainTransaction } from './plain-commands.ts';
import { modelPop } from './pop.ts';
import { modelCleanup, modelRetention } from './retention.ts';
import { runAdmin } from './run-admin.ts';
import type { AdminOperation, Paused } from './run-admin.ts';
import { modelPush, noteForgettable } from './push.ts';
import { modelConfigure } from './queues.ts';
import { HASH_KEY, Replicas, START_US } from './replicas.ts';
import { findPartition, SECOND_US } from './state.ts';
import type { ModelQueues } from './state.ts';
import { transactionObstacles } from './transaction.ts';
import { Translator } from './translator.ts';
import { describeCommand, describeLease, describeOutcome } from './trace.ts';
import { knownPairs, nextClaimableUs } from './visibility.ts';

/** Appends above this are refused, so that sequences meet refusals too. */
const ENTRY_BYTES_MAX = 5000;

/** Limits at which a pop gives up early and is signalled to come again, and acks take a step a target. */
const TIGHT_LIMITS = {
  ackStepCostBytes: 1,
  partitionsScannedMax: 2,
  timersFiredMax: 1,
  popBytesMax: 800,
};

/** How often a pop may be cut short before it knows what is there. */
const TRIES_MAX = 50;

/** Time between two cycles when nothing else passes. */
const CYCLE_US = 1000;

/** A pop's claim whose payloads are compared once the entry can be read. */
interface Delivered {
  readonly claim: Claim;
  readonly expected: readonly { readonly offset: number; readonly payload: string }[];
}

/** One run. Throws at the first difference; `trace` then says what happened until there. */
export class SequenceRun {
  readonly trace: string[] = [];
  readonly #replicas: Replicas;
  readonly #model: ModelQueues = new Map();
  readonly #rows: LogRows;
  readonly #parked: ParkedPops;
  readonly #fairness: Fairness;
  readonly #deliveries = new Deliveries();
  readonly #translator: Translator;
  readonly #paused: Paused = { push: false, pop: false };
  #delivered: Delivered[] = [];
  #nowUs = START_US;
  #isOpen = false;
  readonly #sequence: Sequence;

  constructor(sequence: Sequence) {
    this.#sequence = sequence;
    const limits = sequence.isTight ? TIGHT_LIMITS : {};
    this.#replicas = new Replicas({ entryBytesMax: ENTRY_BYTES_MAX, ...limits });
    this.#rows = new LogRows(this.#replicas.payloads);
    this.#parked = new ParkedPops(this.#model);
    this.#fairness = new Fairness(this.#model);
    this.#translator = new Translator(this.#model, this.#deliveries);
  }

  /** Runs the sequence and what must hold at its end. */
  run(): void {
    for (const step of this.#sequence.steps) this.#step(step);
    this.#housekeepAll();
    this.#replicas.finish();
  }

  #step(step: Step): void {
    if (!step.joins) this.#close();
    switch (step.op) {
      case 'wait':
        this.#wait(step.ms * 1000);
        return;
      case 'waitForNext':
        this.#wait(this.#untilNextUs() + step.offsetUs);
        return;
      case 'failOver':
        this.#failOver();
        return;
      case 'housekeep':
        this.#open();
        this.#replicas.leader.planHousekeeping(step.budget);
        return;
      case 'checkpoint':
        this.#close();
        this.trace.push(this.#replicas.checkpoint());
        return;
      case 'retire':
        this.#retire(step.budget, step.idleSeconds);
        return;
      case 'seek':
      case 'deleteGroup':
      case 'subscribe':
      case 'replay':
      case 'purge':
      case 'deleteDeadLetters':
      case 'maintenance':
      case 'find':
        this.#admin(step);
        return;
      default: {
        const command = this.#translator.command(step, this.#nowUs);
        if (command !== undefined) this.#request(command, step);
      }
    }
  }

  #wait(us: number): void {
    this.#close();
    this.#nowUs += Math.max(0, us);
    this.trace.push(`wait ${us / 1e6} s`);
  }

  #untilNextUs(): number {
    const pairs = knownPairs(this.#model.values());
    const nextUs = Math.min(Infinity, ...pairs.map((pair) => nextClaimableUs(pair, this.#nowUs)));
    // The next cycle adds its own step.
    return nextUs === Infinity ? 0 : nextUs - this.#nowUs - CYCLE_US;
  }

  #failOver(): void {
    this.#close();
    this.trace.push('the replica takes the lead');
    this.#replicas.failOver();
    this.#fairness.restart();
    this.#parked.clear(this.#replicas.leader);
  }

  #admin(operation: AdminOperation): void {
    this.#open();
    runAdmin(
      {
        engine: this.#replicas.leader,
        model: this.#model,
        paused: this.#paused,
        deliveries: this.#deliveries,
        nowUs: this.#nowUs,
        mint: () => this.#translator.mint(1),
        note: (line) => this.trace.push(line),
      },
      operation,
    );
    if (operation.op === 'deleteGroup') this.#parked.dropGroup(GROUPS[operation.group]!);
    // Groups look at their queues afresh, in an order of their own.
    this.#fairness.restart();
    this.#afterCommand();
  }

  /** A cycle of its own, since the rows must say what the engine removed. */
  #retire(budget: number, idleSeconds: number | null): void {
    this.#close();
    this.#open();
    const { leader } = this.#replicas;
    this.trace.push(`retire, ${budget} at a time`);
    while (!leader.planRetention(budget));
    modelRetention(this.#model, this.#nowUs);
    this.#compareListing();
    if (idleSeconds === null) return;
    const idleUs = idleSeconds * SECOND_US;
    this.trace.push(`remove partitions that were idle for ${idleSeconds} s`);
    while (!leader.planCleanup({ budget, idleUs }));
    const isRemoved = (number: number | undefined): boolean =>
      number !== undefined && leader.partitionName(number) === undefined;
    modelCleanup(this.#model, { nowUs: this.#nowUs, idleUs, isRemoved });
    this.#compareListing();
    this.#close();
  }

  #open(): void {
    if (this.#isOpen) return;
    this.#isOpen = true;
    this.#nowUs += CYCLE_US;
    const { leader } = this.#replicas;
    this.#replicas.open(this.#nowUs);
    this.trace.push(`-- cycle at +${(this.#nowUs - START_US) / 1e6} s`);
    while (leader.advanceTo(this.#nowUs));
    const timerUs = leader.nextTimerUs();
    ok(timerUs > this.#nowUs, `the next timer is due ${this.#nowUs - timerUs} us ago`);
    noteForgettable(this.#model, this.#nowUs);
    this.#fairness.refresh(this.#nowUs);
    this.#parked.expire(this.#nowUs);
    if (this.#sequence.drainsOften) this.#wakeParked();
  }

  #wakeParked(): void {
    const { leader } = this.#replicas;
    this.#parked.wake(leader, (pop) => {
      this.trace.push(`parked pop with lease ${describeLease(pop.leaseId)} again`);
      const outcome = expectKind(this.#plan(pop), 'pop');
      return outcome.claims.length > 0;
    });
    if (!this.#paused.pop) this.#parked.check(leader, this.#nowUs);
  }

  #close(): void {
    if (!this.#isOpen) return;
    this.#wakeParked();
    this.#isOpen = false;
    const entry = this.#replicas.close();
    if (entry !== undefined) this.#rows.apply(entry);
    compareRows(this.#model, this.#rows);
    deepStrictEqual(this.#rows.paused, { ...this.#paused }, 'what the rows say is paused');
    for (const { claim, expected } of this.#delivered) this.#comparePayloads(claim, expected);
    this.#delivered = [];
  }

  #comparePayloads(claim: Claim, expected: Delivered['expected']): void {
    const where = `messages of ${claim.queue}/${claim.partition}`;
    const read = claim.spans.flatMap((span) => readSpan(this.#replicas.payloads, span));
    deepStrictEqual(
      read.map(({ offset, payload }) => ({ offset, payload })),
      expected,
      where,
    );
  }

  #request(command: PlainCommand, step: Step): void {
    this.#open();
    let outcome = this.#plan(command);
    for (let tries = 0; isCutShort(outcome); tries += 1) {
      ok(tries < TRIES_MAX, `a pop is still cut short after ${tries} tries`);
      outcome = this.#plan(command);
    }
    if (command.kind === 'pop' && step.op === 'pop' && step.waitSeconds > 0) {
      const isEmpty = outcome.kind === 'pop' && outcome.claims.length === 0;
      if (isEmpty) this.#parked.park(command, this.#nowUs + step.waitSeconds * SECOND_US);
    }
    if (this.#sequence.drainsOften) this.#wakeParked();
  }

  #afterCommand(): void {
    this.#compareListing();
    this.#fairness.refresh(this.#nowUs);
    if (this.#sequence.drainsOften) this.#wakeParked();
  }

  #plan(command: PlainCommand): Outcome {
    const described = describeCommand(command, this.#model);
    this.trace.push(described);
    const { leader } = this.#replicas;
    const packed = packCommand(command, HASH_KEY);
    let outcome = leader.plan(packed);
    while (packed.kind === 'ack' && outcome.kind === 'ack' && outcome.next !== undefined) {
      outcome = leader.plan({ ...packed, from: outcome.next });
    }
    this.trace[this.trace.length - 1] = `${described} → ${describeOutcome(outcome)}`;
    this.#compareOutcome(command, outcome);
    this.#compareListing();
    this.#fairness.refresh(this.#nowUs);
    return outcome;
  }

  #compareOutcome(command: PlainCommand, outcome: Outcome): void {
    switch (command.kind) {
      case 'push':
        if (this.#paused.push) expectPaused(outcome);
        else this.#comparePush(command, expectKind(outcome, 'push'));
        return;
      case 'pop':
        this.#comparePop(command, expectKind(outcome, 'pop'));
        return;
      case 'ack': {
        const expected = modelAck(this.#model, command, this.#nowUs);
        compareAck(command, expectKind(outcome, 'ack'), expected);
        return;
      }
      case 'transaction':
        this.#compareTransaction(command, outcome);
        return;
      case 'extend': {
        const leaseId = command.leaseId === undefined ? undefined : formatUuid(command.leaseId);
        const { seconds } = command;
        const expected = modelExtend(this.#model, { leaseId, seconds }, this.#nowUs);
        deepStrictEqual(outcome, { kind: 'extend', ...expected });
        return;
      }
      case 'release': {
        const released = modelRelease(this.#model, formatUuid(command.leaseId), this.#nowUs);
        deepStrictEqual(outcome, { kind: 'release', released });
        return;
      }
      case 'configure': {
        const { queue, queueId, options } = expectKind(outcome, 'configure');
        const expected = modelConfigure(this.#model, command, this.#nowUs);
        const id = formatUuid(queueId);
        expected.id ??= id;
        // Groups look at the queue afresh under its new delays.
        this.#fairness.restart();
        const { name } = expected;
        deepStrictEqual(
          { queue, id, options },
          { queue: name, id: expected.id, options: expected.options },
        );
        return;
      }
      case 'deleteQueue': {
        const existed = this.#model.delete(command.queue);
        deepStrictEqual(outcome, { kind: 'deleteQueue', queue: command.queue, existed });
      }
    }
  }

  #comparePush(push: PlainPush, outcome: OutcomeOf<'push'>): void {
    const seen = push.items.map((_, i) => ({
      status: outcome.statuses[i]!,
      offset: outcome.offsets[i]!,
      id: formatUuid(idAt(outcome.messageIds, i)),
    }));
    const queued = seen.filter(({ status }) => status === PUSH_STATUS.QUEUED).map(({ id }) => id);
    const reserve = push.items.map((_, i) => formatUuid(plus(push.idBase, i)));
    ok(new Set(queued).size === queued.length, 'message ids repeat');
    ok(
      queued.every((id) => reserve.includes(id)),
      'a message id is not from the reserve',
    );
    const choices = { nowUs: this.#nowUs, observed: seen, refusedFromBytes: OVERSIZED };
    const expected = modelPush(this.#model, push, choices);
    seen.forEach((verdict, i) => {
      const wanted = expected[i]!;
      if (wanted.status === PUSH_STATUS.ERROR) {
        deepStrictEqual(verdict.status, PUSH_STATUS.ERROR, `status of item ${i}`);
        ok(outcome.errors?.has(i) === true, `error of item ${i}`);
      } else deepStrictEqual(verdict, wanted, `verdict of item ${i}`);
    });
  }

  #comparePop(pop: PopCommand, outcome: OutcomeOf<'pop'>): void {
    if (this.#paused.pop) {
      deepStrictEqual([outcome.claims.length, outcome.emptyReason], [0, 'paused'], 'paused pop');
      return;
    }
    const leaseId = formatUuid(pop.leaseId);
    const visited = outcome.claims.map((claim) => {
      const { queue, partition, deliveryAttempt: attempt } = claim;
      return { queue, partition, attempt, count: offsetsOf(claim).length };
    });
    const mayStopEarly = this.#sequence.isTight && (outcome.isCut || visited.length > 0);
    ok(this.#sequence.isTight || !outcome.isCut, 'a pop was cut short far from any limit');
    const choices = { nowUs: this.#nowUs, leaseId, visited, mayStopEarly };
    const expected = modelPop(this.#model, pop, choices);
    deepStrictEqual(
      outcome.claims.map((it) => ({
        queue: it.queue,
        partition: it.partition,
        offsets: offsetsOf(it),
      })),
      expected.claims.map((it) => ({
        queue: it.queue,
        partition: it.partition,
        offsets: it.messages.map(({ offset }) => offset),
      })),
      'claims',
    );
    outcome.claims.forEach((claim, i) => {
      const { attempts, messages } = expected.claims[i]!;
      const attempt = claim.deliveryAttempt;
      ok(attempts.includes(attempt), `attempt ${attempt}, not ${attempts.join('|')}`);
      const partition = this.#model.get(claim.queue)!.partitions.get(claim.partition)!;
      partition.number ??= claim.partitionNumber;
      deepStrictEqual(claim.partitionNumber, partition.number, 'partition number');
      const read = messages.map(({ offset, payload }) => ({ offset, payload }));
      this.#delivered.push({ claim, expected: read });
    });
    this.#comparePopFrame(pop, outcome, expected);
    this.#noteServed(pop, outcome);
    this.#deliveries.add(pop, expected.claims, this.#model);
  }

  #comparePopFrame(
    pop: PopCommand,
    outcome: OutcomeOf<'pop'>,
    expected: ReturnType<typeof modelPop>,
  ): void {
    const count = expected.claims.reduce((sum, { messages }) => sum + messages.length, 0);
    deepStrictEqual(
      { group: outcome.group, autoAck: outcome.autoAck, count: outcome.messageCount },
      { group: pop.group, autoAck: pop.autoAck, count },
    );
    // Without a claim the id names no lease: the answer leaves it out.
    const leaseId = pop.autoAck || count === 0 ? ZERO_ID : pop.leaseId;
    deepStrictEqual(outcome.leaseId, leaseId, 'lease id');
    if (count > 0) deepStrictEqual(outcome.emptyReason, undefined, 'reason of a pop with messages');
    else {
      const { emptyReason } = outcome;
      const { emptyReasons } = expected;
      const isOpen = outcome.isCut;
      const isRight = emptyReason !== undefined && (isOpen || emptyReasons.includes(emptyReason));
      ok(isRight, `reason is ${emptyReason}, not ${emptyReasons.join('|')}`);
    }
    const policies = new Set(expected.conflations);
    if (policies.size !== 1) return;
    const conflation = policies.has(true);
    const conflict = pop.conflation !== undefined && pop.conflation !== conflation;
    deepStrictEqual(
      { conflation: outcome.conflation, conflict: outcome.conflationConflict },
      { conflation, conflict },
      'conflation',
    );
  }

  #noteServed(pop: PopCommand, outcome: OutcomeOf<'pop'>): void {
    // A pop that gives up early may have passed over the partition it looked at last.
    if (pop.scope.kind === 'partition' || this.#sequence.isTight) return;
    const byQueue = Map.groupBy(outcome.claims, ({ queue }) => queue);
    for (const [queue, claims] of byQueue) {
      const partitions = claims.map(({ partition }) => partition);
      this.#fairness.noteServed(queue, pop.group, partitions);
    }
  }

  /** Decides on a copy of the model whether the bundle commits; only then the model changes. */
  #compareTransaction(transaction: PlainTransaction, outcome: Outcome): void {
    const { acks, push } = transaction;
    if (push !== undefined && this.#paused.push) {
      expectPaused(outcome);
      return;
    }
    const obstacles = transactionObstacles(this.#model, transaction, this.#nowUs);
    if (outcome.kind === 'rolledBack') {
      ok(obstacles.possible.includes(outcome.reason), `rolled back: ${outcome.message}`);
      return;
    }
    const committed = expectKind(outcome, 'transaction');
    deepStrictEqual(obstacles.certain, [], 'obstacles of a committed transaction');
    acks.forEach((ack, i) => {
      const expected = modelAck(this.#model, ack, this.#nowUs);
      compareAck(ack, committed.acks[i]!, expected);
    });
    if (push !== undefined) this.#comparePush(push, committed.push!);
  }

  #compareListing(): void {
    compareListing(this.#replicas.leader, this.#model, this.#nowUs);
  }

  #housekeepAll(): void {
    this.#close();
    this.#open();
    const { leader } = this.#replicas;
    while (leader.planHousekeeping(100) === 100);
    this.#close();
    deepStrictEqual(leader.counters().partitionsToRemove, 0, 'partitions left of deleted queues');
    const live = [...this.#rows.partitions.values()];
    for (const { number } of live) {
      ok(findPartition(this.#model, number) !== undefined, `partition ${number} was left behind`);
    }
  }
}

/** Such a pop may not be answered yet: it is planned again. */
function isCutShort(outcome: Outcome): boolean {
  return outcome.kind === 'pop' && outcome.isCut;
}

function compareAck(
  ack: PlainAck,
  outcome: OutcomeOf<'ack'>,
  expected: readonly ModelAckVerdict[],
): void {
  expected.forEach((verdict, i) => {
    const seen = {
      errors: outcome.errors[i]!,
      leaseReleased: outcome.leaseReleased[i] === 1,
      deadLettered: outcome.deadLettered[i] === 1,
      noops: outcome.noops[i] === 1,
    };
    const fits =
      verdict.errors.includes(seen.errors) &&
      verdict.leaseReleased.includes(seen.leaseReleased) &&
      verdict.deadLettered.includes(seen.deadLettered) &&
      verdict.noops.includes(seen.noops);
    ok(fits, `ack item ${i} got ${JSON.stringify(seen)}, wanted ${JSON.stringify(verdict)}`);
  });
  const statuses = ack.items.map(({ status }) => status);
  deepStrictEqual(Array.from(outcome.statuses), statuses, 'statuses');
}

function expectPaused(outcome: Outcome): void {
  const refusal = expectKind(outcome, 'refused');
  deepStrictEqual(refusal.code, 'maintenance', 'code of a paused push');
}

function expectKind<K extends Outcome['kind']>(outcome: Outcome, kind: K): OutcomeOf<K> {
  ok(outcome.kind === kind, `${kind} was answered with ${JSON.stringify(outcome)}`);
  return outcome as OutcomeOf<K>;
}

function offsetsOf(claim: Claim): number[] {
  return claim.spans.flatMap(({ baseOffset, first, count }) =>
    Array.from({ length: count }, (_, i) => baseOffset + first + i),
  );
}

function idAt(words: Uint32Array, position: number): Id128 {
  const at = position * 4;
  return [words[at]!, words[at + 1]!, words[at + 2]!, words[at + 3]!];
}

function plus(id: Id128, count: number): Id128 {
  return [id[0], id[1], id[2], id[3] + count];
}
