// Pops and other requests as plain as tests need them.

import type { PopCommand, PopScope, PushCommand } from '@queen-ts/protocol';
import { PopRequest, Request } from '../request.ts';

let ticket = 0;

/** A waiting pop. */
export function waitingPop(options: {
  readonly scope: PopScope;
  readonly group?: string;
  readonly deadlineUs?: number;
}): PopRequest {
  const command: PopCommand = {
    kind: 'pop',
    scope: options.scope,
    group: options.group ?? 'g',
    leaseId: [1, 2, 3, 4],
    batch: 10,
    partitions: 1,
    autoAck: false,
    leaseSeconds: 0,
    subscription: { mode: 'all' },
    conflation: undefined,
  };
  ticket += 1;
  const deadlineUs = options.deadlineUs ?? 1_000_000;
  return new PopRequest(command, { deadlineUs, wait: true, ticket });
}

/** A push that carries a body of `size` bytes and nothing in it. */
export function pushOfSize(size: number, deadlineUs = 1_000_000): Request {
  const command: PushCommand = {
    kind: 'push',
    itemCount: 0,
    queues: [],
    body: new Uint8Array(size),
    text: new Uint8Array(0),
    itemColumns: new Uint32Array(0),
    txnHashes: new Uint32Array(0),
    groupColumns: new Uint32Array(0),
    order: new Uint32Array(0),
    idBase: [0, 0, 0, 1],
    producerSub: null,
  };
  return new Request(command, deadlineUs);
}

/** An extension of a lease that does not exist. */
export function extendRequest(deadlineUs = 1_000_000): Request {
  return new Request({ kind: 'extend', leaseId: undefined, seconds: 1 }, deadlineUs);
}
