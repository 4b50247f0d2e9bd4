// Who waits for messages behind an offset: fetches that found too little. The watch compares tails some
// times a second at most; it needs no news from the engine, so it works on every node alike.

import { highWatermark, partitionsCreated } from '@queen-ts/engine';
import type { EngineView } from '@queen-ts/engine';
import type { CancelSignal } from './broker.ts';
import type { BrokerLimits } from './limits.ts';
import { tooManyWaits } from './refusals.ts';
import type { Scheduler } from './scheduler.ts';

/** What a wait has seen of one partition. */
export interface AppendMark {
  /** Wire number; 0 stands for a partition that does not exist yet. */
  readonly partition: number;
  /** Offset of the next message. */
  readonly highWatermark: number;
}

/** How long to wait. */
export interface WaitOptions {
  /** From now, in microseconds. */
  readonly waitUs: number;
  readonly signal: CancelSignal;
}

interface Wait {
  readonly marks: readonly AppendMark[];
  /** What {@link partitionsCreated} said, if any mark has no partition. */
  readonly created: number | undefined;
  readonly end: (isChanged: boolean) => void;
}

/** Parts of the watch. */
export interface AppendWatchParts {
  readonly scheduler: Scheduler;
  readonly limits: Pick<BrokerLimits, 'watchedPartitionsMax' | 'watchUs'>;
  /** The state as it is now; undefined while it cannot be read. */
  readonly view: () => EngineView | undefined;
}

/** Waits in progress. */
export class AppendWatch {
  readonly #parts: AppendWatchParts;
  readonly #waits = new Set<Wait>();
  #watched = 0;
  #isScheduled = false;

  constructor(parts: AppendWatchParts) {
    this.#parts = parts;
  }

  /**
   * Resolves with true when one of the partitions has got messages behind its mark, with false when
   * the time is over, the signal aborts or the node stops. Rejects when too many are watched.
   */
  async wait(marks: readonly AppendMark[], options: WaitOptions): Promise<boolean> {
    const { limits, scheduler, view } = this.#parts;
    if (options.signal.aborted || options.waitUs <= 0) return false;
    if (this.#watched + marks.length > limits.watchedPartitionsMax) throw tooManyWaits();
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const hasUnknown = marks.some(({ partition }) => partition === 0);
    const now = view();
    const wait: Wait = {
      marks,
      created: hasUnknown && now !== undefined ? partitionsCreated(now) : undefined,
      end: (isChanged) => {
        if (!this.#waits.delete(wait)) return;
        this.#watched -= marks.length;
        cancel();
        options.signal.removeEventListener('abort', giveUp);
        resolve(isChanged);
      },
    };
    const giveUp = (): void => wait.end(false);
    const cancel = scheduler.after(options.waitUs, giveUp);
    options.signal.addEventListener('abort', giveUp, { once: true });
    this.#waits.add(wait);
    this.#watched += marks.length;
    this.changed();
    return promise;
  }

  /** The state may have changed: looks at it soon. */
  changed(): void {
    if (this.#isScheduled || this.#waits.size === 0) return;
    this.#isScheduled = true;
    this.#parts.scheduler.after(this.#parts.limits.watchUs, () => {
      this.#isScheduled = false;
      this.#check();
    });
  }

  /** Ends all waits: they answer with what there is. */
  endAll(): void {
    for (const wait of this.#waits) wait.end(false);
  }

  #check(): void {
    const view = this.#parts.view();
    if (view === undefined) return;
    for (const wait of this.#waits) {
      if (isOver(view, wait)) wait.end(true);
    }
  }
}

function isOver(view: EngineView, { marks, created }: Wait): boolean {
  if (created !== undefined && created !== partitionsCreated(view)) return true;
  return marks.some(
    (mark) => mark.partition !== 0 && highWatermark(view, mark.partition) !== mark.highWatermark,
  );
}
