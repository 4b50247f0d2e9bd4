// What other processes of this machine have used, as the system tells.

import { readFileSync } from 'node:fs';

/** Kernel clock ticks a second, as /proc counts. */
const TICKS_PER_SECOND = 100;
const PAGE_BYTES = 4096;
/** Positions after the closing parenthesis of the command's name. */
const USER_TIME = 11;
const SYSTEM_TIME = 12;
const RESIDENT_PAGES = 21;

/** CPU seconds so far and resident bytes now, of all `pids` together. Throws for one that is gone. */
export function processUse(pids: readonly number[]): {
  readonly cpuSeconds: number;
  readonly rssBytes: number;
} {
  let ticks = 0;
  let pages = 0;
  for (const pid of pids) {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    ticks += Number(fields[USER_TIME]) + Number(fields[SYSTEM_TIME]);
    pages += Number(fields[RESIDENT_PAGES]);
  }
  return { cpuSeconds: ticks / TICKS_PER_SECOND, rssBytes: pages * PAGE_BYTES };
}
