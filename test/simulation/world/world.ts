// What every part of one run shares: time, luck, the trace, what went wrong on purpose, and the first
// violation.

import { Dice } from './dice.ts';
import type { FaultKind, Profile } from './profile.ts';
import { SnapshotLibrary } from '../nodes/snapshots.ts';
import { Trace } from './trace.ts';
import { VirtualTime } from './virtual-time.ts';

/** Things that go wrong without the nemesis choosing the moment. */
export type IncidentKind =
  | 'messageDropped'
  | 'messageDuplicated'
  | 'messageDelayed'
  | 'answerLost'
  | 'unsyncedLost'
  | 'unsyncedKept'
  | 'writeTorn'
  | 'crashAtDisk'
  | 'logStartMoved'
  | 'archivePurged'
  | 'snapshotInstalled'
  | 'snapshotCallLost'
  | 'transferCrashed'
  | 'transferDone'
  | 'transferRefused'
  | 'transferInDoubt'
  | 'changeTaken'
  | 'changeRefused';

/** A property that does not hold. */
export interface Violation {
  /** Name of the property. */
  readonly property: string;
  readonly message: string;
}

/** One run's world. */
export class World {
  readonly seed: number;
  readonly profile: Profile;
  readonly time = new VirtualTime();
  readonly snapshots = new SnapshotLibrary();
  readonly trace: Trace;
  /** Faults so far, by kind. */
  readonly faults = new Map<FaultKind | IncidentKind, number>();
  /** True while nothing goes wrong: during most foundings, and after the faults. */
  isPeaceful: boolean;
  /** False once a process led that had only a wrong wall clock to tell the log's time by. */
  isLogTimeKnown = true;
  #violation: Violation | undefined;

  constructor(options: {
    readonly seed: number;
    readonly profile: Profile;
    readonly isTraced: boolean;
  }) {
    this.seed = options.seed;
    this.profile = options.profile;
    this.isPeaceful = options.profile.foundsInPeace;
    this.trace = new Trace({ isOn: options.isTraced, nowUs: () => this.time.nowUs });
  }

  /** The first violation; the run ends with it. */
  get violation(): Violation | undefined {
    return this.#violation;
  }

  /** Dice for one part of the run; equal names give equal luck. */
  dice(stream: number): Dice {
    return new Dice(this.seed, stream);
  }

  /** Reports that a property does not hold. Never throws: the product must not catch it. */
  violate(property: string, message: string): void {
    if (this.#violation !== undefined) return;
    this.#violation = { property, message };
    this.trace.add(() => `VIOLATION of ${property}: ${message}`);
  }

  /** Counts a fault. */
  count(kind: FaultKind | IncidentKind): void {
    this.faults.set(kind, (this.faults.get(kind) ?? 0) + 1);
  }
}
