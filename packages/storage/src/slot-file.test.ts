// Torn writes and damage at rest, copy by copy.

import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { NodeId } from '@queen-ts/raft';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { createSlotFile, SLOT_COPY_BYTES, SLOT_FILE_BYTES, SlotFile } from './slot-file.ts';
import { NODE_ID } from './testing/fixtures.ts';

describe('SlotFile', () => {
  let root: string;
  let path: string;
  const owner = { nodeId: NODE_ID, incarnation: 2 ** 47 + 11 };
  const options = () => ({ path, kind: 'TEST', owner });

  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'queen-storage-'));
    path = join(root, 'file');
    await createSlotFile(options(), Uint8Array.of(0));
  });

  afterEach(() => rm(root, { recursive: true }));

  async function writeStates(count: number): Promise<void> {
    const file = await SlotFile.open(options());
    for (let state = 1; state <= count; state++) await file.write(Uint8Array.of(state));
    await file.close();
  }

  async function openedState(): Promise<{
    state: number | undefined;
    warning: string | undefined;
  }> {
    const file = await SlotFile.open(options());
    await file.close();
    return { state: file.body[0], warning: file.warning };
  }

  async function damageCopies(positions: readonly number[]): Promise<void> {
    const bytes = await readFile(path);
    for (const position of positions) {
      const from = position * SLOT_COPY_BYTES;
      bytes.fill(0, from, from + SLOT_COPY_BYTES);
    }
    await writeFile(path, bytes);
  }

  /** The two copies of the newest state after `count` writes to a new file. */
  const newestCopies = (count: number) => (count % 2 === 0 ? [0, 2] : [1, 3]);

  it('finds the last state again, and never grows', async () => {
    for (const count of [0, 1, 2, 3]) {
      await writeStates(count);
      expect(await openedState()).toEqual({ state: count, warning: undefined });
    }
    expect((await readFile(path)).length).toBe(SLOT_FILE_BYTES);
  });

  it('keeps the last state when any one copy is lost, and says so', async () => {
    for (const count of [6, 7]) {
      for (const position of [0, 1, 2, 3]) {
        await rm(path);
        await createSlotFile(options(), Uint8Array.of(0));
        await writeStates(count);
        await damageCopies([position]);
        const { state, warning } = await openedState();
        expect(state).toBe(count);
        expect(warning).toBe(`${path}: 1 of 4 copies were unreadable, the state was not`);
      }
    }
  });

  it('takes a slot torn in both copies for a write that was never acknowledged', async () => {
    for (const count of [6, 7]) {
      await rm(path);
      await createSlotFile(options(), Uint8Array.of(0));
      await writeStates(count);
      await damageCopies(newestCopies(count));
      expect((await openedState()).state).toBe(count - 1);
      await writeStates(3);
      expect(await openedState()).toEqual({ state: 3, warning: undefined });
    }
  });

  it('accepts a write that reached one copy only', async () => {
    const before = await readFile(path);
    await writeStates(1);
    const after = await readFile(path);
    after.copy(before, SLOT_COPY_BYTES, SLOT_COPY_BYTES, 2 * SLOT_COPY_BYTES);
    await writeFile(path, before);
    expect(await openedState()).toEqual({ state: 1, warning: undefined });
  });

  it('refuses a file without any valid copy, of a wrong length, or missing', async () => {
    await damageCopies([0, 1, 2, 3]);
    const corruption = (what: string) => ({
      code: 'CORRUPTION',
      message: expect.stringContaining(`${path}: ${what}`) as string,
    });
    await expect(openedState()).rejects.toMatchObject(corruption('no valid copy'));
    await writeFile(path, Buffer.alloc(SLOT_FILE_BYTES - 1));
    await expect(openedState()).rejects.toMatchObject(corruption('16383 bytes'));
    await rm(path);
    await expect(openedState()).rejects.toMatchObject(corruption('the file is missing'));
  });

  it('refuses a copy in the wrong slot', async () => {
    await writeStates(2);
    const bytes = await readFile(path);
    bytes.copy(bytes, SLOT_COPY_BYTES, 0, SLOT_COPY_BYTES);
    await writeFile(path, bytes);
    await expect(openedState()).rejects.toMatchObject({ code: 'CORRUPTION' });
  });

  it('refuses the file of another node, another incarnation or another kind', async () => {
    const other = { nodeId: 2 as NodeId, incarnation: owner.incarnation };
    await expect(SlotFile.open({ ...options(), owner: other })).rejects.toMatchObject({
      code: 'NODE_MISMATCH',
    });
    const reborn = { nodeId: NODE_ID, incarnation: 5 };
    await expect(SlotFile.open({ ...options(), owner: reborn })).rejects.toMatchObject({
      code: 'NODE_MISMATCH',
    });
    await expect(SlotFile.open({ ...options(), kind: 'ELSE' })).rejects.toMatchObject({
      code: 'CORRUPTION',
    });
  });
});
