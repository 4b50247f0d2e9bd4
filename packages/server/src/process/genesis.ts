// What a cluster gets once, when its first leader founds it.

import { HASH_WORDS, UuidMinter } from '@queen-ts/base';
import type { Clock, Rng } from '@queen-ts/base';
import type { ClusterIdentity } from '@queen-ts/engine';

/** Draws an identity for a new cluster. `rng` must be unpredictable: the hash key is a secret. */
export function newClusterIdentity(clock: Clock, rng: Rng): ClusterIdentity {
  const clusterId = new UuidMinter(clock, rng).mint(1);
  return { clusterId, hashKey: Uint32Array.from({ length: HASH_WORDS }, () => rng.u32()) };
}
