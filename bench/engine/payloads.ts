// Payloads of the measured engine's entries. They can be moved to a file at any time, so that memory
// figures are those of the engine, which still finds old blocks as it would in the log.

import { closeSync, mkdtempSync, openSync, readSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { PayloadReader } from '@queen-ts/protocol';

/** What is in the file is found by the index of its entry: eight bytes each stay in memory. */
export class BenchPayloads implements PayloadReader {
  readonly #recent = new Map<number, Uint8Array>();
  readonly #positions: number[] = [];
  #file: number | undefined = undefined;
  #fileSize = 0;

  /** Adds the payload of an entry. */
  add(index: number, payload: Uint8Array): void {
    this.#recent.set(index, payload);
  }

  /** Moves everything to the file. */
  spill(): void {
    this.#file ??= openUnnamed();
    for (const [index, payload] of this.#recent) {
      while (this.#positions.length < index) this.#positions.push(0);
      this.#positions[index] = this.#fileSize;
      this.#fileSize += writeSync(this.#file, payload, 0, payload.length, this.#fileSize);
    }
    this.#recent.clear();
  }

  /** Closes the file, if there is one. */
  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
  }

  payload({ index, from, toExclusive }: Parameters<PayloadReader['payload']>[0]): Uint8Array {
    const recent = this.#recent.get(index);
    if (recent !== undefined) return recent.subarray(from, toExclusive);
    const bytes = new Uint8Array(toExclusive - from);
    const position = this.#positions[index];
    if (this.#file === undefined || position === undefined) throw new Error(`no entry ${index}`);
    const size = readSync(this.#file, bytes, 0, bytes.length, position + from);
    if (size !== bytes.length) throw new Error(`entry ${index} is too short`);
    return bytes;
  }
}

/** A file that goes when it is closed, however the process ends. */
function openUnnamed(): number {
  const directory = mkdtempSync(join(tmpdir(), 'queen-bench-engine-'));
  const file = openSync(join(directory, 'payloads'), 'w+');
  rmSync(directory, { recursive: true });
  return file;
}
