// Timers as an argument: real ones in the server, virtual ones in simulation.

/** Runs tasks later. Tasks of one scheduler never overlap: everything runs on the core thread. */
export interface Scheduler {
  /**
   * Runs `task` once, no earlier than `delayUs` microseconds from now (0 or more).
   * Returns a function that cancels it; calling that late or twice does nothing.
   */
  after(delayUs: number, task: () => void): () => void;
  /** Runs `task` once the I/O events that are already waiting have been handled. */
  defer(task: () => void): void;
}
