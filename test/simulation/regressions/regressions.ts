// Seeds that once showed a bug of the product, with what it was. A seed means another history as soon as
// the simulator changes, so each fixed bug also has a test of its own in its package; these keep the
// neighbourhood of the bug in every run.

/** One seed that failed once. */
export interface Regression {
  readonly seed: number;
  /** The property that it violated. */
  readonly property: string;
  /** What was wrong. */
  readonly what: string;
}

/** All of them, oldest first. */
export const REGRESSIONS: readonly Regression[] = [
  {
    seed: 16,
    property: 'nodes stop for a reason',
    what: 'the hash key was unknown while a deposed leader rebuilt its engine',
  },
  {
    seed: 20186,
    property: 'I7 no answer from old state',
    what: 'a waiting pop was told «empty» by a leader that had been asleep, and on a claim that never committed',
  },
  {
    seed: 89,
    property: 'none: 775,000 timers in one run',
    what: 'the timer of the parked pops fired without end while a sync kept the planner waiting',
  },
  {
    seed: 61036,
    property: 'leases last',
    what: 'a deposed leader whose wall clock had jumped took the wall time for the log time',
  },
  {
    seed: 61769,
    property: 'leases last',
    what: 'entries that arrived late set back what a follower knew of the log time',
  },
  {
    seed: 61006,
    property: 'leases last',
    what: 'entries of the own log, read at the start, were taken for news of the time',
  },
  {
    seed: 1027,
    property: "the log's time keeps pace",
    what: 'a follower let the stamps of a leader run on that let the time stand still',
  },
  {
    seed: 1346,
    property: 'I4 leases last',
    what: 'a leader set the time back although it was behind by a change of leaders already',
  },
  {
    seed: 1412,
    property: "the log's time keeps pace",
    what: 'a node did not hear of a leader that set the time back and whose entries were lost',
  },
  {
    seed: 103537,
    property: "the log's time keeps pace",
    what: 'a follower believed itself rather than a leader that had learned of the time late',
  },
  {
    seed: 7373,
    property: 'liveness',
    what: 'the timer of the parked pops fired without end while a transfer kept the planner waiting',
  },
  {
    seed: 311127,
    property: 'I7 no answer from old state',
    what: 'a partition was offered to nobody whose lease timer had fired before the time was set back',
  },
];
