// Planted bugs of the driver and of the engine.

import {
  CheckpointJob,
  InFlight,
  LeaderClock,
  LogTime,
  Replica,
} from '@queen-ts/cluster/internals';
import type { InFlightEntry } from '@queen-ts/cluster/internals';
import { Engine, EngineRestorer } from '@queen-ts/engine';
import type { Outcome } from '@queen-ts/protocol';
import type { Mutant } from './mutant.ts';
import { replaceMethod } from './mutant.ts';

/** What was planned before a leadership ended is answered when its index commits, with whatever. */
const answerByIndex: Mutant = {
  name: 'answer-by-index',
  what: 'an answer is released when its index commits, in whatever term',
  install: () => {
    const orphans = new WeakMap<InFlight, InFlightEntry[]>();
    const undoDrain = replaceMethod(InFlight.prototype, 'drain', (drain) => {
      return function (this: InFlight): InFlightEntry[] {
        orphans.set(this, [...(orphans.get(this) ?? []), ...drain.call(this)]);
        return [];
      };
    });
    const undoTake = replaceMethod(InFlight.prototype, 'take', (take) => {
      return function (this: InFlight, index: number): InFlightEntry | undefined {
        const orphan = orphans.get(this)?.find((entry) => entry.index === index);
        for (const { request, outcome } of orphan?.settlements ?? []) {
          if (request.state !== 'answered') request.answer(outcome);
        }
        return take.call(this, index);
      };
    });
    return () => {
      undoDrain();
      undoTake();
    };
  },
};

/** A deposed leader goes on with tables that contain what never committed. */
const keepDeposedState: Mutant = {
  name: 'keep-deposed-state',
  what: 'a deposed leader keeps tables that are ahead of what is committed',
  install: () => replaceMethod(Replica.prototype, 'rebuild', () => () => {}),
};

/** Rows of an engine that has applied entries and now plans for the first time. */
function onFirstCycle(harm: (engine: Engine) => void): () => void {
  const seen = new WeakSet<Engine>();
  return replaceMethod(Engine.prototype, 'openCycle', (openCycle) => {
    return function (this: Engine, cycle): void {
      if (!seen.has(this)) {
        seen.add(this);
        harm(this);
      }
      openCycle.call(this, cycle);
    };
  });
}

/** A new leader counts a partition's messages one short. */
const reuseOffset: Mutant = {
  name: 'reuse-offset',
  what: 'a node that starts to lead gives the last offset of a partition out again',
  install: () =>
    onFirstCycle(({ state }) => {
      const { partitions, blocks } = state;
      partitions.numbers.forEach((_, row) => {
        const tail = partitions.tail.get(row);
        if (blocks.tails.count(row) !== 1 || blocks.tails.retained(row) !== 1) return;
        blocks.clear(row);
        partitions.tail.set(row, tail - 1);
      });
    }),
};

/** A new leader has forgotten which transaction ids it has seen. */
const forgetDedup: Mutant = {
  name: 'forget-dedup',
  what: 'transaction ids are forgotten when a node rebuilds its state',
  install: () => onFirstCycle(({ state }) => state.dedup.forgetBefore(Infinity)),
};

/** Checkpoints come without the transaction ids. */
const forgetDedupInCheckpoint: Mutant = {
  name: 'forget-dedup-in-checkpoint',
  what: 'a state that is loaded from a checkpoint knows no transaction ids',
  install: () =>
    replaceMethod(EngineRestorer.prototype, 'finish', (finish) => {
      return function (this: EngineRestorer): Engine {
        const engine = finish.call(this);
        engine.state.dedup.forgetBefore(Infinity);
        return engine;
      };
    }),
};

/** Snapshots come without the transaction ids. */
const forgetDedupInSnapshot: Mutant = {
  name: 'forget-dedup-in-snapshot',
  what: 'a state that came with a snapshot knows no transaction ids',
  install: () => {
    const installed = new WeakSet<Replica>();
    const undoResume = replaceMethod(Replica.prototype, 'resume', (resume) => {
      return function (this: Replica): void {
        installed.add(this);
        resume.call(this);
      };
    });
    const undoCommit = replaceMethod(Replica.prototype, 'commit', (commit) => {
      return function (this: Replica, entry, isPlanned): void {
        if (installed.has(this) && this.isCurrent) {
          installed.delete(this);
          this.engine.state.dedup.forgetBefore(Infinity);
        }
        commit.call(this, entry, isPlanned);
      };
    });
    return () => {
      undoResume();
      undoCommit();
    };
  },
};

/** A checkpoint of planned entries counts once others were committed in their place. */
const checkpointNewerThanLog: Mutant = {
  name: 'checkpoint-newer-than-log',
  what: 'a checkpoint contains entries that never committed',
  install: () => replaceMethod(CheckpointJob.prototype, 'leadershipLost', () => () => {}),
};

/** Pops do not see how long a lease still has. */
const shortLeases: Mutant = {
  name: 'short-leases',
  what: 'a pop takes a partition whose lease has not run out',
  install: () => {
    return replaceMethod(Engine.prototype, 'plan', (plan) => {
      return function (this: Engine, command) {
        const { state } = this;
        const before = state.nowUs;
        if (command.kind === 'pop') state.nowUs += 2_000_000;
        const outcome = plan.call(this, command);
        state.nowUs = before;
        return outcome;
      };
    });
  },
};

/** A new leader takes its wall clock for the log's time. */
const trustWallClock: Mutant = {
  name: 'trust-wall-clock',
  what: 'a new leader stamps entries by its wall clock, wherever the log stands',
  install: () => replaceMethod(LogTime.prototype, 'nowUs', () => () => undefined),
};

/** A new leader goes on with the time as if nobody could have been wrong about it. */
const noHandoverGrace: Mutant = {
  name: 'no-handover-grace',
  what: 'a new leader gives the leases of earlier ones no more time',
  install: () =>
    replaceMethod(LeaderClock, 'startUs', () => (wallUs, { floorUs, logUs }) => {
      return Math.max(logUs ?? wallUs, floorUs + 1);
    }),
};

/** The acks of a transaction are forgotten. */
const halfTransaction: Mutant = {
  name: 'half-transaction',
  what: 'a transaction stores its messages without its acks',
  install: () =>
    replaceMethod(Engine.prototype, 'plan', (plan) => {
      return function (this: Engine, command): Outcome {
        if (command.kind !== 'transaction' || command.push === undefined) {
          return plan.call(this, command);
        }
        const push = plan.call(this, command.push);
        const { transactionId } = command;
        return push.kind === 'push' ? { kind: 'transaction', transactionId, acks: [], push } : push;
      };
    }),
};

/** Planted bugs of driver and engine. */
export const BROKER_MUTANTS: readonly Mutant[] = [
  answerByIndex,
  keepDeposedState,
  reuseOffset,
  forgetDedup,
  forgetDedupInCheckpoint,
  forgetDedupInSnapshot,
  checkpointNewerThanLog,
  shortLeases,
  trustWallClock,
  noHandoverGrace,
  halfTransaction,
];
