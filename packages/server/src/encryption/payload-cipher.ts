// The cipher of payloads at rest: AES-256-GCM with a random 96-bit nonce a message. The form of a sealed
// payload is described in docs/format/sealed-payload.md.
//
//   offset size  field
//   0      1     format version (1)
//   1      8     id of the key
//   9      12    nonce
//   21     16    authentication tag over the ciphertext and what the payload is bound to
//   37     n     ciphertext of the n bytes that were pushed

import { BrokerError, isSealedWith, SEALED_KEY_ID } from '@queen-ts/protocol';
import type { PayloadOpener } from '@queen-ts/protocol';
import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  randomFillSync,
} from 'node:crypto';
import type { KeyObject } from 'node:crypto';

/** Size of a key in bytes. */
export const KEY_SIZE = 32;

/** What sealing adds to a payload, in bytes. */
export const SEAL_SIZE = 37;

const CIPHER = 'aes-256-gcm';
const VERSION = 1;
const KEY_ID_START = SEALED_KEY_ID.START;
const NONCE_START = KEY_ID_START + SEALED_KEY_ID.SIZE;
const TAG_START = 21;
const NONCE_SIZE = TAG_START - NONCE_START;

/** Nonces are drawn in batches: a call into the system for each would cost as much as the cipher. */
const NONCES_DRAWN = 256;

/** Seals and opens payloads with one key. */
export class PayloadCipher implements PayloadOpener {
  readonly #key: KeyObject;
  readonly #keyId: Uint8Array;
  readonly #nonces = new Uint8Array(NONCES_DRAWN * NONCE_SIZE);
  #nextNonce = this.#nonces.length;

  /** @param key {@link KEY_SIZE} bytes. */
  constructor(key: Uint8Array) {
    // As bytes the key would be taken in anew for each message, which costs more than the cipher.
    this.#key = createSecretKey(key);
    const keyId = createHmac('sha256', key).update('queen-ts key id').digest();
    this.#keyId = keyId.subarray(0, NONCE_START - KEY_ID_START);
  }

  /** The id of the key: it tells keys apart and nothing about them. */
  get keyIdBytes(): Uint8Array {
    return this.#keyId;
  }

  /** The same as 16 hex digits. */
  get keyId(): string {
    return hex(this.#keyId);
  }

  /** Writes the sealed form of a payload to `target[at]`; it is {@link SEAL_SIZE} bytes longer. */
  seal(payload: Uint8Array, binding: Uint8Array, target: Uint8Array, at: number): void {
    const nonce = this.#drawNonce();
    const cipher = createCipheriv(CIPHER, this.#key, nonce);
    cipher.setAAD(binding);
    target[at] = VERSION;
    target.set(this.#keyId, at + KEY_ID_START);
    target.set(nonce, at + NONCE_START);
    target.set(cipher.update(payload), at + SEAL_SIZE);
    cipher.final();
    target.set(cipher.getAuthTag(), at + TAG_START);
  }

  holdsKeyOf(sealed: Uint8Array): boolean {
    if (sealed.length < SEAL_SIZE || sealed[0] !== VERSION) return false;
    return isSealedWith(sealed, this.#keyId);
  }

  open(sealed: Uint8Array, binding: Uint8Array): Uint8Array {
    if (sealed.length < SEAL_SIZE || sealed[0] !== VERSION) {
      throw mismatch('the encrypted payload has a form that this build does not know');
    }
    if (!this.holdsKeyOf(sealed)) {
      const other = hex(sealed.subarray(KEY_ID_START, NONCE_START));
      throw mismatch(`the payload is encrypted with key ${other}, this node has ${this.keyId}`);
    }
    const nonce = sealed.subarray(NONCE_START, TAG_START);
    const decipher = createDecipheriv(CIPHER, this.#key, nonce);
    decipher.setAAD(binding);
    decipher.setAuthTag(sealed.subarray(TAG_START, SEAL_SIZE));
    const payload = decipher.update(sealed.subarray(SEAL_SIZE));
    try {
      decipher.final();
    } catch (cause) {
      const message = 'the encrypted payload, or the message that it stands in, was changed';
      throw mismatch(message, cause);
    }
    return payload;
  }

  #drawNonce(): Uint8Array {
    if (this.#nextNonce === this.#nonces.length) {
      randomFillSync(this.#nonces);
      this.#nextNonce = 0;
    }
    const start = this.#nextNonce;
    this.#nextNonce += NONCE_SIZE;
    return this.#nonces.subarray(start, this.#nextNonce);
  }
}

function mismatch(message: string, cause?: unknown): BrokerError {
  return new BrokerError('encryption_key_mismatch', message, { cause });
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}
