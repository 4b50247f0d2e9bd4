// Where a node's state comes from: the newest checkpoint, or nothing. Used at the start and whenever
// the engine has to be rebuilt; there is no other way to a state.

import { assert, formatUuid } from '@queen-ts/base';
import type { Clock } from '@queen-ts/base';
import { Engine, EngineRestorer } from '@queen-ts/engine';
import type { EngineOptions } from '@queen-ts/engine';
import type { CheckpointStore, LogPosition } from '@queen-ts/raft';
import type { EngineState } from './replica.ts';
import type { Scheduler } from './scheduler.ts';

/** Restoring longer than this in one turn lets other work in between, in microseconds. */
const TURN_US = 2000;

/** A state that the log continues. */
export interface StoredState extends EngineState {
  /** The record of the log that the state stands at; all zero for an empty state. */
  readonly position: LogPosition;
  /** Head of the newest membership entry up to there; undefined when there was none. */
  readonly membership: Uint8Array | undefined;
}

/** Parts of loading. */
export interface LoadParts {
  readonly checkpoints: CheckpointStore;
  readonly engineOptions: EngineOptions;
  readonly clock: Clock;
  readonly scheduler: Scheduler;
}

/** Loads the newest checkpoint; without one, an empty state. */
export async function loadState(parts: LoadParts): Promise<StoredState> {
  const { checkpoints, engineOptions, clock, scheduler } = parts;
  let restorer = new EngineRestorer(engineOptions);
  let turnEndsUs = clock.monotonicUs() + TURN_US;
  const turn = (): Promise<void> =>
    new Promise((resolve) => {
      scheduler.defer(() => {
        turnEndsUs = clock.monotonicUs() + TURN_US;
        resolve();
      });
    });
  const loaded = await checkpoints.load({
    begin: () => {
      restorer = new EngineRestorer(engineOptions);
    },
    piece: (bytes) => {
      restorer.accept(bytes);
      return clock.monotonicUs() < turnEndsUs ? undefined : turn();
    },
  });
  if (loaded === undefined) {
    const position = { index: 0, term: 0, checksum: 0 };
    return { engine: new Engine(engineOptions), appliedIndex: 0, position, membership: undefined };
  }
  const { meta, position } = loaded;
  for (const _ of restorer.derive()) {
    if (clock.monotonicUs() >= turnEndsUs) await turn();
  }
  const engine = restorer.finish();
  const found = `${clusterIdOf(engine)} ${engine.digest()}`;
  const expected = `${meta.clusterId} ${meta.digest}`;
  assert(found === expected, () => `checkpoint ${meta.index} gives ${found}, not ${expected}`);
  return { engine, appliedIndex: position.index, position, membership: meta.membership };
}

/** Id of the engine's cluster as text; empty while it has none. */
export function clusterIdOf(engine: Engine): string {
  return engine.identity === undefined ? '' : formatUuid(engine.identity.clusterId);
}
