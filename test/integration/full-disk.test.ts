// A disk that fills up under load: a small tmpfs as the data directory of a real process. The process
// must end by itself and say why, refuse to start while there is no room, and have everything it
// answered once there is.

import { SeededRng } from '@queen-ts/base';
import { afterEach, describe, expect, it } from 'vitest';
import { BrokerProcess } from '../support/broker-process.ts';
import type { Exit } from '../support/broker-process.ts';
import { MemoryDisk } from '../support/memory-disk.ts';
import { findObstacle, nameOrSkip } from '../support/mount.ts';
import { PushJournal } from '../support/push-journal.ts';
import { pushUntilUnanswered, readEverything } from '../support/push-load.ts';

const SEED = Number(process.env['QUEEN_TEST_SEED'] ?? 20_263);
const QUEUE = 'ledger';
const CONNECTIONS = 4;
const ROOMY_BYTES = 268_435_456;

const obstacle = await findObstacle('full disk, no tmpfs', async (folder) => {
  await (await MemoryDisk.mount(folder, 1_048_576)).dispose();
});

let broker: BrokerProcess | undefined;
let disk: MemoryDisk | undefined;

afterEach(async () => {
  await broker?.kill();
  await disk?.dispose();
  await broker?.dispose();
});

describe.skipIf(obstacle !== undefined)(
  nameOrSkip(`a broker whose disk is full (QUEEN_TEST_SEED=${SEED})`, obstacle),
  () => {
    it.each([
      { where: 'an append', sizeBytes: 6_291_456, payloadCharactersMax: 6000 },
      // Larger than the write-ahead file may grow, smaller than that and the table made of it.
      { where: 'a new table', sizeBytes: 48_234_496, payloadCharactersMax: 60_000 },
    ])('ends at $where and comes back with everything it answered', async (kind) => {
      const journal = new PushJournal();
      // The gate would refuse messages long before the disk is full.
      const env = { QUEEN_RAFT_DISK_HIGH_PCT: '100', QUEEN_RAFT_DISK_LOW_PCT: '100' };
      const process = (broker = await BrokerProcess.launch({ env }));
      await process.kill();
      disk = await MemoryDisk.mount(process.dataDir, kind.sizeBytes);
      await process.start();

      const printedBefore = process.log.length;
      const exit = await fillUp(process, journal, kind.payloadCharactersMax);
      expect(exit).toEqual({ code: 1, signal: null });
      expect(linesOf(process.log.slice(printedBefore))).toEqual([
        expect.stringMatching(/ FATAL .* code=STORAGE_FAILED reason=append to .*: No space left/),
      ]);
      // Something was answered, and then no connection got another answer.
      expect(journal.answeredBatches).toBeGreaterThan(20);
      expect(journal.batchesInDoubt).toBe(CONNECTIONS);

      await expectRefusal(process);
      await expectRefusal(process);
      await disk.resize(ROOMY_BYTES);
      await process.start();
      await journal.resolveDoubts(process.client);
      for (let position = 0; position < journal.answeredBatches; position += 1) {
        await journal.repeatAnswered(process.client, position);
      }
      journal.verify(await readEverything(process.client, QUEUE, 'audit'));
    });
  },
);

/** Pushes until the broker is gone; returns how it ended. */
async function fillUp(
  process: BrokerProcess,
  journal: PushJournal,
  payloadCharactersMax: number,
): Promise<Exit> {
  const { client } = process;
  const rng = new SeededRng(SEED);
  const load = Array.from({ length: CONNECTIONS }, (_, connection) =>
    pushUntilUnanswered({
      client,
      journal,
      rng,
      queue: QUEUE,
      name: String(connection),
      batchMessagesMax: 20,
      payloadCharactersMax,
    }),
  );
  await Promise.all(load);
  // A running process takes no notice of this signal: it ends by itself or not at all.
  return process.terminate(10_000, 'SIGCONT');
}

/** Starts a process that ends with one line about the missing room. */
async function expectRefusal(process: BrokerProcess): Promise<void> {
  const printedBefore = process.log.length;
  await expect(process.start()).rejects.toThrow('the broker ended with 1');
  expect(linesOf(process.log.slice(printedBefore))).toEqual([
    expect.stringMatching(/^queen-ts: .*: No space left on device; remedy: check the disk/),
  ]);
}

function linesOf(text: string): readonly string[] {
  return text.split('\n').filter((line) => line !== '');
}
