// Pop outcomes for tests: messages that really lie in an append block.

import { ByteWriter } from '@queen-ts/base';
import { parsePush, payloadOf, writeBlock } from '@queen-ts/protocol';
import type { EmptyReason, PayloadReader, PopCommand, PopOutcome } from '@queen-ts/protocol';

/** An outcome, and the reader that finds its payloads. */
export interface Delivered {
  readonly outcome: PopOutcome;
  readonly payloads: PayloadReader;
}

/** Delivers payloads (JSON texts) of partition `Default`, number 4, from offset 0 on. */
export function delivered(command: PopCommand, payloads: readonly string[]): Delivered {
  const items = payloads.map((payload) => `{"queue":"orders","payload":${payload}}`);
  const push = parsePush(Buffer.from(`{"items":[${items.join(',')}]}`), {
    hashKey: new Uint32Array(4),
    mintIds: () => [1, 2, 3, 4],
    producerSub: null,
    tenant: '',
  });
  if (push.kind !== 'push') throw new Error(`not a push: ${JSON.stringify(push)}`);
  const writer = new ByteWriter();
  const blockSize = writeBlock(writer, {
    command: push,
    positions: push.order,
    from: 0,
    toExclusive: payloads.length,
    partitionNumber: 4,
    baseOffset: 0,
    createdUs: 1_700_000_000_000_000,
    messageId: push.idBase,
  });
  const count = payloads.length;
  const span = { entryIndex: 1, blockStart: 0, blockSize, baseOffset: 0, first: 0, count };
  return {
    outcome: {
      ...emptyPop(command, undefined),
      claims: [
        {
          queue: 'orders',
          partition: 'Default',
          partitionNumber: 4,
          deliveryAttempt: 1,
          spans: [span],
        },
      ],
      messageCount: count,
    },
    payloads: payloadOf(writer.bytes.slice(0, writer.length)),
  };
}

/** An outcome without messages. */
export function emptyPop(command: PopCommand, reason: EmptyReason | undefined): PopOutcome {
  return {
    kind: 'pop',
    leaseId: command.leaseId,
    autoAck: command.autoAck,
    group: command.group,
    claims: [],
    messageCount: 0,
    emptyReason: reason,
    conflation: false,
    conflationConflict: false,
    isCut: false,
  };
}
