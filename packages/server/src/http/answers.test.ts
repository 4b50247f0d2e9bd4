// Answers of bytes as a client receives them.

import { describe, expect, test } from 'vitest';
import { EdgeCounters } from '../metrics/edge-counters.ts';
import { createLog } from '../process/log.ts';
import { routedApp } from '../routed-app.ts';
import { serveApp } from '../testing/test-edge.ts';
import { jsonBytes } from './answers.ts';

describe('an answer of bytes', () => {
  test.each([
    ['small and ASCII', 'x'.repeat(100)],
    ['small and not ASCII', 'é\u0000\u007f\u0080ü€😀'],
    ['large and not ASCII', 'é€😀'.repeat(50_000)],
  ])('arrives whole with its length: %s', async (_what, text) => {
    const bytes = Buffer.from(JSON.stringify(text));
    // In the middle of a larger buffer, as rendered answers lie.
    const inside = new Uint8Array(bytes.length + 20).fill(0x21);
    inside.set(bytes, 7);
    const body = inside.subarray(7, 7 + bytes.length);
    const log = createLog({ logLevel: 'silent', logJson: true, nodeId: 1 }, { write: () => {} });
    const app = routedApp([{ method: 'GET', path: '/', handler: () => jsonBytes(body) }], {
      log,
      counters: new EdgeCounters(),
      crash: () => {},
    });
    const { connect, close } = await serveApp(app);
    try {
      const client = await connect();
      await client.get('/');
      const answer = await client.answer();
      expect(answer.headers.get('content-length')).toBe(String(bytes.length));
      expect(answer.headers.get('content-type')).toBe('application/json');
      expect(answer.json).toBe(text);
      client.destroy();
    } finally {
      await close();
    }
  });
});
