// The in-memory network keeps the contract under virtual time.

import { toNodeId } from '@queen-ts/raft';
import type { NodeId } from '@queen-ts/raft';
import { ManualTime } from '../../testing/manual-scheduler.ts';
import { TRANSPORT_LIMITS_DEFAULT } from '../transport-limits.ts';
import { MemoryNetwork } from './memory-network.ts';
import { RecordingHandler } from './recording-handler.ts';
import { CONTRACT_INCOMING_REQUESTS_MAX, describeTransportContract } from './transport-contract.ts';
import type { TransportFixture } from './transport-contract.ts';

const STEP_US = 1000;
const STEPS_MAX = 10_000;

async function createFixture(nodeCount: number): Promise<TransportFixture> {
  const time = new ManualTime();
  const limits = {
    ...TRANSPORT_LIMITS_DEFAULT,
    incomingRequestsMax: CONTRACT_INCOMING_REQUESTS_MAX,
  };
  const network = new MemoryNetwork({ clock: time, scheduler: time, limits, latencyUs: 200 });
  const ids = Array.from({ length: nodeCount }, (_, i) => toNodeId(i + 1));
  const addresses = ids.map((id) => ({ id, address: `memory:${id}` }));
  const nodes = ids.map((id) => {
    return { id, transport: network.create(id, addresses), handler: new RecordingHandler() };
  });
  for (const { transport, handler } of nodes) await transport.start(handler);
  const both = (act: (from: NodeId, to: NodeId) => void, a: NodeId, b: NodeId): void => {
    act(a, b);
    act(b, a);
  };
  return {
    nodes,
    nowUs: () => time.monotonicUs(),
    eventually: (check) => eventually(time, check),
    cut: (a, b) => both((from, to) => network.cut(from, to), a, b),
    heal: (a, b) => both((from, to) => network.heal(from, to), a, b),
    close: async () => {
      for (const { transport } of nodes) await transport.stop();
    },
  };
}

/** Passes virtual time until `check` does not throw. */
async function eventually(time: ManualTime, check: () => void): Promise<void> {
  for (let step = 0; step < STEPS_MAX; step += 1) {
    await time.settle();
    try {
      return check();
    } catch {
      await time.pass(STEP_US);
    }
  }
  check();
}

describeTransportContract('The in-memory network', createFixture);
