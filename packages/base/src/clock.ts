// Time as an argument. Only the composition roots build a clock that reads the real one.

/** A source of time. Both readings are integers in microseconds. */
export interface Clock {
  /** Microseconds since the Unix epoch; may jump in either direction. For showing and stamping. */
  wallUs(): number;
  /** Microseconds since an arbitrary start; never goes back. For measuring and deadlines. */
  monotonicUs(): number;
}
