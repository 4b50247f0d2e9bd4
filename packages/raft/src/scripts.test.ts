// Script tests: every file of testdata/ is run and must leave the trace it shows. RAFT_REWRITE=1
// rewrites the files; read the diff before you keep it.

import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runScript } from './testing/script.ts';

const TESTDATA = join(import.meta.dirname, '../testdata');
const NAMES = readdirSync(TESTDATA).filter((name) => name.endsWith('.txt'));

describe('script', () => {
  it.each(NAMES)('%s', (name) => {
    const path = join(TESTDATA, name);
    const text = readFileSync(path, 'utf8');
    const actual = runScript(text);
    if (process.env['RAFT_REWRITE'] === '1') writeFileSync(path, actual);
    else expect(actual).toBe(text);
  });
});
