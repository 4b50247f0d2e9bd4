// `npm run bench:engine`: every figure that the state engine is held to, without network and disk.
//   npm run bench:engine [-- [--only <scenario>] [--json <path>]]
// Each scenario runs in a process of its own, one after the other, so that none weighs the memory or
// uses the compiled code of another. Exit code 1 when a figure misses its bar.

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { availableParallelism, loadavg } from 'node:os';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { passes, tableText } from './figure.ts';
import type { Figure, Scenario } from './figure.ts';
import { CLAIM_ACK } from './scenarios/claim-ack.ts';
import { DEDUP_MEMORY } from './scenarios/dedup-memory.ts';
import { FIRST_CONTACT } from './scenarios/first-contact.ts';
import { FULL_GC } from './scenarios/full-gc.ts';
import { PARTITION_CREATION } from './scenarios/partition-creation.ts';
import { MEMORY_1M, MEMORY_5M } from './scenarios/partition-memory.ts';
import { PUSH_DEEP, PUSH_WIDE } from './scenarios/push-throughput.ts';
import { RETAINED_BATCHES, RETAINED_SINGLES } from './scenarios/retained-messages.ts';
import { WILDCARD_CLAIM } from './scenarios/wildcard-claim.ts';

const SCENARIOS: readonly Scenario[] = [
  PUSH_DEEP,
  PUSH_WIDE,
  CLAIM_ACK,
  MEMORY_1M,
  MEMORY_5M,
  PARTITION_CREATION,
  RETAINED_BATCHES,
  RETAINED_SINGLES,
  DEDUP_MEMORY,
  FIRST_CONTACT,
  WILDCARD_CLAIM,
  FULL_GC,
];

const { values: options } = parseArgs({
  options: {
    only: { type: 'string' },
    json: { type: 'string' },
    // What this process passes to the ones it starts.
    measure: { type: 'string' },
  },
});
if (options.measure === undefined) await runAll();
else process.send?.(scenario(options.measure).run());

async function runAll(): Promise<void> {
  const scenarios = options.only === undefined ? SCENARIOS : [scenario(options.only)];
  const figures: Figure[] = [];
  for (const one of scenarios) {
    const startMs = performance.now();
    figures.push(...(await measure(one)));
    const seconds = ((performance.now() - startMs) / 1000).toFixed(1);
    process.stderr.write(`${one.name}: ${seconds} s\n`);
  }
  const [load = 0] = loadavg();
  const machine = { cores: availableParallelism(), load, node: process.version };
  console.log(tableText(figures));
  console.log(`\nNode ${machine.node}, ${machine.cores} cores, load ${load.toFixed(1)} at the end`);
  if (options.json !== undefined) {
    const rows = figures.map((figure) => ({ ...figure, isPass: passes(figure) ?? null }));
    await writeFile(options.json, `${JSON.stringify({ machine, figures: rows }, undefined, 2)}\n`);
  }
  process.exitCode = figures.some((figure) => passes(figure) === false) ? 1 : 0;
}

/** Runs one scenario in a process of its own. */
async function measure({ name, nodeOptions = [] }: Scenario): Promise<readonly Figure[]> {
  const execArgv = [...process.execArgv, ...nodeOptions];
  const child = fork(import.meta.filename, ['--measure', name], { execArgv });
  let figures: readonly Figure[] | undefined;
  child.on('message', (message) => (figures = message as readonly Figure[]));
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0 || figures === undefined) throw new Error(`scenario ${name} ended with ${code}`);
  return figures;
}

function scenario(name: string): Scenario {
  const found = SCENARIOS.find((one) => one.name === name);
  if (found === undefined) {
    throw new Error(`no scenario ${name}: ${SCENARIOS.map((one) => one.name).join(', ')}`);
  }
  return found;
}
