// Calls between processes, about snapshots: there and back over the network, which may lose either way.
// The caller learns that only by the end of its time, or when it gives up itself.

import type { Cluster } from './cluster.ts';
import type { Process, SnapshotPeerCall } from './process.ts';

/** Carries one call. Resolves with the answer; rejects when none comes in time, or an error does. */
export function callPeer(
  cluster: Cluster,
  caller: Process,
  { to, bytes, deadlineUs, signal }: SnapshotPeerCall,
): Promise<Uint8Array> {
  const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>();
  const { id: from, clock } = caller.host;
  const waitUs = Math.max(0, deadlineUs - clock.monotonicUs());
  const cancel = caller.after(waitUs, () => {
    cluster.world.count('snapshotCallLost');
    reject(new Error('no answer in time'));
  });
  signal.addEventListener('abort', () => {
    cancel();
    reject(new Error('given up'));
  });
  const answer = (run: () => void): void => {
    cluster.network.carry({ from: to, to: from }, () => {
      caller.run(() => {
        cancel();
        run();
      });
    });
  };
  cluster.network.carry({ from, to }, () => {
    const callee = cluster.nodes[to - 1]?.process;
    callee?.run(() => {
      callee.broker?.receiveSnapshot(from, bytes).then(
        (reply) => callee.run(() => answer(() => resolve(reply))),
        (error: unknown) => callee.run(() => answer(() => reject(asError(error)))),
      );
    });
  });
  return promise;
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
