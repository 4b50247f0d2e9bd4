// Log, banner, refusals and randomness of the process.

import { StorageError } from '@queen-ts/storage';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { describe, expect, test } from 'vitest';
import { badValue } from '../config/config-error.ts';
import { HttpServer } from '../http-server.ts';
import packageJson from '../../package.json' with { type: 'json' };
import { VERSION } from '../version.ts';
import { banner, isLoopback } from './banner.ts';
import { createLog } from './log.ts';
import { peerListenRefusal, refusalText } from './refusal.ts';
import { SystemRng } from './system.ts';

describe('the log', () => {
  function linesOf(logJson: boolean): { lines: string[]; log: ReturnType<typeof createLog> } {
    const lines: string[] = [];
    const sink = { write: (line: string) => void lines.push(line) };
    return { lines, log: createLog({ logLevel: 'info', logJson, nodeId: 3 }, sink) };
  }

  test('as JSON has one object a line', () => {
    const { lines, log } = linesOf(true);
    log.warn({ term: 4 }, 'leader lost');
    log.debug('not shown');
    expect(lines).toHaveLength(1);
    const record = JSON.parse(lines[0]!) as Record<string, unknown>;
    expect(record).toMatchObject({ level: 40, nodeId: 3, term: 4, msg: 'leader lost' });
    expect(record['time']).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
  });

  test('for people has time, level, message and fields', () => {
    const { lines, log } = linesOf(false);
    log.info({ term: 4, code: 'no_leader', names: ['a'] }, 'leader lost');
    expect(lines.join('')).toMatch(
      /^\S+Z INFO {2}leader lost term=4 code=no_leader names=\["a"\]\n$/,
    );
  });

  test('for people shows the stack of an error below the line', () => {
    const { lines, log } = linesOf(false);
    log.error({ err: new RangeError('too far') }, 'request failed');
    expect(lines.join('')).toMatch(/^\S+ ERROR request failed\nRangeError: too far\n +at /);
  });
});

describe('the banner', () => {
  const facts = { nodeId: 1, dataDirectory: '/data', isNew: true };

  test('says where the node listens, where the data is, and what to try', () => {
    const text = banner({ ...facts, address: { address: '0.0.0.0', port: 6632, family: 'IPv4' } });
    expect(text).toContain(`Queen TS ${VERSION}, node 1\n`);
    expect(text).toContain('listening on  http://0.0.0.0:6632\n');
    expect(text).toContain('/data (new)\n');
    expect(text).toContain('curl -s http://127.0.0.1:6632/api/v1/push -d ');
  });

  test('puts IPv6 addresses in brackets', () => {
    const text = banner({ ...facts, address: { address: '::1', port: 1, family: 'IPv6' } });
    expect(text).toContain('http://[::1]:1');
  });

  test.each([
    ['127.0.0.1', true],
    ['127.1.2.3', true],
    ['::1', true],
    ['0.0.0.0', false],
    ['::', false],
    ['10.0.0.1', false],
  ])('%s is loopback: %s', (address, expected) => {
    expect(isLoopback(address)).toBe(expected);
  });
});

describe('refusals to start', () => {
  test('are one line without a stack when the operator can act on them', () => {
    const storage = new StorageError({ code: 'DIRECTORY_FOREIGN', message: '/data: holds x' });
    expect(refusalText(storage)).toBe(storage.message);
    const config = badValue('PORT', 'x', 'a number');
    expect(refusalText(config)).toBe('PORT="x" is not valid: use a number');
  });

  test('name the port that is in use', async () => {
    const other = createServer();
    await new Promise<void>((resolve) => {
      other.listen(0, '127.0.0.1', resolve);
    });
    const { port } = other.address() as AddressInfo;
    const server = new HttpServer(() => new Response(null));
    const error: unknown = await server
      .listen({ port, host: '127.0.0.1' })
      .catch((e: unknown) => e);
    expect(refusalText(error)).toBe(
      `cannot listen on 127.0.0.1:${port} (EADDRINUSE): the port is in use: stop what listens there, or set PORT`,
    );
    other.close();
  });

  test('name the setting when the port for other members is in use', () => {
    const listen = { code: 'EADDRINUSE', syscall: 'listen', address: '127.0.0.1', port: 7400 };
    const error = Object.assign(new Error('in use'), listen);
    expect(refusalText(peerListenRefusal(error))).toBe(
      'cannot listen on 127.0.0.1:7400 for the other members (EADDRINUSE): set QUEEN_RAFT_LISTEN',
    );
    const other = new TypeError('odd');
    expect(peerListenRefusal(other)).toBe(other);
  });

  test('keep the stack of what nobody foresaw', () => {
    expect(refusalText(new TypeError('odd'))).toMatch(/^TypeError: odd\n +at /);
  });
});

test('the reported version is the one of the package', () => {
  expect(VERSION).toBe(packageJson.version);
});

test('the random source draws full 32-bit words beyond one batch', () => {
  const rng = new SystemRng();
  const words = Array.from({ length: 5000 }, () => rng.u32());
  expect(words.every((word) => Number.isInteger(word) && word >= 0 && word < 2 ** 32)).toBe(true);
  expect(new Set(words).size).toBeGreaterThan(4900);
});
