// Checkpoints on real files: written beside their place, found again, and never taken for whole when
// they are not.

import { copyFile, readdir, readFile, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { SeededRng, randomBelow } from '@queen-ts/base';
import type { CheckpointMeta, LogPosition } from '@queen-ts/raft';
import { describe, expect, it } from 'vitest';

import { CheckpointDirectory } from './checkpoint-directory.ts';
import { StorageError } from './errors.ts';
import { FailureLatch } from './failure-latch.ts';
import { DAMAGES } from './testing/damage.ts';
import { randomBytes, withTemporaryDirectory } from './testing/fixtures.ts';

const positionOf = (index: number): LogPosition => ({ index, term: 3, checksum: index * 7 });

/** One store, what it warned of, and whether it failed. */
class Opened {
  readonly path: string;
  readonly warnings: string[] = [];
  readonly latch = new FailureLatch(() => undefined);
  readonly store: CheckpointDirectory;

  constructor(root: string) {
    this.path = join(root, 'checkpoints');
    const warn = (warning: string): void => void this.warnings.push(warning);
    this.store = new CheckpointDirectory({ path: this.path, latch: this.latch, warn });
    this.store.attach(positionOf);
  }

  async write(index: number, pieces: readonly Uint8Array[]): Promise<void> {
    const writer = await this.store.begin();
    for (const piece of pieces) await writer.write(piece);
    await writer.finish(metaOf(index));
  }

  file(index: number): string {
    return join(this.path, `${String(index).padStart(16, '0')}.state`);
  }

  names(): Promise<string[]> {
    return readdir(this.path);
  }
}

function metaOf(index: number): CheckpointMeta {
  const membership = Uint8Array.of(1, 2, index % 256);
  return { index, membership, clusterId: `cluster-${index}`, digest: `digest-${index}` };
}

function piecesOf(seed: number, count = 40): Uint8Array[] {
  const rng = new SeededRng(seed);
  return Array.from({ length: count }, () => randomBytes(rng, 1 + randomBelow(rng, 90_000)));
}

/** Loads with a fresh store, as a start does. */
async function load(root: string) {
  const opened = new Opened(root);
  let pieces: Buffer[] = [];
  const begun: number[] = [];
  const loaded = await opened.store.load({
    begin: (meta) => {
      begun.push(meta.index);
      pieces = [];
    },
    piece: (bytes) => void pieces.push(Buffer.from(bytes)),
  });
  return { loaded, begun, bytes: Buffer.concat(pieces), warnings: opened.warnings };
}

describe('checkpoints', () => {
  it('come back as they were written, with their place in the log', async () => {
    await withTemporaryDirectory(async (root) => {
      expect((await load(root)).loaded).toBeUndefined();
      const opened = new Opened(root);
      expect(opened.store.newest).toBeUndefined();
      await opened.write(17, piecesOf(1));
      const { loaded, bytes, warnings } = await load(root);
      expect(loaded).toMatchObject({ meta: metaOf(17), position: positionOf(17) });
      expect(bytes.equals(Buffer.concat(piecesOf(1)))).toBe(true);
      expect(warnings).toEqual([]);
      const { length } = await readFile(opened.file(17));
      expect(opened.store.newest).toEqual({ index: 17, sizeBytes: length });
      expect(loaded?.sizeBytes).toBe(length);
    });
  });

  it('may have no piece at all, and pieces of the largest size', async () => {
    await withTemporaryDirectory(async (root) => {
      const opened = new Opened(root);
      await opened.write(1, []);
      expect(await load(root)).toMatchObject({ begun: [1], bytes: Buffer.alloc(0) });
      const largest = [1, 2, 3].map((seed) => randomBytes(new SeededRng(seed), 1_048_576));
      await opened.write(2, [...largest, Uint8Array.of(9)]);
      const { bytes } = await load(root);
      expect(bytes.equals(Buffer.concat([...largest, Uint8Array.of(9)]))).toBe(true);
      const writer = await opened.store.begin();
      await expect(writer.write(new Uint8Array(1_048_577))).rejects.toThrow('piece of 1048577');
      await expect(writer.write(new Uint8Array(0))).rejects.toThrow('piece of 0');
      await writer.abandon();
    });
  });

  it('are kept two at a time, newest first', async () => {
    await withTemporaryDirectory(async (root) => {
      const opened = new Opened(root);
      for (const index of [5, 900, 40_000, 1_000_000])
        await opened.write(index, piecesOf(index, 2));
      expect((await opened.names()).toSorted()).toEqual([
        '0000000000040000.state',
        '0000000001000000.state',
      ]);
      expect((await load(root)).begun).toEqual([1_000_000]);
    });
  });

  it('are not there before they are finished, nor after they were abandoned', async () => {
    await withTemporaryDirectory(async (root) => {
      const opened = new Opened(root);
      await opened.write(5, piecesOf(5));
      const writer = await opened.store.begin();
      await expect(opened.store.begin()).rejects.toThrow('one checkpoint at a time');
      for (const piece of piecesOf(6)) await writer.write(piece);
      expect((await load(root)).begun).toEqual([5]);
      await writer.abandon();
      await writer.abandon();
      expect(await opened.names()).toEqual(['0000000000000005.state']);
      await opened.write(7, piecesOf(7));
      expect((await load(root)).begun).toEqual([7]);
    });
  });

  it('overwrite what a crash left of another', async () => {
    await withTemporaryDirectory(async (root) => {
      const opened = new Opened(root);
      await opened.write(5, piecesOf(5));
      await writeFile(join(opened.path, 'writing'), randomBytes(new SeededRng(1), 9_000_000));
      expect((await load(root)).begun).toEqual([5]);
      await opened.write(6, piecesOf(6));
      const { begun, bytes } = await load(root);
      expect(begun).toEqual([6]);
      expect(bytes.equals(Buffer.concat(piecesOf(6)))).toBe(true);
    });
  });

  it('poison everything when they cannot be written', async () => {
    await withTemporaryDirectory(async (root) => {
      const opened = new Opened(root);
      await writeFile(opened.path, 'a file where the directory should be');
      await expect(opened.store.begin()).rejects.toMatchObject({ code: 'STORAGE_FAILED' });
      expect(opened.latch.failure).toBeInstanceOf(StorageError);
    });
    await withTemporaryDirectory(async (root) => {
      const opened = new Opened(root);
      const writer = await opened.store.begin();
      await writer.write(Uint8Array.of(1));
      const elsewhere = opened.latch.trip('append', new Error('ENOSPC'));
      await expect(writer.finish(metaOf(4))).rejects.toBe(elsewhere);
      await expect(opened.store.begin()).rejects.toThrow();
      expect((await load(root)).loaded).toBeUndefined();
    });
  });
});

describe('a damaged checkpoint', () => {
  for (const damage of DAMAGES) {
    const isGone = damage.name === 'delete' || damage.name === 'from another node';
    it(`is passed over with one warning that names it: ${damage.name}`, async () => {
      await withTemporaryDirectory(async (root) => {
        const opened = new Opened(root);
        await opened.write(5, piecesOf(5));
        await opened.write(9, piecesOf(9));
        const other = new Opened(join(root, 'other'));
        await other.write(8, piecesOf(8));
        await damage.apply(opened.file(9), other.file(8));
        const { loaded, bytes, warnings } = await load(root);
        expect(loaded?.meta.index).toBe(5);
        expect(bytes.equals(Buffer.concat(piecesOf(5)))).toBe(true);
        if (damage.name === 'delete') {
          expect(warnings).toEqual([]);
          return;
        }
        expect(warnings).toHaveLength(1);
        expect(warnings[0]).toContain(`${opened.file(9)}: `);
        expect(warnings[0]).not.toContain('\n');
        if (isGone) expect(warnings[0]).toContain('holds checkpoint 8');
      });
    });
  }

  it('is noticed wherever a bit is flipped or the file is cut', async () => {
    await withTemporaryDirectory(async (root) => {
      const opened = new Opened(root);
      await opened.write(9, piecesOf(9, 3));
      const whole = await readFile(opened.file(9));
      const rng = new SeededRng(7);
      for (let round = 0; round < 120; round++) {
        const bytes = Buffer.from(whole);
        // Every third flip lies in the header or the description.
        const edge =
          round % 2 === 0 ? randomBelow(rng, 64) : whole.length - 1 - randomBelow(rng, 40);
        const at = round % 3 === 0 ? edge : randomBelow(rng, whole.length);
        bytes[at] = bytes[at]! ^ (1 << randomBelow(rng, 8));
        await writeFile(opened.file(9), bytes);
        expect((await load(root)).loaded, `flipped at ${at}`).toBeUndefined();
      }
      for (let round = 0; round < 20; round++) {
        await writeFile(opened.file(9), whole);
        await truncate(opened.file(9), randomBelow(rng, whole.length));
        expect((await load(root)).loaded).toBeUndefined();
      }
      await writeFile(opened.file(9), Buffer.concat([whole, whole]));
      expect((await load(root)).loaded).toBeUndefined();
      await writeFile(opened.file(9), whole);
      expect((await load(root)).begun).toEqual([9]);
    });
  });

  it('leaves nothing when both are damaged', async () => {
    await withTemporaryDirectory(async (root) => {
      const opened = new Opened(root);
      await opened.write(5, piecesOf(5));
      await opened.write(9, piecesOf(9));
      await copyFile(opened.file(5), opened.file(9));
      await truncate(opened.file(5), 100);
      const { loaded, warnings } = await load(root);
      expect(loaded).toBeUndefined();
      expect(warnings).toHaveLength(2);
    });
  });

  it('of another version is refused, not passed over', async () => {
    await withTemporaryDirectory(async (root) => {
      const opened = new Opened(root);
      await opened.write(5, piecesOf(5));
      await opened.write(9, piecesOf(9));
      const { crc32 } = await import('node:zlib');
      const bytes = await readFile(opened.file(9));
      bytes.writeUInt16BE(2, 8);
      bytes.writeUInt32BE(crc32(bytes.subarray(4, 64)), 0);
      await writeFile(opened.file(9), bytes);
      await expect(load(root)).rejects.toMatchObject({ code: 'FORMAT_UNSUPPORTED' });
    });
  });
});
