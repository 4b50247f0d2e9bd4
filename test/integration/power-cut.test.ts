// Power cuts under load. The data directory is an ext4 file system on a loop device. While several
// connections push, the device is copied at a random moment, the process is killed, and it starts
// again from the copy, as on a machine that lost power.
//
// What makes the copy a power cut: what a process has written stays in the page cache of the mounted
// file system until it is synced, or until the kernel gets to it seconds later, and the copy is taken
// below that, from the file behind the device. Nothing is frozen, unmounted or synced for it. With
// direct I/O the device completes a write only once it is in that file, so reading the file shows what a
// disk would hold, and no second cache holds what the first one passed on. The process is stopped while
// the copy is taken, so that it is of one instant; a file that was written the moment before and not
// synced must be missing or empty in it, or the test would show nothing.
//
// What it does not show: a disk that loses or reorders what it has accepted and not flushed. Flushes
// are the file system's part of fdatasync. Nor a write of which half is there: a system call ends
// before its process stops; torn writes are in the damage tests and in the simulation.

import { readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { randomBelow, SeededRng } from '@queen-ts/base';
import { afterAll, expect, it } from 'vitest';
import { BrokerProcess } from '../support/broker-process.ts';
import { eventually } from '../support/eventually.ts';
import { LoopDisk } from '../support/loop-disk.ts';
import { findObstacle, nameOrSkip } from '../support/mount.ts';
import { PushJournal } from '../support/push-journal.ts';
import { pushUntilUnanswered, readEverything } from '../support/push-load.ts';

const SEED = Number(process.env['QUEEN_TEST_SEED'] ?? 20_262);
const CUTS = 5;
const QUEUE = 'ledger';
const CONNECTIONS = 6;
const REPEATED_BATCHES = 5;
const DISK_BYTES = 50_331_648;
const UNSYNCED_FILE = 'unsynced';
const UNSYNCED_BYTES = 65_536;

const obstacle = await findObstacle('power cut, no ext4 on a loop device', async (folder) => {
  const disk = await LoopDisk.create(DISK_BYTES);
  try {
    await disk.mount(folder);
  } finally {
    await disk.dispose();
  }
});

let broker: BrokerProcess | undefined;
let disk: LoopDisk | undefined;

afterAll(async () => {
  await broker?.kill();
  await disk?.dispose();
  await broker?.dispose();
});

it.skipIf(obstacle !== undefined)(
  nameOrSkip(
    `a broker whose power is cut ${CUTS} times under load keeps everything it answered, once, in order (QUEEN_TEST_SEED=${SEED})`,
    obstacle,
  ),
  async () => {
    const rng = new SeededRng(SEED);
    const journal = new PushJournal();
    disk = await LoopDisk.create(DISK_BYTES);
    const process = (broker = await launchOn(disk));
    let lostFiles = 0;
    for (let cut = 1; cut <= CUTS; cut += 1) {
      const content = await cutUnderLoad({ process, disk, rng, journal, cut });
      await disk.unmount();
      await disk.restore(content);
      await disk.mount(process.dataDir);
      lostFiles += await removeUnsyncedFile(process.dataDir);
      await process.start();
      // The cut came in the middle of something, or this test shows nothing.
      expect(journal.batchesInDoubt).toBeGreaterThan(0);
      await journal.resolveDoubts(process.client);
      for (let i = 0; i < REPEATED_BATCHES; i += 1) {
        await journal.repeatAnswered(process.client, randomBelow(rng, journal.answeredBatches));
      }
      journal.verify(await readEverything(process.client, QUEUE, `audit-${cut}`));
    }
    // A kernel short of memory may write a file at once, but not every time.
    expect(lostFiles).toBeGreaterThan(0);
  },
);

interface Cut {
  readonly process: BrokerProcess;
  readonly disk: LoopDisk;
  readonly rng: SeededRng;
  readonly journal: PushJournal;
  /** Number of the cut: keeps transaction ids apart. */
  readonly cut: number;
}

/** A running broker whose data directory is the root of the disk. */
async function launchOn(target: LoopDisk): Promise<BrokerProcess> {
  // The first process only makes the directory to mount at.
  const process = (broker = await BrokerProcess.launch());
  await process.kill();
  await target.mount(process.dataDir);
  await process.start();
  return process;
}

/** Loads the broker, takes a copy of its disk at a random moment and ends it; returns the copy. */
async function cutUnderLoad({ process, disk: target, rng, journal, cut }: Cut): Promise<Buffer> {
  const { client, dataDir } = process;
  const cutAfterBatches = journal.answeredBatches + 10 + randomBelow(rng, 100);
  const load = Array.from({ length: CONNECTIONS }, (_, connection) =>
    pushUntilUnanswered({
      client,
      journal,
      rng,
      queue: QUEUE,
      name: `${cut}-${connection}`,
      batchMessagesMax: 40,
      payloadCharactersMax: 600,
    }),
  );
  const ended = Promise.all(load);
  await Promise.race([
    ended,
    eventually('some load', () => journal.answeredBatches >= cutAfterBatches, 20_000),
  ]);
  await writeFile(join(dataDir, UNSYNCED_FILE), Buffer.alloc(UNSYNCED_BYTES, 'x'));
  await stop(await processId(dataDir));
  // Answers that arrive from here on were given before the process stopped: the copy owes them, too.
  const content = await target.cut();
  await process.kill();
  await ended;
  return content;
}

/** The broker says in its data directory which process holds it. */
async function processId(dataDir: string): Promise<number> {
  const text = await readFile(join(dataDir, 'lock', 'owner'), 'utf8');
  const pid = Number(/^pid (\d+)$/m.exec(text)?.[1]);
  if (!Number.isSafeInteger(pid) || pid <= 1) throw new Error(`no process id in ${text}`);
  return pid;
}

/** Stops all threads of a process; resolves when none of them is in a system call any more. */
async function stop(pid: number): Promise<void> {
  process.kill(pid, 'SIGSTOP');
  await eventually('a stopped process', async () => {
    const threads = await readdir(`/proc/${pid}/task`);
    const states = await Promise.all(
      threads.map(async (thread) => {
        const text = await readFile(`/proc/${pid}/task/${thread}/stat`, 'utf8');
        // The name before the state may hold anything, also a parenthesis.
        return text.slice(text.lastIndexOf(')') + 2).charAt(0);
      }),
    );
    return states.every((state) => state === 'T');
  });
}

/** Removes the file if it survived the cut; returns 1 if its content did not, else 0. */
async function removeUnsyncedFile(dataDir: string): Promise<number> {
  const path = join(dataDir, UNSYNCED_FILE);
  const found = await stat(path).catch(() => undefined);
  await rm(path, { force: true });
  return (found?.size ?? 0) < UNSYNCED_BYTES ? 1 : 0;
}
