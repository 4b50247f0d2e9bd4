// The key of encryption at rest. Its value never appears in a message.

import type { EncryptionSettings } from '../encryption/encryption.ts';
import { KEY_SIZE } from '../encryption/payload-cipher.ts';
import { ConfigError } from './config-error.ts';
import { readChoice, readText } from './environment.ts';
import type { Environment } from './environment.ts';

const HEX_KEY = /^[0-9a-fA-F]{64}$/;

const WITHOUT_KEY: ReadonlyMap<string, boolean> = new Map([
  ['refuse', false],
  ['plaintext', true],
]);

/** Reads `QUEEN_ENCRYPTION_KEY` and what happens without one. Throws ConfigError. */
export function readEncryption(environment: Environment): EncryptionSettings {
  const text = readText(environment, 'QUEEN_ENCRYPTION_KEY');
  if (text !== undefined && !HEX_KEY.test(text)) {
    const digits = KEY_SIZE * 2;
    throw new ConfigError(`QUEEN_ENCRYPTION_KEY is not valid: use ${digits} hexadecimal digits`);
  }
  return {
    encryptionKey: text === undefined ? undefined : Buffer.from(text, 'hex'),
    storesPlaintextWithoutKey: readChoice(
      environment,
      'QUEEN_ENCRYPTION_MISSING_KEY',
      WITHOUT_KEY,
      false,
    ),
  };
}
