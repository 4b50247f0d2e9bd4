import { BrokerError } from '@queen-ts/protocol';
import { describe, expect, test } from 'vitest';
import { PayloadCipher, SEAL_SIZE } from './payload-cipher.ts';

const KEY = Uint8Array.from({ length: 32 }, (_, i) => i);
const PAYLOAD = Buffer.from('{ "n": 1.0 }');
const BINDING = Buffer.from('queue/partition/id');

function sealed(cipher: PayloadCipher, payload: Uint8Array = PAYLOAD): Uint8Array {
  const target = new Uint8Array(payload.length + SEAL_SIZE + 10).fill(7);
  cipher.seal(payload, BINDING, target, 5);
  expect([...target.subarray(0, 5), ...target.subarray(-5)]).toEqual(Array(10).fill(7));
  return target.subarray(5, -5);
}

function problem(run: () => unknown): BrokerError {
  try {
    run();
  } catch (error) {
    if (error instanceof BrokerError) return error;
    throw error;
  }
  throw new Error('it opened');
}

describe('a sealed payload', () => {
  const cipher = new PayloadCipher(KEY);

  test('opens to the same bytes, also on another node with the key, and shows none of them', () => {
    for (const payload of [PAYLOAD, Buffer.alloc(0), Buffer.alloc(100_000, 'x')]) {
      const bytes = sealed(cipher, payload);
      if (payload.length > 0)
        expect(Buffer.from(bytes).includes(payload.subarray(0, 12))).toBe(false);
      expect(Buffer.from(new PayloadCipher(KEY).open(bytes, BINDING)).equals(payload)).toBe(true);
    }
  });

  test('never repeats a nonce, also over many draws', () => {
    const nonces = new Set<string>();
    for (let i = 0; i < 1000; i += 1) {
      nonces.add(Buffer.from(sealed(cipher).subarray(9, 21)).toString('hex'));
    }
    expect(nonces.size).toBe(1000);
  });

  test('opens with no other key, and says which it wants', () => {
    const other = new PayloadCipher(new Uint8Array(32));
    const bytes = sealed(cipher);
    expect([cipher.holdsKeyOf(bytes), other.holdsKeyOf(bytes)]).toEqual([true, false]);
    const { code, message } = problem(() => other.open(bytes, BINDING));
    expect(code).toBe('encryption_key_mismatch');
    expect(message).toContain(cipher.keyId);
    expect(message).toContain(other.keyId);
  });

  test('opens for no other message', () => {
    const error = problem(() => cipher.open(sealed(cipher), Buffer.from('queue/partition/ie')));
    expect(error.code).toBe('encryption_key_mismatch');
  });

  test('opens with no bit changed', () => {
    const bytes = sealed(cipher);
    for (let bit = 0; bit < bytes.length * 8; bit += 1) {
      const changed = bytes.slice();
      changed[bit >> 3]! ^= 1 << (bit & 7);
      expect(problem(() => cipher.open(changed, BINDING)).code).toBe('encryption_key_mismatch');
    }
    for (let size = 0; size < bytes.length; size += 1) {
      const cut = bytes.subarray(0, size);
      expect(problem(() => cipher.open(cut, BINDING)).code).toBe('encryption_key_mismatch');
    }
  });

  test('is the documented form', () => {
    expect(cipher.keyId).toMatch(/^[0-9a-f]{16}$/);
    const bytes = Buffer.from(sealed(cipher));
    expect(bytes[0]).toBe(1);
    expect(bytes.subarray(1, 9).toString('hex')).toBe(cipher.keyId);
    // Sealed by an earlier build: what it wrote must open for ever.
    const kept =
      '0131a7acfd27f440533e0ce69497d27b61ceb2d331a1f2fb8f44c407d06f9a25c5cef5d0ff3453b98ff687602f4f4aab92';
    expect(Buffer.from(cipher.open(Buffer.from(kept, 'hex'), BINDING)).toString()).toBe(
      '{ "n": 1.0 }',
    );
  });
});
