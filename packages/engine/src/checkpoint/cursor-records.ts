// Cursors, after their partition and in the order of group numbers. Cursor rows lie in the order in
// which groups came to partitions, so they are linked by partition first.

import { CodecError } from '@queen-ts/base';
import type { ByteReader, ByteWriter } from '@queen-ts/base';
import { EFFECT, readEffect, writeEffect, ZERO_ID } from '@queen-ts/protocol';
import type { Id128 } from '@queen-ts/protocol';
import type { FrozenCursors } from '../cursors.ts';
import { noteLease } from '../readiness.ts';
import type { State } from '../state.ts';
import type { FrozenColumn } from '../tables/chunked-columns.ts';
import { RECORD } from './format.ts';

/** Rows that one step of linking looks at. */
const LINK_ROWS = 16_384;

/** The cursor rows of each partition row. */
export class CursorLinks {
  readonly #cursors: FrozenCursors;
  /** First cursor row of a partition row, and the next one of a cursor row; 0 = none. */
  readonly #first: Uint32Array;
  readonly #next: Uint32Array;

  /** @param partitionRows partition rows are below this. */
  constructor(cursors: FrozenCursors, partitionRows: number) {
    this.#cursors = cursors;
    this.#first = new Uint32Array(partitionRows);
    this.#next = new Uint32Array(cursors.keys.partitions.rowCount);
  }

  /** Links everything, in steps of bounded work. */
  *build(): Generator<void> {
    const { partitions, groups } = this.#cursors.keys;
    for (let row = 1; row < partitions.rowCount; row += 1) {
      if (row % LINK_ROWS === 0) yield;
      const partitionRow = groups.get(row) === 0 ? 0 : partitions.get(row);
      if (partitionRow === 0) continue;
      this.#next[row] = this.#first[partitionRow]!;
      this.#first[partitionRow] = row;
    }
  }

  /** Cursor rows of a partition by group number. */
  of(partitionRow: number): readonly number[] {
    const rows: number[] = [];
    for (let row = this.#first[partitionRow]!; row !== 0; row = this.#next[row]!) rows.push(row);
    if (rows.length < 2) return rows;
    const { groups } = this.#cursors.keys;
    return rows.sort((a, b) => groups.get(a) - groups.get(b));
  }
}

/** Writes one cursor of a partition. */
export function writeCursor(
  writer: ByteWriter,
  cursors: FrozenCursors,
  at: { readonly row: number; readonly partition: number; readonly nowUs: number },
): void {
  const { row } = at;
  const { deliveries } = cursors;
  const { leases } = deliveries;
  writer.u8(RECORD.CURSOR);
  const effect = {
    kind: EFFECT.CURSOR_PUT,
    partition: at.partition,
    group: cursors.keys.groups.get(row),
    next: cursors.next.get(row),
    retryCount: deliveries.retryCount.get(row),
    leaseId: leases.has(row)
      ? ([
          leases.word(row, 0),
          leases.word(row, 1),
          leases.word(row, 2),
          leases.word(row, 3),
        ] as const)
      : ZERO_ID,
    leaseExpiresUs: deliveries.leaseExpiresUs.get(row),
    leaseFrom: deliveries.leaseFrom.get(row),
    leaseToExclusive: deliveries.leaseToExclusive.get(row),
    attemptFrom: deliveries.attemptFrom.get(row),
    attemptCount: deliveries.attemptCount.get(row),
    settledLeaseId: idOf(cursors.settledWords, row),
    settledFrom: cursors.settledFrom.get(row),
    settledToExclusive: cursors.settledToExclusive.get(row),
  } as const;
  writeEffect(writer, effect, at.nowUs);
}

/** Reads cursors into a state. */
export class CursorReader {
  readonly #state: State;
  /** Place of the cursor read last: the next one of the same partition has a higher group. */
  #partitionRow = 0;
  #group = 0;

  constructor(state: State) {
    this.#state = state;
  }

  /** Reads the fields of a cursor after the kind byte into the partition read last. */
  cursor(reader: ByteReader, partitionRow: number): void {
    const state = this.#state;
    const { cursors, partitions } = state;
    const effect = readEffect(reader, state.nowUs);
    if (effect.kind !== EFFECT.CURSOR_PUT) throw new CodecError(`cursor of kind ${effect.kind}`);
    const group = state.groups.get(effect.group);
    const isSound =
      partitionRow !== 0 &&
      partitions.number.get(partitionRow) === effect.partition &&
      group?.queue.number === partitions.queue.get(partitionRow) &&
      (partitionRow !== this.#partitionRow || effect.group > this.#group);
    if (!isSound || group === undefined) {
      throw new CodecError(`cursor of group ${effect.group} in partition ${effect.partition}`);
    }
    this.#partitionRow = partitionRow;
    this.#group = effect.group;
    const row = cursors.restore(partitionRow, effect.group);
    cursors.put(row, effect);
    group.cursors += 1;
    if (effect.leaseToExclusive > 0) noteLease(state, row, group);
  }
}

function idOf(words: readonly FrozenColumn[], row: number): Id128 {
  const [a, b, c, d] = words;
  return [a!.get(row), b!.get(row), c!.get(row), d!.get(row)];
}
