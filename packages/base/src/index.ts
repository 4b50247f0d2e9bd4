// The public door of @queen-ts/base.

export { assert, InvariantError, unreachable } from './assert.ts';
export { ByteReader, ByteWriter, CodecError, copyBytes } from './bytes.ts';
export type { Clock } from './clock.ts';
export { hash32, hash128, HASH_WORDS } from './hash.ts';
export type { HashKey } from './hash.ts';
export { randomBelow, SeededRng } from './rng.ts';
export type { Rng } from './rng.ts';
export {
  formatTimestampMs,
  formatTimestampUs,
  parseTimestampUs,
  TIMESTAMP_US_SIZE,
  writeTimestampUs,
} from './timestamp.ts';
export { decodeUtf8, encodeUtf8, isUtf8, skipNonAscii, utf8Size } from './utf8.ts';
export {
  formatUuid,
  idPlus,
  idsEqual,
  parseUuid,
  readIdBytes,
  readIdWords,
  readUuidText,
  UUID_RESERVE_MAX,
  UUID_TEXT_SIZE,
  UuidMinter,
  writeIdBytes,
  writeIdWords,
  writeUuidText,
} from './uuid.ts';
export type { Id128 } from './uuid.ts';
