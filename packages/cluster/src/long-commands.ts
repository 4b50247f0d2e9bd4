// Commands that take several cycles: they may touch every partition of a queue, or name tens of thousands
// of messages, so the engine plans them a bounded step at a time, and each step is part of an entry of its
// own. The client gets one answer, after the last step. What a step did is durable whatever happens later:
// when the leadership ends in between, the rest is not done and the answer is `outcome_unknown`; the same
// command again completes it.

import { unreachable } from '@queen-ts/base';
import type { Command, Outcome } from '@queen-ts/protocol';
import { Fifo } from './fifo.ts';
import { inDoubt, tooManyLongCommands } from './refusals.ts';
import type { Request } from './request.ts';

/** Steps that one cycle plans; a command gets one of them at most. */
const STEPS_PER_CYCLE = 8;

interface LongCommand {
  readonly request: Request;
  /** The step to come. */
  readonly command: Command;
}

/** Commands between two of their steps, in turn. */
export class LongCommands {
  readonly #waiting = new Fifo<LongCommand>();
  readonly #max: number;

  /** @param max commands that may be under way at once. */
  constructor(max: number) {
    this.#max = max;
  }

  /** Commands under way. */
  get size(): number {
    return this.#waiting.size;
  }

  /** Refuses a command that may need several steps when too many are under way; then true. */
  refuse(request: Request): boolean {
    if (this.#waiting.size < this.#max || !mayBeLong(request.command)) return false;
    request.fail(tooManyLongCommands(this.#max));
    return true;
  }

  /** Keeps a request whose first step left something to do; false when it is complete. */
  keep(request: Request, outcome: Outcome): boolean {
    return this.#keep(request, request.command, outcome);
  }

  /** Plans the next step of some commands, until they are enough, and hands over the complete ones. */
  advance(
    plan: (command: Command, request: Request) => Outcome,
    settle: (request: Request, outcome: Outcome) => void,
    isEnough: () => boolean,
  ): void {
    const count = Math.min(STEPS_PER_CYCLE, this.#waiting.size);
    for (let i = 0; i < count && !isEnough(); i += 1) {
      const next = this.#waiting.shift();
      if (next === undefined) return;
      // Nobody is there to take what a pop would claim.
      if (next.command.kind === 'pop' && next.request.state === 'answered') continue;
      const outcome = plan(next.command, next.request);
      if (!this.#keep(next.request, next.command, outcome)) settle(next.request, outcome);
    }
  }

  /** Answers clients whose time is over; their commands are completed all the same. */
  expire(nowUs: number): void {
    if (this.#waiting.size === 0) return;
    this.#waiting.retain(({ request }) => {
      const isOver = request.state !== 'answered' && request.deadlineUs <= nowUs;
      if (isOver) request.fail(inDoubt(request));
      return true;
    });
  }

  /** Takes every request: nothing goes on here. */
  drain(): Request[] {
    return this.#waiting.drain().map(({ request }) => request);
  }

  #keep(request: Request, command: Command, outcome: Outcome): boolean {
    const next = nextStep(command, outcome);
    if (next === undefined) return false;
    // Part of it may be durable already: what ends it from now on leaves its outcome unknown.
    if (request.state !== 'answered') request.state = 'planned';
    this.#waiting.push({ request, command: next });
    return true;
  }
}

function mayBeLong(command: Command): boolean {
  switch (command.kind) {
    case 'seek':
      return command.partition === undefined;
    case 'deleteGroup':
    case 'purgeDeadLetters':
    case 'deleteDeadLetters':
      return true;
    default:
      return false;
  }
}

/** The step after the one with this outcome; undefined when there is none. */
function nextStep(command: Command, outcome: Outcome): Command | undefined {
  switch (command.kind) {
    case 'seek':
      if (outcome.kind !== 'seek' || outcome.next === undefined) return undefined;
      return { ...command, from: outcome.next, countedBefore: outcome.partitionsUpdated };
    case 'deleteGroup':
      if (outcome.kind !== 'deleteGroup' || outcome.next === undefined) return undefined;
      return { ...command, from: outcome.next, countedBefore: outcome.cursorsDeleted };
    case 'purgeDeadLetters':
    case 'deleteDeadLetters':
      if (outcome.kind !== 'deletedDeadLetters' || outcome.next === undefined) return undefined;
      return { ...command, from: outcome.next, countedBefore: outcome.deleted };
    case 'ack':
      if (outcome.kind !== 'ack' || outcome.next === undefined) return undefined;
      return { ...command, from: outcome.next };
    case 'pop':
      // Nothing was found so far, and not everything was looked at: the search goes on where it was.
      return outcome.kind === 'pop' && outcome.isCut ? command : undefined;
    case 'push':
    case 'transaction':
    case 'extend':
    case 'release':
    case 'configure':
    case 'deleteQueue':
    case 'subscribe':
    case 'replayDeadLetter':
    case 'maintenance':
      return undefined;
    default:
      return unreachable(command);
  }
}
