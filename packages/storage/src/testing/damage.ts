// Ways to damage a file that disks, file systems and people have.

import { copyFile, readFile, rm, truncate, writeFile } from 'node:fs/promises';

/** One kind of damage; `stale` is the file of the same role in another node's directory. */
export interface Damage {
  readonly name: string;
  apply(path: string, stale: string): Promise<void>;
}

const ZEROED_BYTES = 4096;

/** Every kind of damage, in the order of the table's columns. */
export const DAMAGES: readonly Damage[] = [
  { name: 'flip, head', apply: (path) => flipBit(path, () => 3) },
  { name: 'flip, middle', apply: (path) => flipBit(path, (size) => Math.floor(size / 2)) },
  { name: 'flip, tail', apply: (path) => flipBit(path, (size) => size - 1) },
  { name: 'cut to half', apply: cutToHalf },
  { name: 'zero 4 KiB', apply: zeroPage },
  { name: 'delete', apply: (path) => rm(path) },
  { name: 'from another node', apply: (path, stale) => copyFile(stale, path) },
];

/** Flips one bit of the byte that `at` picks from the file's size. */
export async function flipBit(path: string, at: (sizeBytes: number) => number): Promise<void> {
  const bytes = await readFile(path);
  const offset = at(bytes.length);
  bytes.writeUInt8(bytes.readUInt8(offset) ^ 0x10, offset);
  await writeFile(path, bytes);
}

async function cutToHalf(path: string): Promise<void> {
  const { length } = await readFile(path);
  await truncate(path, Math.floor(length / 2));
}

async function zeroPage(path: string): Promise<void> {
  const bytes = await readFile(path);
  const from = Math.floor(bytes.length / 2 / ZEROED_BYTES) * ZEROED_BYTES;
  bytes.fill(0, from, Math.min(bytes.length, from + ZEROED_BYTES));
  await writeFile(path, bytes);
}
