// The answer of a queue deletion (data-plane reference §7): always 200, also when nothing existed.

import { encodeUtf8 } from '@queen-ts/base';
import type { DeleteQueueOutcome } from '../outcomes.ts';

/** Returns the body of the answer. */
export function renderDeleteQueue({ existed, queue }: DeleteQueueOutcome): Uint8Array {
  const answer = existed
    ? { deleted: true, existed: true, queue }
    : { deleted: false, existed: false, queue, message: 'Queue not found, nothing was deleted' };
  return encodeUtf8(JSON.stringify(answer));
}
