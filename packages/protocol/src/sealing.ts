// Sealed payloads: what a payload is bound to when it is encrypted (docs/format/sealed-payload.md), and
// the door through which answers get it back. The cipher itself belongs to the edge.

import { encodeUtf8, writeIdBytes } from '@queen-ts/base';
import { BLOCK_FLAG } from './block.ts';
import { BLOCK_FRAME } from './block-reader.ts';
import type { BlockFrames, BlockReader } from './block-reader.ts';
import { MINTED_TXN } from './commands.ts';
import type { Id128 } from './commands.ts';
import { BrokerError } from './errors.ts';

/** What the receiving node has done for a queue that encrypts; the numbers are the wire of commands. */
export const SEALING = {
  /** Nothing: it has a key, and did not know that the queue encrypts. */
  NONE: 0,
  /** The payloads are sealed. */
  SEALED: 1,
  /** Nothing: it has no key, and such messages are to be refused. */
  KEYLESS: 2,
  /** Nothing: it has no key, and is told to store plaintext. */
  WAIVED: 3,
} as const;

/** One of {@link SEALING}. */
export type Sealing = (typeof SEALING)[keyof typeof SEALING];

/** Opens sealed payloads with the key of this node. */
export interface PayloadOpener {
  /** Whether a payload was sealed with the key of this node. */
  holdsKeyOf(sealed: Uint8Array): boolean;
  /**
   * Returns the payload as it was pushed. Throws `encryption_key_mismatch` when it was sealed with
   * another key, or was changed, or stands for another message than `binding` says.
   */
  open(sealed: Uint8Array, binding: Uint8Array): Uint8Array;
}

/** The opener of a node without a key: it opens nothing. */
export const NO_OPENER: PayloadOpener = {
  holdsKeyOf: () => false,
  open() {
    const message = 'the payload is encrypted and this node has no key: set QUEEN_ENCRYPTION_KEY';
    throw new BrokerError('encryption_key_mismatch', message);
  },
};

/** Where the id of the key stands in a sealed payload, and its size. */
export const SEALED_KEY_ID = { START: 1, SIZE: 8 } as const;

/** Whether a payload says that it was sealed with this key. `keyId` is empty without a key. */
export function isSealedWith(sealed: Uint8Array, keyId: Uint8Array): boolean {
  const { START, SIZE } = SEALED_KEY_ID;
  if (keyId.length !== SIZE || sealed.length < START + SIZE) return false;
  return keyId.every((byte, i) => sealed[START + i] === byte);
}

const BINDING_VERSION = 1;
const KIND = { MINTED: 0, GIVEN: 1 } as const;
const ID_SIZE = 16;

/** The part of a minted id that names the request; the rest counts its stored messages. */
const REQUEST_ID_SIZE = 12;

/**
 * Makes what the payloads of one partition are bound to: queue, partition and transaction id. A minted
 * transaction id counts without its last four bytes, which are given out when the message is stored,
 * after it was sealed.
 */
export class SealBindings {
  readonly #prefix: Uint8Array;

  constructor(queue: string, partition: string) {
    const names = [encodeUtf8(queue), encodeUtf8(partition)];
    const size = names.reduce((sum, name) => sum + 2 + name.length, 1);
    const prefix = new Uint8Array(size);
    prefix[0] = BINDING_VERSION;
    let at = 1;
    for (const name of names) {
      prefix[at] = name.length >> 8;
      prefix[at + 1] = name.length & 0xff;
      prefix.set(name, at + 2);
      at += 2 + name.length;
    }
    this.#prefix = prefix;
  }

  /** The binding of a message with a client's transaction id. */
  given(transactionId: Uint8Array): Uint8Array {
    return this.#join(KIND.GIVEN, transactionId);
  }

  /** The binding of a message whose transaction id is its message id, or any other id of its request. */
  minted(id: Id128): Uint8Array {
    const bytes = new Uint8Array(ID_SIZE);
    writeIdBytes(id, bytes, 0);
    return this.#join(KIND.MINTED, bytes.subarray(0, REQUEST_ID_SIZE));
  }

  #join(kind: number, id: Uint8Array): Uint8Array {
    const size = this.#prefix.length;
    const binding = new Uint8Array(size + 1 + id.length);
    binding.set(this.#prefix);
    binding[size] = kind;
    binding.set(id, size + 1);
    return binding;
  }
}

/** Where the messages of a block belong. */
export interface SealPlace {
  readonly queue: string;
  readonly partition: string;
}

/** Whether the payloads of a block are sealed. */
export function isSealed(block: Pick<BlockReader, 'flags'>): boolean {
  return (block.flags & BLOCK_FLAG.ENCRYPTED) !== 0;
}

/**
 * Opens the payloads of frames that were read from ordinal `first` of a sealed block on. Yields after each
 * message: opening takes microseconds, and there may be many. Throws as {@link PayloadOpener.open} does.
 */
export function* openFrames(
  {
    block,
    first,
    frames,
  }: {
    readonly block: BlockReader;
    readonly first: number;
    readonly frames: BlockFrames;
  },
  place: SealPlace,
  opener: PayloadOpener,
): Generator<undefined, BlockFrames> {
  const bindings = new SealBindings(place.queue, place.partition);
  const { bytes, spans } = frames;
  // What is opened is smaller than what was sealed, so the frames stay where they are.
  const opened = bytes.slice();
  const openedSpans = spans.slice();
  for (let row = 0; row < spans.length; row += BLOCK_FRAME.WIDTH) {
    const txnStart = spans[row + BLOCK_FRAME.TXN_START]!;
    const txnSize = spans[row + BLOCK_FRAME.TXN_LENGTH]!;
    const start = spans[row + BLOCK_FRAME.PAYLOAD_START]!;
    const size = spans[row + BLOCK_FRAME.PAYLOAD_LENGTH]!;
    const binding =
      txnSize === MINTED_TXN
        ? bindings.minted(block.messageId(first + row / BLOCK_FRAME.WIDTH))
        : bindings.given(bytes.subarray(txnStart, txnStart + txnSize));
    const payload = opener.open(bytes.subarray(start, start + size), binding);
    opened.set(payload, start);
    openedSpans[row + BLOCK_FRAME.PAYLOAD_LENGTH] = payload.length;
    yield;
  }
  return { bytes: opened, spans: openedSpans };
}
