// One request between its arrival and its answer.

import { assert } from '@queen-ts/base';
import { ZERO_ID } from '@queen-ts/protocol';
import type { Command, Id128, Outcome, PopCommand, RequestId } from '@queen-ts/protocol';

/** Fixed cost that a queued command is charged on top of its body, in bytes. */
const COMMAND_OVERHEAD_BYTES = 256;

/**
 * Where a request is. `queued`: waits for a planning cycle. `parked`: an empty pop that waits for
 * messages. `planned`: its outcome waits for a commit. `answered`: its promise is settled.
 */
export type RequestState = 'queued' | 'parked' | 'planned' | 'answered';

/** A command with its deadline and the promise of its outcome. */
export class Request<C extends Command = Command> {
  command: C;
  /** Names the request over all its attempts; undefined when it is never sent again. */
  readonly id: RequestId | undefined;
  /** Monotonic microseconds. */
  readonly deadlineUs: number;
  /** What the request counts for in queue limits, in bytes. */
  readonly sizeBytes: number;
  /** Settles exactly once. */
  readonly outcome: Promise<Outcome>;
  state: RequestState = 'queued';
  readonly #settlers: PromiseWithResolvers<Outcome>;

  constructor(command: C, deadlineUs: number, id?: RequestId) {
    this.command = command;
    this.id = id;
    this.deadlineUs = deadlineUs;
    this.sizeBytes = COMMAND_OVERHEAD_BYTES + bodySize(command);
    this.#settlers = Promise.withResolvers<Outcome>();
    this.outcome = this.#settlers.promise;
  }

  /** Answers with what was planned. */
  answer(outcome: Outcome): void {
    assert(this.state !== 'answered', () => `${this.command.kind} answered twice`);
    this.state = 'answered';
    this.#settlers.resolve(outcome);
  }

  /** Answers with an error. */
  fail(error: Error): void {
    assert(this.state !== 'answered', () => `${this.command.kind} failed after its answer`);
    this.state = 'answered';
    this.#settlers.reject(error);
  }
}

function bodySize(command: Command): number {
  if (command.kind === 'push') return command.body.length;
  return command.kind === 'transaction' ? (command.push?.body.length ?? 0) : 0;
}

/** A pop: it may park, and its client may leave. */
export class PopRequest extends Request<PopCommand> {
  /** Whether an empty outcome parks. */
  readonly wait: boolean;
  /** Arrival order over all pops of this node; parked pops wake oldest first. */
  readonly ticket: number;
  /** The empty outcome that a parked pop answers with at its deadline. */
  lastEmpty: Outcome | undefined;
  /** Monotonic time until which it waits for a fuller batch; undefined while it does not. */
  heldUntilUs: number | undefined;

  constructor(
    command: PopCommand,
    options: {
      readonly deadlineUs: number;
      readonly wait: boolean;
      readonly ticket: number;
      readonly id?: RequestId | undefined;
    },
  ) {
    super(command, options.deadlineUs, options.id);
    this.wait = options.wait;
    this.ticket = options.ticket;
  }

  /**
   * Makes «new» mean new since `nowUs`, the time of the first attempt: what arrives while the pop
   * waits is new, also where its group becomes known only then.
   */
  anchorAt(nowUs: number): void {
    if (this.command.subscription.mode !== 'new') return;
    this.command = { ...this.command, subscription: { mode: 'from', fromUs: nowUs } };
  }

  /** Answers a parked pop whose time is over; does nothing if it was answered. */
  answerEmpty(): void {
    if (this.state === 'answered') return;
    assert(this.lastEmpty !== undefined, 'a parked pop was tried before');
    this.answer(this.lastEmpty);
  }
}

/** What a pop answers that had no time to be tried. */
export function emptyOutcome({ group, autoAck }: PopCommand): Outcome {
  return {
    kind: 'pop',
    leaseId: ZERO_ID,
    autoAck,
    group,
    claims: [],
    messageCount: 0,
    emptyReason: 'empty',
    isCut: false,
    conflation: false,
    conflationConflict: false,
  };
}

/** True when the outcome says that nothing is there to deliver, so that the pop may park. */
export function isEmptyPop(outcome: Outcome): boolean {
  return outcome.kind === 'pop' && outcome.claims.length === 0;
}

/** The lease that an undelivered outcome must give back, if it has one. */
export function claimOf(outcome: Outcome): Id128 | undefined {
  if (outcome.kind !== 'pop' || outcome.claims.length === 0 || outcome.autoAck) return undefined;
  return outcome.leaseId;
}
