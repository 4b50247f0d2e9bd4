// A disk whose power can be cut: an ext4 file system in a file behind a loop device. `cut` notes what
// the device holds at one instant; everything that was written and not synced by then is lost.

import { copyFile, mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from './eventually.ts';
import { runTool, unmount } from './mount.ts';

/** Blocks of the size that disks and file systems have; tables written now, not in the background. */
const FORMAT_OPTIONS = ['-q', '-F', '-b', '4096', '-E', 'lazy_itable_init=0,lazy_journal_init=0'];

/** Reads of the whole device before {@link LoopDisk.cut} gives up finding two that agree. */
const READ_ATTEMPTS_MAX = 40;

/** Exit codes of e2fsck up to here: nothing to repair, or only what a journal is there for. */
const REPAIRED = 1;

/** One disk, mounted or not. */
export class LoopDisk {
  readonly #folder: string;
  readonly #image: string;
  #mountPoint: string | undefined;

  private constructor(folder: string) {
    this.#folder = folder;
    this.#image = join(folder, 'disk');
  }

  /** Makes an unmounted disk with an empty file system. */
  static async create(sizeBytes: number): Promise<LoopDisk> {
    const disk = new LoopDisk(await mkdtemp(join(tmpdir(), 'queen-ts-disk-')));
    try {
      await disk.#format(sizeBytes);
      return disk;
    } catch (error) {
      await disk.dispose();
      throw error;
    }
  }

  /** Mounts the file system, which replays its journal. */
  async mount(directory: string): Promise<void> {
    // Direct I/O: what the device has completed is on the disk below, and in no other cache.
    const options = ['--find', '--show', '--direct-io=on'];
    const device = await runTool('losetup', ...options, this.#image);
    try {
      await runTool('mount', '-t', 'ext4', device, directory);
      this.#mountPoint = directory;
    } finally {
      // Of a mounted device this means: let go of the file once it is unmounted, whoever does that.
      await runTool('losetup', '--detach', device);
    }
  }

  /** Unmounts, which writes out all that was not synced. Idempotent. */
  async unmount(): Promise<void> {
    const directory = this.#mountPoint;
    if (directory === undefined) return;
    await eventually('an unmounted disk', async () => {
      await unmount(directory);
      return true;
    });
    this.#mountPoint = undefined;
    await eventually('a detached loop device', async () => {
      return (await runTool('losetup', '--associated', this.#image)) === '';
    });
  }

  /**
   * Returns what the device holds at one instant, without telling the file system. Two reads of the
   * device, one after the other, that agree in every byte are what it held between them: whatever was
   * written to a block in the meantime would differ. So those who write must pause now and then.
   */
  async cut(): Promise<Buffer> {
    let earlier = await readFile(this.#image);
    for (let attempt = 1; attempt <= READ_ATTEMPTS_MAX; attempt += 1) {
      const later = await readFile(this.#image);
      if (later.equals(earlier)) return later;
      earlier = later;
    }
    throw new Error(`the device never held still in ${READ_ATTEMPTS_MAX} reads`);
  }

  /**
   * Makes the unmounted disk hold what a {@link cut} returned. Throws if e2fsck, on a copy of its own,
   * finds more to repair than a replayed journal: then it is not what a power cut leaves.
   */
  async restore(content: Buffer): Promise<void> {
    if (this.#mountPoint !== undefined) throw new Error('the disk is mounted');
    await rm(this.#image);
    await writeFile(this.#image, content);
    const examined = join(this.#folder, 'examined');
    await copyFile(this.#image, examined);
    await runTool('e2fsck', '-f', '-p', examined).catch((error: unknown) => {
      const code = error instanceof Error && 'code' in error ? error.code : undefined;
      if (code !== REPAIRED) throw error;
    });
    await rm(examined);
  }

  /** Unmounts and removes the disk. Idempotent. */
  async dispose(): Promise<void> {
    await this.unmount();
    await rm(this.#folder, { recursive: true, force: true });
  }

  async #format(sizeBytes: number): Promise<void> {
    const file = await open(this.#image, 'w');
    try {
      await file.truncate(sizeBytes);
    } finally {
      await file.close();
    }
    await runTool('mkfs.ext4', ...FORMAT_OPTIONS, this.#image);
  }
}
