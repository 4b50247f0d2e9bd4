// Three nodes on this machine, to try a cluster: prints where they are and how to end one, starts again
// what ends, and removes everything on Ctrl-C.
//
//   --http PORT    port of the first node for clients; the others take the next ones. Default 6632
//   --raft PORT    port of the first node for its peers. Default 7400
//   --data FOLDER  keep the data there. Default: a temporary folder that is removed at the end
//   --verbose      show the nodes' logs

import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { BROKER_NODE_FLAGS } from './node-flags.mjs';

const MAIN = fileURLToPath(new URL('../packages/server/dist/main.js', import.meta.url));
const IDS = [1, 2, 3];
const READY_MS_MAX = 30_000;
const POLL_MS = 100;
/** A node that was ended stays away this long, so that one can see the others go on. */
const RESTART_MS = 5_000;
/** A node that lives shorter than this is not started again. */
const LIFE_MS_MIN = 2_000;

const { values } = parseArgs({
  options: {
    http: { type: 'string', default: '6632' },
    raft: { type: 'string', default: '7400' },
    data: { type: 'string' },
    verbose: { type: 'boolean', default: false },
  },
});
const httpPort = portOf('http', values.http);
const raftPort = portOf('raft', values.raft);
const folder = values.data ?? (await mkdtemp(join(tmpdir(), 'queen-ts-cluster-')));
const peers = IDS.map(
  (id) => `${id}=127.0.0.1:${raftPort + id - 1}/127.0.0.1:${httpPort + id - 1}`,
).join(',');
const nodes = new Map();
let isEnding = false;

process.on('SIGINT', () => void end(0));
process.on('SIGTERM', () => void end(0));
process.on('SIGHUP', () => void end(0));

for (const id of IDS) start(id);
const isReady = await untilReady();
if (isReady) announce();
else if (!isEnding) {
  process.stderr.write('queen-ts: the cluster did not become ready; --verbose shows why\n');
  await end(1);
}

/** @param {number} id */
function urlOf(id) {
  return `http://127.0.0.1:${httpPort + id - 1}`;
}

/** @param {number} id */
function start(id) {
  const startedMs = performance.now();
  const child = spawn(process.execPath, [...BROKER_NODE_FLAGS, MAIN], {
    env: {
      ...process.env,
      PORT: String(httpPort + id - 1),
      QUEEN_BIND_ADDR: '127.0.0.1',
      QUEEN_RAFT_NODE_ID: String(id),
      QUEEN_RAFT_REPLICATOR: 'raft',
      QUEEN_RAFT_PEERS: peers,
      QUEEN_RAFT_LISTEN: `127.0.0.1:${raftPort + id - 1}`,
      QUEEN_RAFT_DIR: join(folder, `node-${id}`),
    },
    // A group of its own: a terminal's Ctrl-C reaches this process only, which ends the nodes.
    detached: true,
    stdio: ['ignore', values.verbose ? 'inherit' : 'ignore', 'inherit'],
  });
  nodes.set(id, child);
  child.once('error', (error) => {
    process.stderr.write(`queen-ts: node ${id}: ${error.message}\n`);
    void end(1);
  });
  child.once('exit', (code, signal) => void ended({ id, code, signal, startedMs }));
}

/** A node ended: unless everything ends, it comes back. */
async function ended({ id, code, signal, startedMs }) {
  if (isEnding) return;
  const how = signal ?? `code ${code}`;
  if (performance.now() - startedMs < LIFE_MS_MIN) {
    process.stderr.write(`queen-ts: node ${id} ended at once (${how})\n`);
    await end(1);
    return;
  }
  process.stdout.write(`node ${id} ended (${how}); back in ${RESTART_MS / 1000} s\n`);
  await pause(RESTART_MS);
  if (isEnding) return;
  start(id);
  process.stdout.write(`node ${id} starts again, pid ${nodes.get(id).pid}\n`);
}

async function untilReady() {
  const deadline = performance.now() + READY_MS_MAX;
  while (!isEnding && performance.now() < deadline) {
    const answers = await Promise.all(IDS.map((id) => isHealthy(id)));
    if (answers.every(Boolean)) return true;
    await pause(POLL_MS);
  }
  return false;
}

/** @param {number} id */
async function isHealthy(id) {
  try {
    return (await fetch(`${urlOf(id)}/health`)).status === 200;
  } catch {
    return false;
  }
}

function announce() {
  const lines = IDS.map((id) => `  node ${id}  ${urlOf(id)}  pid ${nodes.get(id).pid}`);
  const body = `'{"items":[{"queue":"hello","payload":{"n":1}}]}'`;
  process.stdout.write(
    [
      'Queen TS: three nodes, one cluster. Any of them answers any request.',
      ...lines,
      `  data in  ${folder}${values.data === undefined ? ' (removed at the end)' : ''}`,
      `  push     curl -s ${urlOf(1)}/api/v1/push -d ${body}`,
      `  pop      curl -s '${urlOf(2)}/api/v1/pop/queue/hello?wait=true'`,
      `  leader   curl -s ${urlOf(3)}/api/v1/raft/status`,
      `  end one  kill -9 ${nodes.get(1).pid}     (it comes back after ${RESTART_MS / 1000} s)`,
      'Ctrl-C ends them all.',
      '',
    ].join('\n'),
  );
}

/** Ends every node in order, then this process. */
async function end(exitCode) {
  if (isEnding) return;
  isEnding = true;
  const running = [...nodes.values()].filter((child) => child.exitCode === null && !child.killed);
  const exits = running
    .filter((child) => child.signalCode === null)
    .map((child) => new Promise((resolve) => child.once('exit', resolve)));
  for (const child of running) child.kill('SIGTERM');
  await Promise.race([Promise.all(exits), pause(15_000)]);
  for (const child of running) if (child.exitCode === null) child.kill('SIGKILL');
  if (values.data === undefined) await rm(folder, { recursive: true, force: true });
  process.exit(exitCode);
}

/**
 * @param {string} name
 * @param {string} text
 */
function portOf(name, text) {
  const port = Number(text);
  if (Number.isInteger(port) && port >= 1 && port <= 65_533) return port;
  process.stderr.write(`queen-ts: --${name} takes a port from 1 to 65533, not ${text}\n`);
  process.exit(1);
}
