// Encryption at rest of a real process: nothing readable in any file of its data directory, and everything
// readable through the API, also after a kill, a checkpoint and a restart.

import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { BrokerProcess } from '../support/broker-process.ts';

const KEY = '0f'.repeat(32);
const OTHER_KEY = 'f0'.repeat(32);
/** Long enough to be cut into chunks, and found in one piece by whoever looks for it. */
const SECRET = 'the quick brown fox keeps a secret';
const QUEUE = 'vault';

let broker: BrokerProcess | undefined;

afterEach(async () => {
  await broker?.dispose();
});

/** The files below a directory that hold a text. */
async function filesWith(directory: string, text: string): Promise<string[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const found: string[] = [];
  for (const entry of entries.filter((it) => it.isFile())) {
    const path = join(entry.parentPath, entry.name);
    if ((await readFile(path)).includes(text)) found.push(path);
  }
  return found;
}

describe('a broker with a key', () => {
  it('keeps payloads out of its files and gives them back, with this key only', async () => {
    const process = (broker = await BrokerProcess.launch({ env: { QUEEN_ENCRYPTION_KEY: KEY } }));
    await process.client.configure(QUEUE, { encryptionEnabled: true });
    const payload = { secret: SECRET, filler: 'x'.repeat(100_000) };
    await process.client.push([
      { queue: QUEUE, transactionId: 'seen', payload },
      { queue: QUEUE, payload: SECRET },
      { queue: 'open', payload: 'readable by everybody' },
    ]);
    const popped = await process.client.pop(QUEUE, { consumerGroup: 'g' });
    expect(popped?.messages.map(({ data }) => data)).toEqual([payload, SECRET]);
    const [first] = popped?.messages ?? [];
    const acknowledgments = [{ ...first, status: 'dlq', error: 'cannot be handled' }];
    await process.client.post('/api/v1/ack', { consumerGroup: 'g', acknowledgments });
    const { text } = await process.client.request('GET', '/api/v1/dlq');
    expect(text).toContain(SECRET);
    expect(await filesWith(process.dataDir, SECRET)).toEqual([]);

    await process.kill();
    // Opening moves what the log's write-ahead file holds into a table.
    await process.start();
    expect(await filesWith(process.dataDir, SECRET)).toEqual([]);
    expect(await filesWith(process.dataDir, 'readable by everybody')).not.toEqual([]);
    const later = await process.client.pop(QUEUE, { consumerGroup: 'later' });
    expect(later?.messages.map(({ data }) => data)).toEqual([payload, SECRET]);

    await process.terminate();
    await process.start({ QUEEN_ENCRYPTION_KEY: OTHER_KEY });
    const path = `/api/v1/pop/queue/${QUEUE}?consumerGroup=third`;
    for (let attempt = 0; attempt < 2; attempt += 1) {
      const refused = await process.client.request('GET', path);
      expect(refused.status).toBe(503);
      expect(JSON.parse(refused.text)).toMatchObject({ code: 'encryption_key_mismatch' });
    }

    await process.terminate();
    await process.start();
    // What was claimed for nothing went back, and its attempts with it.
    const third = await process.client.pop(QUEUE, { consumerGroup: 'third' });
    expect(third?.messages.map(({ deliveryAttempt }) => deliveryAttempt)).toEqual([1, 1]);
  });
});
