// Mounting for tests that need a disk of their own, and finding out first whether this machine lets
// them. Needs the right to mount (CAP_SYS_ADMIN) and the tools of util-linux.

import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** Longest that one tool may take. */
const TOOL_DEADLINE_MS = 20_000;

const execute = promisify(execFile);

/** Runs a tool and returns what it printed. Rejects, with what it complained of, when it fails. */
export async function runTool(name: string, ...args: readonly string[]): Promise<string> {
  const env = { PATH: `${process.env['PATH'] ?? ''}:/usr/sbin:/sbin`, LC_ALL: 'C' };
  const { stdout } = await execute(name, args, { env, timeout: TOOL_DEADLINE_MS });
  return stdout.trim();
}

/** Takes away what is mounted at a directory; fails while a process uses it. */
export async function unmount(directory: string): Promise<void> {
  await runTool('umount', directory);
}

/**
 * Tries `attempt` in a folder of its own and returns, on one line, why it fails; undefined if it does
 * not. The reason is printed as well: a reporter may show no more than the number of skipped tests.
 */
export async function findObstacle(
  what: string,
  attempt: (folder: string) => Promise<void>,
): Promise<string | undefined> {
  const folder = await mkdtemp(join(tmpdir(), 'queen-ts-probe-'));
  try {
    await attempt(folder);
    return undefined;
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    const reason = `${what}: ${text.trim().replaceAll(/\s*[\r\n]+\s*/g, ' ')}`;
    process.stderr.write(`SKIP ${reason}\n`);
    return reason;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** The name of a test, with the reason if it is skipped. */
export function nameOrSkip(name: string, obstacle: string | undefined): string {
  return obstacle === undefined ? name : `${name} (SKIP: ${obstacle})`;
}
