// Genesis: the cluster's identity, once.

import { assert } from '@queen-ts/base';
import type { GenesisEffect } from '@queen-ts/protocol';
import type { State } from '../state.ts';

/** Fixes the identity. */
export function applyGenesis(state: State, effect: GenesisEffect): void {
  assert(state.identity === undefined, 'a second genesis');
  state.identity = { clusterId: effect.clusterId, hashKey: Uint32Array.from(effect.hashKey) };
}
