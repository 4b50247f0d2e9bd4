// A small file that is overwritten in place and survives a torn write: the vote file and the durable
// bound. It has two slots written in turn, and each slot is stored twice, so that a torn write loses
// only the state that was never acknowledged, and one damaged block at rest loses nothing.
//
//   file, 16,384 bytes, never grows:
//   0       slot 0, first copy        8,192   slot 0, second copy
//   4,096   slot 1, first copy        12,288  slot 1, second copy
//
//   one copy, 4,096 bytes, integers big-endian:
//   offset  size  field
//   0       4     CRC-32 of bytes [4, 4,096)
//   4       4     kind, four ASCII letters
//   8       2     version, 1
//   10      2     body length in bytes
//   12      4     zero
//   16      8     sequence, one more than that of the state before; even in slot 0, odd in slot 1
//   24      8     node id
//   32      8     incarnation
//   40      …     body, then zeros

import { open } from 'node:fs/promises';
import { crc32 } from 'node:zlib';

import { assert } from '@queen-ts/base';

import { readU64, viewOf, writeU64 } from './big-endian.ts';
import { corruption, hasSystemCode, StorageError } from './errors.ts';
import type { NodeIdentity } from './identity.ts';

/** Version of the slot layout. */
const SLOT_FORMAT_VERSION = 1;

/** Size of one copy: a disk page, so that one torn page touches one copy. */
export const SLOT_COPY_BYTES = 4096;

/** Size of the whole file. */
export const SLOT_FILE_BYTES = 4 * SLOT_COPY_BYTES;

const BODY_OFFSET = 40;

/** The part of an open file that a slot file uses; tests pass one that fails. */
export interface SlotHandle {
  write(bytes: Uint8Array, offset: number, length: number, position: number): Promise<unknown>;
  datasync(): Promise<void>;
  close(): Promise<void>;
}

/** Which file, what is in it and whose it is. */
export interface SlotFileOptions {
  readonly path: string;
  /** Four ASCII letters that tell one kind of slot file from another. */
  readonly kind: string;
  readonly owner: NodeIdentity;
}

interface SlotState {
  readonly sequence: number;
  readonly body: Uint8Array;
}

/** Creates the file with `body` in both slots and syncs it. The caller syncs the directory. */
export async function createSlotFile(options: SlotFileOptions, body: Uint8Array): Promise<void> {
  const handle = await open(options.path, 'wx');
  try {
    const odd = encodeCopy(options, { sequence: 1, body });
    const even = encodeCopy(options, { sequence: 2, body });
    await handle.writeFile(Buffer.concat([even, odd, even, odd]));
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** An open slot file. */
export class SlotFile {
  readonly #options: SlotFileOptions;
  readonly #handle: SlotHandle;
  readonly #damagedCopyCount: number;
  #state: SlotState;

  private constructor(
    options: SlotFileOptions,
    handle: SlotHandle,
    found: { readonly state: SlotState; readonly damagedCopyCount: number },
  ) {
    this.#options = options;
    this.#handle = handle;
    this.#state = found.state;
    this.#damagedCopyCount = found.damagedCopyCount;
  }

  /**
   * Opens an existing file and picks the newest valid state.
   * @param wrap lets tests stand between the slot file and the disk.
   * Throws CORRUPTION, FORMAT_UNSUPPORTED or NODE_MISMATCH.
   */
  static async open(
    options: SlotFileOptions,
    wrap: (handle: SlotHandle) => SlotHandle = (handle) => handle,
  ): Promise<SlotFile> {
    const handle = await openExisting(options.path);
    try {
      const bytes = await handle.readFile();
      return new SlotFile(options, wrap(handle), chooseState(options, bytes));
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  /** One line about copies that were unreadable at open though the state was not in doubt. */
  get warning(): string | undefined {
    if (this.#damagedCopyCount === 0) return undefined;
    return `${this.#options.path}: ${this.#damagedCopyCount} of 4 copies were unreadable, the state was not`;
  }

  /** The body last written, or found at open. */
  get body(): Uint8Array {
    return this.#state.body;
  }

  /** Writes the next state to the older slot; resolves when it is synced. Calls must not overlap. */
  async write(body: Uint8Array): Promise<void> {
    const next: SlotState = { sequence: this.#state.sequence + 1, body };
    const copy = encodeCopy(this.#options, next);
    const position = (next.sequence % 2) * SLOT_COPY_BYTES;
    await this.#handle.write(copy, 0, copy.byteLength, position);
    await this.#handle.write(copy, 0, copy.byteLength, position + 2 * SLOT_COPY_BYTES);
    await this.#handle.datasync();
    this.#state = next;
  }

  /** Closes the file. */
  async close(): Promise<void> {
    await this.#handle.close();
  }
}

async function openExisting(path: string) {
  try {
    return await open(path, 'r+');
  } catch (error) {
    if (hasSystemCode(error, 'ENOENT')) throw corruption(path, 'the file is missing', error);
    throw error;
  }
}

function encodeCopy(options: SlotFileOptions, state: SlotState): Uint8Array {
  assert(state.body.byteLength <= SLOT_COPY_BYTES - BODY_OFFSET, 'slot body too long');
  const copy = new Uint8Array(SLOT_COPY_BYTES);
  const view = viewOf(copy);
  copy.set(Buffer.from(options.kind, 'latin1'), 4);
  view.setUint16(8, SLOT_FORMAT_VERSION);
  view.setUint16(10, state.body.byteLength);
  writeU64(view, 16, state.sequence);
  writeU64(view, 24, options.owner.nodeId);
  writeU64(view, 32, options.owner.incarnation);
  copy.set(state.body, BODY_OFFSET);
  view.setUint32(0, crc32(copy.subarray(4)));
  return copy;
}

function chooseState(options: SlotFileOptions, bytes: Uint8Array) {
  const { path } = options;
  if (bytes.byteLength !== SLOT_FILE_BYTES) {
    throw corruption(path, `${bytes.byteLength} bytes where ${SLOT_FILE_BYTES} are expected`);
  }
  let newest: SlotState | undefined;
  let damagedCopyCount = 0;
  for (let position = 0; position < 4; position++) {
    const from = position * SLOT_COPY_BYTES;
    const state = decodeCopy(options, bytes.subarray(from, from + SLOT_COPY_BYTES));
    if (state === undefined) {
      damagedCopyCount++;
      continue;
    }
    if (state.sequence % 2 !== position % 2) throw corruption(path, 'a copy in the wrong slot');
    if (newest === undefined || state.sequence > newest.sequence) newest = state;
    else if (state.sequence === newest.sequence && Buffer.compare(state.body, newest.body) !== 0) {
      throw corruption(path, `two different states with sequence ${state.sequence}`);
    }
  }
  if (newest === undefined) throw corruption(path, 'no valid copy in either slot');
  return { state: newest, damagedCopyCount };
}

/** Returns `undefined` for a copy that fails its checksum; throws for one that is valid but foreign. */
function decodeCopy(options: SlotFileOptions, copy: Uint8Array): SlotState | undefined {
  const view = viewOf(copy);
  if (crc32(copy.subarray(4)) !== view.getUint32(0)) return undefined;
  const { path, kind, owner } = options;
  if (Buffer.from(copy.subarray(4, 8)).toString('latin1') !== kind) {
    throw corruption(path, 'the file is of another kind');
  }
  const version = view.getUint16(8);
  if (version !== SLOT_FORMAT_VERSION) {
    const message = `${path}: unknown slot file version ${version}`;
    throw new StorageError({ code: 'FORMAT_UNSUPPORTED', message, details: { path, version } });
  }
  const nodeId = readU64(view, 24);
  const incarnation = readU64(view, 32);
  if (nodeId !== owner.nodeId || incarnation !== owner.incarnation) {
    const message = `${path}: belongs to node ${nodeId}, incarnation ${incarnation}, but this is node ${owner.nodeId}, incarnation ${owner.incarnation}`;
    throw new StorageError({ code: 'NODE_MISMATCH', message, details: { path } });
  }
  const sequence = readU64(view, 16);
  const length = view.getUint16(10);
  if (sequence === undefined || length > SLOT_COPY_BYTES - BODY_OFFSET) {
    throw corruption(path, 'a field out of range under a valid checksum');
  }
  return { sequence, body: copy.slice(BODY_OFFSET, BODY_OFFSET + length) };
}
