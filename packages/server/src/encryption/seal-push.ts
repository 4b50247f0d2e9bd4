// Seals the payloads of a push: those of queues that encrypt are replaced by their sealed form, the others
// are copied, so that all lie in one body again.

import { assert, copyBytes, decodeUtf8 } from '@queen-ts/base';
import { MINTED_TXN, PUSH_GROUP, PUSH_ITEM, SealBindings, SEALING } from '@queen-ts/protocol';
import type { PushCommand } from '@queen-ts/protocol';
import { SEAL_SIZE } from './payload-cipher.ts';
import type { PayloadCipher } from './payload-cipher.ts';

/**
 * Returns the push with sealed payloads for the queues that `sealings` marks so. Yields after each item:
 * sealing takes microseconds, and there may be many. The command itself stays as it is.
 */
export function* sealPush(
  command: PushCommand,
  sealings: Uint8Array,
  cipher: PayloadCipher,
): Generator<undefined, PushCommand> {
  const itemColumns = command.itemColumns.slice();
  const body = new Uint8Array(sealedSize(command, sealings));
  const { groupColumns, order } = command;
  let at = 0;
  for (let group = 0; group < groupColumns.length; group += PUSH_GROUP.WIDTH) {
    const isSealed = sealings[groupColumns[group + PUSH_GROUP.QUEUE]!] === SEALING.SEALED;
    const bindings = isSealed ? bindingsOf(command, group) : undefined;
    const from = groupColumns[group + PUSH_GROUP.ORDER_START]!;
    const toExclusive = from + groupColumns[group + PUSH_GROUP.ORDER_COUNT]!;
    for (let i = from; i < toExclusive; i += 1) {
      const item = order[i]! * PUSH_ITEM.WIDTH;
      const start = itemColumns[item + PUSH_ITEM.PAYLOAD_START]!;
      const size = itemColumns[item + PUSH_ITEM.PAYLOAD_LENGTH]!;
      itemColumns[item + PUSH_ITEM.PAYLOAD_START] = at;
      if (bindings === undefined) {
        copyBytes(command.body, start, start + size, body, at);
        at += size;
        continue;
      }
      const payload = command.body.subarray(start, start + size);
      cipher.seal(payload, bindingOf(command, item, bindings), body, at);
      itemColumns[item + PUSH_ITEM.PAYLOAD_LENGTH] = size + SEAL_SIZE;
      at += size + SEAL_SIZE;
      yield;
    }
  }
  assert(at === body.length, () => `sealed payloads end at ${at} of ${body.length}`);
  return { ...command, body, itemColumns, sealings };
}

/** Size of all payloads once they are sealed, in bytes. */
function sealedSize({ groupColumns, itemColumns, itemCount }: PushCommand, sealings: Uint8Array) {
  let size = 0;
  for (let item = 0; item < itemCount; item += 1) {
    size += itemColumns[item * PUSH_ITEM.WIDTH + PUSH_ITEM.PAYLOAD_LENGTH]!;
  }
  for (let group = 0; group < groupColumns.length; group += PUSH_GROUP.WIDTH) {
    if (sealings[groupColumns[group + PUSH_GROUP.QUEUE]!] !== SEALING.SEALED) continue;
    size += groupColumns[group + PUSH_GROUP.ORDER_COUNT]! * SEAL_SIZE;
  }
  return size;
}

function bindingsOf({ groupColumns, queues, text }: PushCommand, group: number): SealBindings {
  const start = groupColumns[group + PUSH_GROUP.NAME_START]!;
  const partition = decodeUtf8(text, start, start + groupColumns[group + PUSH_GROUP.NAME_LENGTH]!);
  assert(partition !== undefined, 'the name of a partition is UTF-8');
  return new SealBindings(queues[groupColumns[group + PUSH_GROUP.QUEUE]!]!, partition);
}

function bindingOf(command: PushCommand, item: number, bindings: SealBindings): Uint8Array {
  const { idBase, itemColumns, text } = command;
  const size = itemColumns[item + PUSH_ITEM.TXN_LENGTH]!;
  if (size === MINTED_TXN) return bindings.minted(idBase);
  const start = itemColumns[item + PUSH_ITEM.TXN_START]!;
  return bindings.given(text.subarray(start, start + size));
}
