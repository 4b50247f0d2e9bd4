// Micro benchmark of the tables under the state engine: nanoseconds of CPU a call on 1 M rows (in random
// order, then 2,000 of them hot), bytes a row, and the longest insert in wall time while a table grows to
// 4 M rows. Of three growths the quickest counts for each block of inserts: work of the table repeats
// at the same row, an interruption does not. Run: npx node --conditions=source bench/engine/tables.ts

import { performance } from 'node:perf_hooks';
import process from 'node:process';
// @boundaries-ignore the tables are internals of the engine and measured as such
import {
  BLOCK_CACHE_SIZES_DEFAULT,
  BlockIndex,
} from '../../packages/engine/src/tables/block-index.ts';
// @boundaries-ignore as above
import { CursorIndex } from '../../packages/engine/src/tables/cursor-index.ts';
// @boundaries-ignore as above
import { DedupIndex } from '../../packages/engine/src/tables/dedup-index.ts';
// @boundaries-ignore as above
import { LeaseIndex } from '../../packages/engine/src/tables/lease-index.ts';
// @boundaries-ignore as above
import { NameIndex } from '../../packages/engine/src/tables/name-index.ts';
// @boundaries-ignore as above
import { ReadyRing } from '../../packages/engine/src/tables/ready-ring.ts';
// @boundaries-ignore as above
import { TimingWheel } from '../../packages/engine/src/tables/timing-wheel.ts';

const ROWS = 1_000_000;
const ROWS_GROWN = 4_000_000;
const NOW_US = 1_800_000_000_000_000;

/** One structure: how it grows by one row, and what is measured once it has 1 M. */
interface Subject {
  readonly name: string;
  readonly insert: (row: number) => void;
  readonly bytes: () => number;
  readonly operations: readonly (readonly [string, (row: number) => unknown])[];
}

/** State of {@link randomU32}. */
let random = 1;

/** Rows in random order, so that no measurement lives off the cache or the prefetcher. */
const order = shuffledRows();

/** Rows of the hot measurement. */
const HOT_ROWS = 2000;

const nameBuffer = new Uint8Array(64);

/** Inserts of which the longest is kept. */
const STALL_BLOCK = 500;

/** Growths to 4 M rows. */
const GROWTHS = 3;

/** Scratch for one id. */
const words = new Uint32Array(4);

console.log(`one dependent cache miss in 64 MB: ${cacheMissNs().toFixed(0)} ns`);
for (const create of [names, cursors, leases, wheel, ring, dedup, blocks]) measure(create);

function measure(create: () => Subject): void {
  const subject = create();
  const started = cpuNs();
  for (let row = 1; row <= ROWS; row += 1) subject.insert(row);
  const insertNs = (cpuNs() - started) / ROWS;
  const bytesPerRow = (subject.bytes() / ROWS).toFixed(1);
  const lines = [line(insertNs, undefined, 'insert')];
  for (const [operation, call] of subject.operations) {
    const hotNs = timeCalls(call, HOT_ROWS);
    lines.push(line(timeCalls(call, ROWS), hotNs, operation));
  }
  console.log(
    `\n${subject.name}: ${bytesPerRow} bytes a row, longest insert ${longestInsertMs(create)} ms`,
  );
  console.log('  random     hot');
  for (const text of lines) console.log(text);
}

/** Nanoseconds a call over the first `rows` rows of the random order. */
function timeCalls(call: (row: number) => unknown, rows: number): number {
  for (let i = 0; i < rows && i < 50_000; i += 1) call(order[i] as number);
  const from = cpuNs();
  for (let turn = 0; turn < ROWS / rows; turn += 1) {
    for (let i = 0; i < rows; i += 1) call(order[i] as number);
  }
  return (cpuNs() - from) / ROWS;
}

/** Longest insert of a growth to 4 M rows, without what did not repeat in three of them. */
function longestInsertMs(create: () => Subject): string {
  const quickest = new Float64Array(ROWS_GROWN / STALL_BLOCK).fill(Infinity);
  for (let growth = 0; growth < GROWTHS; growth += 1) {
    const { insert } = create();
    for (let block = 0; block < quickest.length; block += 1) {
      const longestMs = longestInBlockMs(insert, block * STALL_BLOCK + 1);
      quickest[block] = Math.min(quickest[block] as number, longestMs);
    }
  }
  return Math.max(...quickest).toFixed(2);
}

function longestInBlockMs(insert: (row: number) => void, firstRow: number): number {
  let longestMs = 0;
  for (let row = firstRow; row < firstRow + STALL_BLOCK; row += 1) {
    const from = performance.now();
    insert(row);
    longestMs = Math.max(longestMs, performance.now() - from);
  }
  return longestMs;
}

/** CPU time of this thread so far, with a resolution of 1 us. */
function cpuNs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) * 1000;
}

function line(randomNs: number, hotNs: number | undefined, operation: string): string {
  const hot = hotNs === undefined ? '' : `${hotNs.toFixed(0)} ns`;
  return `${`${randomNs.toFixed(0)} ns`.padStart(8)}${hot.padStart(8)}  ${operation}`;
}

/** Writes «prefix-row» to `nameBuffer` and returns its length: cheaper than what is measured. */
function writeName(prefix: number, row: number): number {
  let at = 7;
  nameBuffer.fill(prefix, 0, at);
  for (let rest = row; rest > 0; rest = Math.floor(rest / 10)) {
    nameBuffer[at] = 48 + (rest % 10);
    at += 1;
  }
  return at;
}

/** An id for a row, without the cache miss of a table of ids. */
function writeWords(row: number, salt: number): Uint32Array {
  words[0] = Math.imul(row ^ salt, 0x9e3779b1);
  words[1] = Math.imul(row + salt, 0x85ebca6b);
  words[2] = row;
  words[3] = salt;
  return words;
}

function cacheMissNs(): number {
  const next = new Uint32Array(16 * 1024 * 1024);
  // Sattolo's shuffle makes one cycle through all positions.
  for (let i = 0; i < next.length; i += 1) next[i] = i;
  for (let i = next.length - 1; i > 0; i -= 1) {
    const other = randomU32() % i;
    const value = next[i] as number;
    next[i] = next[other] as number;
    next[other] = value;
  }
  let position = 0;
  const from = cpuNs();
  for (let i = 0; i < 500_000; i += 1) position = next[position] as number;
  return (cpuNs() - from) / 500_000 + Math.min(position, 0);
}

function names(): Subject {
  const index = new NameIndex({ seed: 7 });
  return {
    name: 'NameIndex (names of 13 bytes)',
    insert: (row) => index.insert(1, nameBuffer, 0, writeName(101, row), row),
    bytes: () => index.bytes,
    operations: [
      ['write a name: part of the figures below', (row) => writeName(101, row)],
      ['find, hit', (row) => index.find(1, nameBuffer, 0, writeName(101, row))],
      ['find, miss', (row) => index.find(1, nameBuffer, 0, writeName(97, row))],
      [
        'remove and insert',
        (row) => {
          index.remove(row);
          index.insert(1, nameBuffer, 0, writeName(101, row), row);
        },
      ],
    ],
  };
}

function cursors(): Subject {
  const index = new CursorIndex({ seed: 7 });
  return {
    name: 'CursorIndex',
    insert: (row) => index.insert(row, 1, row),
    bytes: () => index.bytes,
    operations: [
      ['find, hit', (row) => index.find(row, 1)],
      ['find, miss', (row) => index.find(row, 2)],
      [
        'remove and insert',
        (row) => {
          index.remove(row);
          index.insert(row, 1, row);
        },
      ],
    ],
  };
}

function leases(): Subject {
  const index = new LeaseIndex({ seed: 7 });
  return {
    name: 'LeaseIndex (every row leased, one id a row)',
    insert: (row) => index.add(writeWords(row, 1), row),
    bytes: () => index.bytes,
    operations: [
      ['first, hit', (row) => index.first(writeWords(row, 1))],
      ['first, miss', (row) => index.first(writeWords(row, 2))],
      [
        'remove and add',
        (row) => {
          index.remove(row);
          index.add(writeWords(row, 1), row);
        },
      ],
    ],
  };
}

function wheel(): Subject {
  const timers = new TimingWheel(NOW_US);
  const extra = new TimingWheel(NOW_US);
  const spread = (row: number): number => NOW_US + ((row * 7919) % 60_000_000);
  return {
    name: 'TimingWheel (every row scheduled within a minute)',
    insert: (row) => timers.schedule(row, spread(row)),
    bytes: () => timers.bytes,
    operations: [
      ['schedule again', (row) => timers.schedule(row, spread(row) + 1_000_000)],
      [
        'cancel and schedule, 1 M scheduled',
        (row) => {
          timers.cancel(row);
          timers.schedule(row, spread(row));
        },
      ],
      [
        'schedule and cancel, few scheduled',
        (row) => {
          extra.schedule(row, spread(row));
          extra.cancel(row);
        },
      ],
      [
        'schedule and fire, few scheduled',
        (row) => {
          extra.schedule(row, NOW_US);
          extra.advance(NOW_US + 1000, ignore, 16);
        },
      ],
    ],
  };
}

function ring(): Subject {
  const ready = new ReadyRing();
  return {
    name: 'ReadyRing',
    insert: (row) => ready.push(row),
    bytes: () => ready.bytes,
    operations: [
      ['has', (row) => ready.has(row)],
      ['shift and push', () => ready.push(ready.shift())],
    ],
  };
}

function dedup(): Subject {
  const index = new DedupIndex({ sliceUs: 450_000_000 });
  return {
    name: 'DedupIndex',
    insert: (row) =>
      index.insert(1 + (row & 1023), writeWords(row, 1), 0, row, NOW_US + row * 1000),
    bytes: () => index.bytes,
    operations: [
      ['find, hit', (row) => index.find(1 + (row & 1023), writeWords(row, 1), 0, NOW_US)],
      ['find, miss', (row) => index.find(2000, writeWords(row, 2), 0, NOW_US)],
    ],
  };
}

function blocks(): Subject {
  const index = newBlocks();
  const record = { count: 1, entryIndex: 5, blockStart: 0, blockSize: 300, createdUs: NOW_US };
  return {
    name: 'BlockIndex (one block a partition)',
    insert: (row) => index.append(row, { ...record, baseOffset: 0 }),
    bytes: () => index.bytes,
    operations: [
      ['firstAtOrAfter, the only block', (row) => index.firstAtOrAfter(row, 0)],
      [
        'drop and append',
        (row) => {
          index.clear(row);
          index.append(row, { ...record, baseOffset: 0 });
        },
      ],
    ],
  };
}

/** Partitions of one message each. */
function newBlocks(): BlockIndex {
  const one = { get: () => 1 };
  const bounds = { number: one, logStart: { get: () => 0 }, tail: one, lastAppendUs: one };
  const payload = (): never => {
    throw new Error('nothing is read');
  };
  return new BlockIndex({ payload }, bounds, BLOCK_CACHE_SIZES_DEFAULT);
}

/** Xorshift: the order of rows only has to look random to the caches. */
function randomU32(): number {
  random ^= random << 13;
  random ^= random >>> 17;
  random ^= random << 5;
  return random >>> 0;
}

function ignore(): void {}

function shuffledRows(): Uint32Array {
  const rows = Uint32Array.from({ length: ROWS }, (_, i) => i + 1);
  for (let i = ROWS - 1; i > 0; i -= 1) {
    const other = randomU32() % (i + 1);
    const row = rows[i] as number;
    rows[i] = rows[other] as number;
    rows[other] = row;
  }
  return rows;
}
