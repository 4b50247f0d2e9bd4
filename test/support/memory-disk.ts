// A small disk in memory that can be filled up and made larger: a tmpfs of a given size.

import { runTool, unmount } from './mount.ts';

/** One mounted file system. */
export class MemoryDisk {
  readonly #directory: string;
  #isMounted = true;

  private constructor(directory: string) {
    this.#directory = directory;
  }

  /** Mounts an empty file system of so many bytes. */
  static async mount(directory: string, sizeBytes: number): Promise<MemoryDisk> {
    await runTool('mount', '-t', 'tmpfs', '-o', `size=${sizeBytes}`, 'tmpfs', directory);
    return new MemoryDisk(directory);
  }

  /** Changes the size. What the disk holds stays. */
  async resize(sizeBytes: number): Promise<void> {
    await runTool('mount', '-o', `remount,size=${sizeBytes}`, this.#directory);
  }

  /** Unmounts the disk, and so removes it; fails while a process uses it. Idempotent. */
  async dispose(): Promise<void> {
    if (!this.#isMounted) return;
    await unmount(this.#directory);
    this.#isMounted = false;
  }
}
