// The vote file: term, vote and commit index of this node, durable before any reply that depends on
// them (Raft figure 2). A slot file (slot-file.ts) of kind VOTE whose body is, big-endian:
//
//   offset  size  field
//   0       8     term
//   8       8     node voted for in that term, 0 for none
//   16      8     commit index

import { assert } from '@queen-ts/base';
import type { HardState, HardStateStore } from '@queen-ts/raft';

import { readU64, viewOf, writeU64 } from './big-endian.ts';
import { corruption, StorageError } from './errors.ts';
import type { FailureLatch } from './failure-latch.ts';
import type { NodeIdentity } from './identity.ts';
import { createSlotFile, SlotFile, type SlotHandle } from './slot-file.ts';

/** File name inside the data directory. */
export const VOTE_FILE = 'vote';

const KIND = 'VOTE';
const BODY_BYTES = 24;
const ZERO_STATE: HardState = { term: 0, votedFor: 0, commitIndex: 0 };

/** Where the vote file is, whose it is and who hears of a failure. */
export interface HardStateFileOptions {
  readonly path: string;
  readonly owner: NodeIdentity;
  readonly latch: FailureLatch;
  /** Lets tests stand between the file and the disk. */
  readonly wrap?: (handle: SlotHandle) => SlotHandle;
}

/** Creates the vote file of a new node, with the zero state. The caller syncs the directory. */
export async function createHardStateFile(path: string, owner: NodeIdentity): Promise<void> {
  await createSlotFile({ path, kind: KIND, owner }, encode(ZERO_STATE));
}

/** {@link HardStateStore} on the vote file. */
export class HardStateFile implements HardStateStore {
  readonly #options: HardStateFileOptions;
  readonly #slots: SlotFile;
  #current: HardState;
  #saving: Promise<void> | undefined;
  #isClosed = false;

  private constructor(options: HardStateFileOptions, slots: SlotFile, current: HardState) {
    this.#options = options;
    this.#slots = slots;
    this.#current = current;
  }

  /** Opens an existing vote file. Throws CORRUPTION, FORMAT_UNSUPPORTED or NODE_MISMATCH. */
  static async open(options: HardStateFileOptions): Promise<HardStateFile> {
    const { path, owner, wrap } = options;
    const slots = await SlotFile.open({ path, kind: KIND, owner }, wrap);
    try {
      return new HardStateFile(options, slots, decode(path, slots.body));
    } catch (error) {
      await slots.close();
      throw error;
    }
  }

  /** The incarnation of the data directory. */
  get incarnation(): number {
    return this.#options.owner.incarnation;
  }

  /** The state last saved. */
  get current(): HardState {
    return this.#current;
  }

  /** See {@link SlotFile.warning}. */
  get warning(): string | undefined {
    return this.#slots.warning;
  }

  /** See {@link HardStateStore}. Term and commit index never fall, and a vote never changes. */
  async save(state: HardState): Promise<void> {
    this.#options.latch.check();
    if (this.#isClosed) throw closedError(this.#options.path);
    assert(this.#saving === undefined, 'overlapping saves of the hard state');
    assertSuccessor(this.#current, state);
    this.#saving = this.#slots.write(encode(state));
    try {
      await this.#saving;
    } catch (error) {
      throw this.#options.latch.trip(`writing ${this.#options.path}`, error);
    } finally {
      this.#saving = undefined;
    }
    // A failure elsewhere in the directory meanwhile forbids the answer, too.
    this.#options.latch.check();
    this.#current = { ...state };
  }

  /** Closes the file when a save in flight has ended. Idempotent. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    // Who called save hears of its failure; here it only must have ended.
    await this.#saving?.catch(() => undefined);
    await this.#slots.close();
  }
}

function assertSuccessor(before: HardState, after: HardState): void {
  const describe = () => `hard state ${JSON.stringify(before)} to ${JSON.stringify(after)}`;
  assert(after.term >= before.term, describe);
  assert(after.commitIndex >= before.commitIndex, describe);
  const isVoteKept = before.votedFor === 0 || after.votedFor === before.votedFor;
  assert(after.term > before.term || isVoteKept, describe);
}

function encode(state: HardState): Uint8Array {
  const body = new Uint8Array(BODY_BYTES);
  const view = viewOf(body);
  writeU64(view, 0, state.term);
  writeU64(view, 8, state.votedFor);
  writeU64(view, 16, state.commitIndex);
  return body;
}

function decode(path: string, body: Uint8Array): HardState {
  if (body.byteLength !== BODY_BYTES) throw corruption(path, `body of ${body.byteLength} bytes`);
  const view = viewOf(body);
  const term = readU64(view, 0);
  const votedFor = readU64(view, 8);
  const commitIndex = readU64(view, 16);
  if (term === undefined || votedFor === undefined || commitIndex === undefined) {
    throw corruption(path, 'a field out of range under a valid checksum');
  }
  return { term, votedFor: votedFor as HardState['votedFor'], commitIndex };
}

function closedError(path: string): StorageError {
  return new StorageError({ code: 'STORE_CLOSED', message: `${path} is closed` });
}
