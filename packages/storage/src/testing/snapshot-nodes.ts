// Two data directories of which one brings the other up to date, for tests that interrupt that.

import { SeededRng } from '@queen-ts/base';
import type { Entry, LogPosition, LogStore } from '@queen-ts/raft';

import { openDataDirectory, type DataDirectory } from '../data-directory.ts';
import { entriesOf, entryOf, NODE_ID, neverSchedule, randomBytes, sameEntry } from './fixtures.ts';

/** What a test finds in a directory that it opens as a start does. */
export interface FoundState {
  readonly directory: DataDirectory;
  readonly log: LogStore;
  /** Where the checkpoint stands; index 0 without one. */
  readonly position: LogPosition;
}

const WRITE_BUFFER_BYTES = 65_536;

/** Opens a directory as a start does: the newest checkpoint, whose bytes are checked, then the log. */
export async function openAsStart(path: string): Promise<FoundState> {
  const rng = new SeededRng(1);
  const directory = await openDataDirectory({
    path,
    nodeId: NODE_ID,
    rng,
    schedule: neverSchedule,
  });
  try {
    const pieces: Uint8Array[] = [];
    const loaded = await directory.checkpoints.load({
      begin: () => void (pieces.length = 0),
      piece: (bytes) => void pieces.push(Uint8Array.from(bytes)),
    });
    const position = loaded?.position ?? { index: 0, term: 0, checksum: 0 };
    if (loaded !== undefined && !Buffer.concat(pieces).equals(stateOf(position.index))) {
      throw new Error(`another state than that of ${position.index}`);
    }
    const options = { from: position, writeBufferBytes: WRITE_BUFFER_BYTES, cacheBytes: 0 };
    return { directory, log: await directory.openLog(options), position };
  } catch (error) {
    await directory.close();
    throw error;
  }
}

/** Appends entries of term 1 up to `lastIndex` and saves that term. */
export async function appendTo({ directory, log }: FoundState, lastIndex: number): Promise<void> {
  await directory.hardState.save({ term: 1, votedFor: 0, commitIndex: 0 });
  await log.append(entriesOf(log.lastIndex + 1, lastIndex + 1));
}

/** Takes a checkpoint at `index`. */
export async function checkpointAt({ directory }: FoundState, index: number): Promise<void> {
  const writer = await directory.checkpoints.begin();
  await writer.write(stateOf(index));
  await writer.finish({ index, clusterId: 'c', digest: 'd', membership: Uint8Array.of(7) });
}

/** Sends the newest snapshot from one to the other; `onPiece` is called after each piece. */
export async function receiveFrom(
  source: FoundState,
  target: FoundState,
  onPiece: (count: number) => void = () => undefined,
): Promise<LogPosition> {
  const outgoing = await source.directory.snapshots.open();
  if (outgoing === undefined) throw new Error('there is no checkpoint');
  const incoming = await target.directory.snapshots.receive();
  let count = 0;
  for (let piece = await outgoing.next(); piece !== undefined; piece = await outgoing.next()) {
    await incoming.accept(piece);
    count += 1;
    onPiece(count);
  }
  await outgoing.close();
  return (await incoming.finish()).position;
}

/** Throws unless everything in the log and its archive is what was appended. */
export function checkEntries(log: LogStore): void {
  for (let index = 1; index < log.firstIndex; index += 1) {
    const record = log.archive?.next(index, index + 1);
    if (record === undefined) throw new Error(`record ${index} is gone`);
    const { type, head, payloadBytes } = record;
    const payload = log.payload({ index, from: 0, toExclusive: payloadBytes });
    expectEntry({ index, term: 1, type, head, payload });
  }
  const range = { from: log.firstIndex, toExclusive: log.lastIndex + 1 };
  log.entries({ ...range, maxBytes: Infinity }).forEach(expectEntry);
}

function expectEntry(entry: Entry): void {
  if (!sameEntry(entry, entryOf({ index: entry.index }))) throw new Error(`entry ${entry.index}`);
}

/** What stands for the state at an index: several pieces. */
function stateOf(index: number): Uint8Array {
  return randomBytes(new SeededRng(index), 50_000);
}
