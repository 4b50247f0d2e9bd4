// TCP keeps the contract of a transport.

import type { NodeId } from '@queen-ts/raft';
import { eventually, TcpNodes } from './testing/tcp-nodes.ts';
import {
  CONTRACT_INCOMING_REQUESTS_MAX,
  describeTransportContract,
} from './testing/transport-contract.ts';
import type { TransportFixture } from './testing/transport-contract.ts';

async function createFixture(nodeCount: number): Promise<TransportFixture> {
  const all = await TcpNodes.start(nodeCount, {
    limits: { incomingRequestsMax: CONTRACT_INCOMING_REQUESTS_MAX },
  });
  const setCut = (isCut: boolean) => (a: NodeId, b: NodeId) => {
    for (const proxy of [all.proxy(a, b), all.proxy(b, a)]) {
      proxy.isCut = isCut;
      if (isCut) proxy.kill();
    }
  };
  return {
    nodes: all.nodes,
    nowUs: () => all.nodes[0]!.time.monotonicUs(),
    eventually,
    cut: setCut(true),
    heal: setCut(false),
    close: () => all.close(),
  };
}

describeTransportContract('TCP', createFixture);
