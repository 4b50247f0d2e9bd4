// Pops that commit on delivery and cannot open what they would deliver: nobody could give it back, so
// it is not claimed in the first place. Other pops find out when they are rendered, and give it back.

import { BLOCK_FRAME, BlockReader, isSealed, isSealedWith } from '@queen-ts/protocol';
import type { BlockSpan, PopCommand, Refused } from '@queen-ts/protocol';
import type { QueueState } from '../queue-state.ts';
import type { State } from '../state.ts';

/**
 * Whether a message of the spans is sealed with another key than that of the node that asks. Looks at
 * queues that encrypt; a block is of one push, and so of one key.
 */
export function holdsForeignKey(
  state: State,
  { autoAck, keyId }: PopCommand,
  { queue, spans }: { readonly queue: QueueState; readonly spans: readonly BlockSpan[] },
): boolean {
  if (!autoAck || keyId === undefined || !queue.options.encryptionEnabled) return false;
  return spans.some((span) => {
    const block = new BlockReader(state.payload, span);
    if (!isSealed(block)) return false;
    const { bytes, spans: frame } = block.frames(span.first, 1);
    const start = frame[BLOCK_FRAME.PAYLOAD_START]!;
    const end = start + frame[BLOCK_FRAME.PAYLOAD_LENGTH]!;
    return !isSealedWith(bytes.subarray(start, end), keyId);
  });
}

/** The refusal of a pop that found nothing else. */
export function foreignKey(): Refused {
  const message =
    'the messages are encrypted with a key that this node does not have; none was delivered';
  return { kind: 'refused', code: 'encryption_key_mismatch', message };
}
