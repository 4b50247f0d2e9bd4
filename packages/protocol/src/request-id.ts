// The request id of a client's `Idempotency-Key` (decisions D2): the keyed hash of tenant, request and key, so
// that nobody can aim at another's id and the memory of requests holds no texts.

import { encodeUtf8, hash128 } from '@queen-ts/base';
import type { HashKey } from '@queen-ts/base';
import { ID_WORDS } from './commands.ts';
import type { RequestId } from './commands.ts';
import { IDEMPOTENCY_KEY_BYTES_MAX } from './limits.ts';
import type { Refused } from './outcomes.ts';

/** Keeps these hashes apart from those of transaction ids. */
const DOMAIN = 'idempotency-key';

/**
 * Reads the header's value; refuses one that is empty, too long or no valid Unicode.
 * @param context `request` stands for everything else that the request says: under the same key another
 * request is another write, never answered with the outcome of the first.
 */
export function clientRequestId(
  key: string,
  context: { readonly hashKey: HashKey; readonly tenant: string; readonly request: string },
): RequestId | Refused {
  const size = encodeUtf8(key).length;
  if (size === 0 || size > IDEMPOTENCY_KEY_BYTES_MAX || !key.isWellFormed()) {
    const message = `Idempotency-Key must have 1 to ${IDEMPOTENCY_KEY_BYTES_MAX} bytes of text`;
    return { kind: 'refused', code: 'bad_request', message };
  }
  const text = encodeUtf8([DOMAIN, context.tenant, context.request, key].join('\n'));
  const words = new Uint32Array(ID_WORDS);
  hash128(context.hashKey, text, 0, text.length, words, 0);
  return { words: [words[0]!, words[1]!, words[2]!, words[3]!], isClientKey: true };
}
