// The contract suite of SnapshotStore, together with the log and the checkpoints that it belongs to:
// exactly what snapshots.ts and LogStore.install promise.

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { CheckpointStore } from '../checkpoints.ts';
import type { Entry, LogStore } from '../ports.ts';
import type { SnapshotStore } from '../snapshots.ts';

/** The stores of one node. */
export interface SnapshotFixture {
  readonly log: LogStore;
  readonly checkpoints: CheckpointStore;
  readonly snapshots: SnapshotStore;
  /** Closes the stores and puts in their place what a restarted process would find. */
  reopen(): Promise<void>;
  dispose(): Promise<void>;
}

/** Registers the cases. `open` gives stores that are new and empty, each time those of another node. */
export function describeSnapshotStoreContract(
  name: string,
  open: () => Promise<SnapshotFixture>,
): void {
  describe(`SnapshotStore contract: ${name}`, () => {
    let source: SnapshotFixture;
    let target: SnapshotFixture;
    beforeEach(async () => {
      source = await open();
      target = await open();
    });
    afterEach(async () => {
      await source.dispose();
      await target.dispose();
    });

    it('has none before the first checkpoint', async () => {
      await source.log.append([entryOf(1, 1)]);
      expect(await source.snapshots.open()).toBeUndefined();
    });

    it.for([
      ['beyond the end of the log', 0],
      ['inside the log', 3],
      ['of a log that is longer and another one', 20],
    ] as const)('installs one %s', async ([, count]) => {
      await fillSource(source);
      if (count > 0) await target.log.append(range(1, count + 1).map((index) => entryOf(index, 1)));
      await transfer(source, target);
      await expectInstalled(target);
      await target.reopen();
      await expectInstalled(target);
      await target.log.append([entryOf(9, 5)]);
      await target.reopen();
      expect([target.log.firstIndex, target.log.lastIndex, target.log.term(9)]).toEqual([9, 9, 5]);
    });

    it('gives out the same, whatever is appended, purged and superseded meanwhile', async () => {
      await fillSource(source);
      const outgoing = await source.snapshots.open();
      await source.log.append(range(12, 15).map((index) => entryOf(index, 4)));
      await source.log.compact?.(8);
      const dead = [1, 4, 5, 6, 7, 8].map((index) => ({ index, kept: [] }));
      await source.log.archive?.purge(dead);
      for (const index of [12, 13, 14]) await checkpoint(source, index);
      const pieces = await readPieces(outgoing);
      await receive(target, pieces);
      await expectInstalled(target);
    });

    it('can be installed again and again, and sent on', async () => {
      await fillSource(source);
      await transfer(source, target);
      await source.log.append(range(12, 30).map((index) => entryOf(index, 4)));
      await checkpoint(source, 25);
      await transfer(source, target);
      expect([target.log.firstIndex, target.log.term(25)]).toEqual([26, 4]);
      const third = await open();
      await transfer(target, third);
      expect(third.log.firstIndex).toBe(26);
      expect(await stateOf(third)).toBe('state at 25');
      expect(payloadOf(third.log, 12)).toBe(payloadOf(source.log, 12));
      await third.dispose();
    });

    it('leaves everything as it was until it is installed', async () => {
      await fillSource(source);
      await target.log.append([entryOf(1, 2), entryOf(2, 2)]);
      await checkpoint(target, 2);
      const pieces = await readPieces(await source.snapshots.open());
      const incoming = await target.snapshots.receive();
      for (const piece of pieces) await incoming.accept(piece);
      await incoming.finish();
      await target.reopen();
      expect([target.log.firstIndex, target.log.lastIndex]).toEqual([1, 2]);
      expect(await stateOf(target)).toBe('state at 2');
      await receive(target, pieces);
      await expectInstalled(target);
    });

    it('refuses damaged, missing and repeated pieces, and can begin anew', async () => {
      await fillSource(source);
      await target.log.append([entryOf(1, 2)]);
      const pieces = await readPieces(await source.snapshots.open());
      for (const wrong of wrongOrders(pieces)) {
        const incoming = await target.snapshots.receive();
        const accepting = async (): Promise<void> => {
          for (const piece of wrong) await incoming.accept(piece);
          await incoming.finish();
        };
        await expect(accepting()).rejects.toThrow();
        await incoming.abandon();
        await incoming.abandon();
      }
      expect([target.log.firstIndex, target.log.lastIndex]).toEqual([1, 1]);
      await receive(target, pieces);
      await expectInstalled(target);
    });
  });
}

/** Entries 1 to 11, of which 2 and 3 are purged but for a part of 3; checkpoints at 6 and 8. */
async function fillSource(source: SnapshotFixture): Promise<void> {
  await source.log.append(range(1, 12).map((index) => entryOf(index, index < 6 ? 1 : 3)));
  await checkpoint(source, 6);
  await source.log.compact?.(5);
  await source.log.archive?.purge([
    { index: 2, kept: [] },
    { index: 3, kept: [{ from: 100, toExclusive: 200 }] },
  ]);
  await checkpoint(source, 8);
}

async function checkpoint({ checkpoints }: SnapshotFixture, index: number): Promise<void> {
  const writer = await checkpoints.begin();
  await writer.write(Buffer.from(`state at ${index}`));
  await writer.finish({ index, clusterId: 'c', digest: 'd', membership: Uint8Array.of(index) });
}

async function transfer(source: SnapshotFixture, target: SnapshotFixture): Promise<void> {
  await receive(target, await readPieces(await source.snapshots.open()));
}

async function readPieces(
  outgoing: Awaited<ReturnType<SnapshotStore['open']>>,
): Promise<Uint8Array[]> {
  const pieces: Uint8Array[] = [];
  if (outgoing === undefined) throw new Error('there is no checkpoint');
  for (let piece = await outgoing.next(); piece !== undefined; piece = await outgoing.next()) {
    pieces.push(piece);
  }
  await outgoing.close();
  await outgoing.close();
  await expect(outgoing.next()).rejects.toMatchObject({ code: 'STORE_CLOSED' });
  return pieces;
}

async function receive(target: SnapshotFixture, pieces: readonly Uint8Array[]): Promise<void> {
  const incoming = await target.snapshots.receive();
  for (const piece of pieces) await incoming.accept(piece);
  const { position } = await incoming.finish();
  await target.log.install?.(position);
  await incoming.abandon();
}

async function expectInstalled(target: SnapshotFixture): Promise<void> {
  const { log } = target;
  expect([log.firstIndex, log.lastIndex]).toEqual([9, 8]);
  expect([log.term(8), log.term(7), log.term(9)]).toEqual([3, undefined, undefined]);
  expect(await stateOf(target)).toBe('state at 8');
  for (const index of [1, 4, 5, 6, 7, 8]) expect(payloadOf(log, index)).toBe(textOf(index));
  const part = { index: 3, from: 100, toExclusive: 200 };
  expect(Buffer.from(log.payload(part)).toString()).toBe(textOf(3).slice(100, 200));
  expect(() => payloadOf(log, 2)).toThrow(expect.objectContaining({ code: 'LOG_COMPACTED' }));
  const found: number[] = [];
  for (let from = 1; from < 9;) {
    const record = log.archive?.next(from, 9);
    if (record === undefined) break;
    found.push(record.index);
    from = record.index + 1;
  }
  expect(found).toEqual([1, 3, 4, 5, 6, 7, 8]);
}

async function stateOf({ checkpoints }: SnapshotFixture): Promise<string> {
  const pieces: Uint8Array[] = [];
  const loaded = await checkpoints.load({
    begin: () => void (pieces.length = 0),
    piece: (bytes) => void pieces.push(Uint8Array.from(bytes)),
  });
  expect(loaded?.meta.membership).toEqual(Uint8Array.of(loaded?.meta.index ?? 0));
  return Buffer.concat(pieces).toString();
}

/** The same pieces with one thing wrong each. */
function wrongOrders(pieces: readonly Uint8Array[]): (readonly Uint8Array[])[] {
  const last = pieces.length - 1;
  const damaged = pieces.map((piece, i) => {
    const copy = piece.slice();
    if (i === last >> 1) copy[copy.length >> 1] = (copy[copy.length >> 1] ?? 0) ^ 4;
    return copy;
  });
  return [damaged, pieces.slice(0, last), pieces.slice(1), [...pieces.slice(0, 1), ...pieces]];
}

function payloadOf(log: LogStore, index: number): string {
  return Buffer.from(log.payload({ index, from: 0, toExclusive: textOf(index).length })).toString();
}

function textOf(index: number): string {
  return `payload of ${index} `.repeat(20_000 / (index + 1));
}

function entryOf(index: number, term: number): Entry {
  const payload = Uint8Array.from(Buffer.from(textOf(index)));
  return { index, term, type: 'command', head: Uint8Array.of(index), payload };
}

function range(from: number, toExclusive: number): number[] {
  return Array.from({ length: toExclusive - from }, (_, i) => from + i);
}
