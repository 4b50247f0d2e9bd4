// Columns of a struct-of-arrays table: one typed array per 16,384 rows. Growing appends a chunk and
// copies none but the first, which begins with 1,024 rows and grows twice: small tables stay small, and
// large ones have few buffers, for each of which every full garbage collection has work to do. Each
// column class has its own code so that every access stays monomorphic. Rows start as zero; a column
// never shrinks.
//
// A column can be frozen: the frozen one shares all chunks, and whoever writes to a shared chunk first
// gets a copy of it. `#writable` holds the chunks that may be written in place, so that a write costs
// the same lookup as before.

import { InvariantError } from '@queen-ts/base';

/** log2 of the rows in a chunk. */
const CHUNK_SHIFT = 14;

/** Rows in a chunk. */
const CHUNK_ROWS = 1 << CHUNK_SHIFT;

/** Rows that the first chunk begins with, and by how much it grows. */
const FIRST_CHUNK_ROWS = 1024;
const FIRST_CHUNK_GROWTH = 4;

const CHUNK_MASK = CHUNK_ROWS - 1;

/** Largest value of a {@link U48Column}. */
export const U48_MAX = 2 ** 48 - 1;

const U32_RANGE = 2 ** 32;

/** The values of a column at the moment it was frozen. */
export interface FrozenColumn {
  /** Value of a row that was ensured then. */
  get(row: number): number;
  /** Rows that were usable then. */
  readonly rowCount: number;
}

/** Unsigned 8-bit values, 1 byte a row. */
export class U8Column {
  readonly #chunks: Uint8Array[] = [];
  #rowCount = 0;

  /** Value of an ensured row. */
  get(row: number): number {
    const chunk = this.#chunks[row >>> CHUNK_SHIFT];
    if (chunk === undefined) throw missingRow(row, this.#rowCount);
    const value = chunk[row & CHUNK_MASK];
    if (value === undefined) throw missingRow(row, this.#rowCount);
    return value;
  }

  /** Stores an integer in [0, 2^8) in an ensured row. */
  set(row: number, value: number): void {
    const chunk = this.#chunks[row >>> CHUNK_SHIFT];
    if (chunk === undefined) throw missingRow(row, this.#rowCount);
    if ((row & CHUNK_MASK) >= chunk.length) throw missingRow(row, this.#rowCount);
    if (value !== (value & 0xff)) throw outOfRange('U8Column', row, value);
    chunk[row & CHUNK_MASK] = value;
  }

  /** Makes rows [0, rowCount) usable; new rows are zero. */
  ensure(rowCount: number): void {
    while (this.#rowCount < rowCount) {
      const position = this.#rowCount >>> CHUNK_SHIFT;
      const first = this.#chunks[position];
      this.#rowCount = grownRowCount(this.#rowCount);
      const chunk = new Uint8Array(Math.min(this.#rowCount, CHUNK_ROWS));
      if (first !== undefined) chunk.set(first);
      this.#chunks[position] = chunk;
    }
  }

  /** Rows that are usable. */
  get rowCount(): number {
    return this.#rowCount;
  }

  /** Allocated size in bytes. */
  get bytes(): number {
    return this.#rowCount * 1;
  }
}

/** Unsigned 16-bit values, 2 bytes a row. */
export class U16Column {
  readonly #chunks: Uint16Array[] = [];
  #rowCount = 0;

  /** Value of an ensured row. */
  get(row: number): number {
    const chunk = this.#chunks[row >>> CHUNK_SHIFT];
    if (chunk === undefined) throw missingRow(row, this.#rowCount);
    const value = chunk[row & CHUNK_MASK];
    if (value === undefined) throw missingRow(row, this.#rowCount);
    return value;
  }

  /** Stores an integer in [0, 2^16) in an ensured row. */
  set(row: number, value: number): void {
    const chunk = this.#chunks[row >>> CHUNK_SHIFT];
    if (chunk === undefined) throw missingRow(row, this.#rowCount);
    if ((row & CHUNK_MASK) >= chunk.length) throw missingRow(row, this.#rowCount);
    if (value !== (value & 0xffff)) throw outOfRange('U16Column', row, value);
    chunk[row & CHUNK_MASK] = value;
  }

  /** Makes rows [0, rowCount) usable; new rows are zero. */
  ensure(rowCount: number): void {
    while (this.#rowCount < rowCount) {
      const position = this.#rowCount >>> CHUNK_SHIFT;
      const first = this.#chunks[position];
      this.#rowCount = grownRowCount(this.#rowCount);
      const chunk = new Uint16Array(Math.min(this.#rowCount, CHUNK_ROWS));
      if (first !== undefined) chunk.set(first);
      this.#chunks[position] = chunk;
    }
  }

  /** Rows that are usable. */
  get rowCount(): number {
    return this.#rowCount;
  }

  /** Allocated size in bytes. */
  get bytes(): number {
    return this.#rowCount * 2;
  }
}

/** Unsigned 32-bit values, 4 bytes a row. */
export class U32Column {
  #chunks: Uint32Array[] = [];
  #writable: (Uint32Array | undefined)[] = [];
  #rowCount = 0;

  /** Value of an ensured row. */
  get(row: number): number {
    const chunk = this.#chunks[row >>> CHUNK_SHIFT];
    if (chunk === undefined) throw missingRow(row, this.#rowCount);
    const value = chunk[row & CHUNK_MASK];
    if (value === undefined) throw missingRow(row, this.#rowCount);
    return value;
  }

  /** Stores an integer in [0, 2^32) in an ensured row. */
  set(row: number, value: number): void {
    const chunk = this.#writable[row >>> CHUNK_SHIFT] ?? this.#ownChunk(row);
    if ((row & CHUNK_MASK) >= chunk.length) throw missingRow(row, this.#rowCount);
    if (value !== value >>> 0) throw outOfRange('U32Column', row, value);
    chunk[row & CHUNK_MASK] = value;
  }

  /** Makes rows [0, rowCount) usable; new rows are zero. */
  ensure(rowCount: number): void {
    while (this.#rowCount < rowCount) {
      const position = this.#rowCount >>> CHUNK_SHIFT;
      const first = this.#chunks[position];
      this.#rowCount = grownRowCount(this.#rowCount);
      const chunk = new Uint32Array(Math.min(this.#rowCount, CHUNK_ROWS));
      if (first !== undefined) chunk.set(first);
      this.#chunks[position] = chunk;
      this.#writable[position] = chunk;
    }
  }

  /** Returns the values as they are now; they stay so whatever is set here. Takes 8 bytes a chunk. */
  freeze(): FrozenColumn {
    const frozen = new U32Column();
    frozen.#chunks = this.#chunks.slice();
    frozen.#rowCount = this.#rowCount;
    this.#writable.fill(undefined);
    return frozen;
  }

  /** Lets chunks be written in place again: nobody reads what was frozen any more. */
  thaw(): void {
    this.#writable = this.#chunks.slice();
  }

  /** Rows that are usable. */
  get rowCount(): number {
    return this.#rowCount;
  }

  /** Allocated size in bytes. */
  get bytes(): number {
    return this.#rowCount * 4;
  }

  /** Replaces the shared chunk of a row by a copy that may be written. */
  #ownChunk(row: number): Uint32Array {
    const chunk = this.#chunks[row >>> CHUNK_SHIFT]?.slice();
    if (chunk === undefined) throw missingRow(row, this.#rowCount);
    this.#chunks[row >>> CHUNK_SHIFT] = chunk;
    this.#writable[row >>> CHUNK_SHIFT] = chunk;
    return chunk;
  }
}

/** Safe integers of either sign, 8 bytes a row: wall times in microseconds need 51 bits. */
export class F64Column {
  #chunks: Float64Array[] = [];
  #writable: (Float64Array | undefined)[] = [];
  #rowCount = 0;

  /** Value of an ensured row. */
  get(row: number): number {
    const chunk = this.#chunks[row >>> CHUNK_SHIFT];
    if (chunk === undefined) throw missingRow(row, this.#rowCount);
    const value = chunk[row & CHUNK_MASK];
    if (value === undefined) throw missingRow(row, this.#rowCount);
    return value;
  }

  /** Stores a safe integer in an ensured row. */
  set(row: number, value: number): void {
    const chunk = this.#writable[row >>> CHUNK_SHIFT] ?? this.#ownChunk(row);
    if ((row & CHUNK_MASK) >= chunk.length) throw missingRow(row, this.#rowCount);
    if (!Number.isSafeInteger(value)) throw outOfRange('F64Column', row, value);
    chunk[row & CHUNK_MASK] = value;
  }

  /** Makes rows [0, rowCount) usable; new rows are zero. */
  ensure(rowCount: number): void {
    while (this.#rowCount < rowCount) {
      const position = this.#rowCount >>> CHUNK_SHIFT;
      const first = this.#chunks[position];
      this.#rowCount = grownRowCount(this.#rowCount);
      const chunk = new Float64Array(Math.min(this.#rowCount, CHUNK_ROWS));
      if (first !== undefined) chunk.set(first);
      this.#chunks[position] = chunk;
      this.#writable[position] = chunk;
    }
  }

  /** Returns the values as they are now; they stay so whatever is set here. Takes 8 bytes a chunk. */
  freeze(): FrozenColumn {
    const frozen = new F64Column();
    frozen.#chunks = this.#chunks.slice();
    frozen.#rowCount = this.#rowCount;
    this.#writable.fill(undefined);
    return frozen;
  }

  /** Lets chunks be written in place again: nobody reads what was frozen any more. */
  thaw(): void {
    this.#writable = this.#chunks.slice();
  }

  /** Rows that are usable. */
  get rowCount(): number {
    return this.#rowCount;
  }

  /** Allocated size in bytes. */
  get bytes(): number {
    return this.#rowCount * 8;
  }

  /** Replaces the shared chunk of a row by a copy that may be written. */
  #ownChunk(row: number): Float64Array {
    const chunk = this.#chunks[row >>> CHUNK_SHIFT]?.slice();
    if (chunk === undefined) throw missingRow(row, this.#rowCount);
    this.#chunks[row >>> CHUNK_SHIFT] = chunk;
    this.#writable[row >>> CHUNK_SHIFT] = chunk;
    return chunk;
  }
}

/** Unsigned 48-bit values, 6 bytes a row: offsets and log indexes. Too narrow for wall time in us. */
export class U48Column {
  #lows: Uint32Array[] = [];
  #highs: Uint16Array[] = [];
  /** Chunks of `#lows` that may be written; the one of `#highs` at the same position may be, too. */
  #writable: (Uint32Array | undefined)[] = [];
  #rowCount = 0;

  /** Value of an ensured row. */
  get(row: number): number {
    const position = row >>> CHUNK_SHIFT;
    const low = this.#lows[position];
    const high = this.#highs[position];
    if (low === undefined || high === undefined) throw missingRow(row, this.#rowCount);
    const value = low[row & CHUNK_MASK];
    if (value === undefined) throw missingRow(row, this.#rowCount);
    return (high[row & CHUNK_MASK] as number) * U32_RANGE + value;
  }

  /** Stores an integer in [0, 2^48) in an ensured row. */
  set(row: number, value: number): void {
    const position = row >>> CHUNK_SHIFT;
    const low = this.#writable[position] ?? this.#ownChunk(row);
    const high = this.#highs[position] as Uint16Array;
    if ((row & CHUNK_MASK) >= low.length) throw missingRow(row, this.#rowCount);
    if (!(value >= 0 && value <= U48_MAX && Number.isSafeInteger(value))) {
      throw outOfRange('U48Column', row, value);
    }
    low[row & CHUNK_MASK] = value >>> 0;
    high[row & CHUNK_MASK] = Math.floor(value / U32_RANGE);
  }

  /** Makes rows [0, rowCount) usable; new rows are zero. */
  ensure(rowCount: number): void {
    while (this.#rowCount < rowCount) {
      const position = this.#rowCount >>> CHUNK_SHIFT;
      const firstLow = this.#lows[position];
      const firstHigh = this.#highs[position];
      this.#rowCount = grownRowCount(this.#rowCount);
      const low = new Uint32Array(Math.min(this.#rowCount, CHUNK_ROWS));
      const high = new Uint16Array(low.length);
      if (firstLow !== undefined) low.set(firstLow);
      if (firstHigh !== undefined) high.set(firstHigh);
      this.#lows[position] = low;
      this.#highs[position] = high;
      this.#writable[position] = low;
    }
  }

  /** Returns the values as they are now; they stay so whatever is set here. Takes 16 bytes a chunk. */
  freeze(): FrozenColumn {
    const frozen = new U48Column();
    frozen.#lows = this.#lows.slice();
    frozen.#highs = this.#highs.slice();
    frozen.#rowCount = this.#rowCount;
    this.#writable.fill(undefined);
    return frozen;
  }

  /** Lets chunks be written in place again: nobody reads what was frozen any more. */
  thaw(): void {
    this.#writable = this.#lows.slice();
  }

  /** Rows that are usable. */
  get rowCount(): number {
    return this.#rowCount;
  }

  /** Allocated size in bytes. */
  get bytes(): number {
    return this.#rowCount * 6;
  }

  /** Replaces the shared chunks of a row by copies that may be written. */
  #ownChunk(row: number): Uint32Array {
    const position = row >>> CHUNK_SHIFT;
    const low = this.#lows[position]?.slice();
    const high = this.#highs[position]?.slice();
    if (low === undefined || high === undefined) throw missingRow(row, this.#rowCount);
    this.#lows[position] = low;
    this.#highs[position] = high;
    this.#writable[position] = low;
    return low;
  }
}

/** Rows after the next growth: the first chunk is not full yet, or another one is added. */
function grownRowCount(rowCount: number): number {
  if (rowCount === 0) return FIRST_CHUNK_ROWS;
  return rowCount < CHUNK_ROWS ? rowCount * FIRST_CHUNK_GROWTH : rowCount + CHUNK_ROWS;
}

function missingRow(row: number, rowCount: number): InvariantError {
  return new InvariantError(`row ${row} is outside the column's ${rowCount} rows`);
}

function outOfRange(column: string, row: number, value: number): InvariantError {
  return new InvariantError(`${column} row ${row} cannot hold ${value}`);
}
