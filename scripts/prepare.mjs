// Brings this checkout into a state that runs: installs dependencies and builds the packages when
// something changed since the last time. Plain JavaScript without dependencies, because on a fresh
// machine it runs before anything is installed, on whatever Node (>= 20) is there.

import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { basename, delimiter, dirname, isAbsolute, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { acquirePrepareLock } from './prepare-lock.mjs';
import { runChild } from './run-child.mjs';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const BIN_FOLDER = join(ROOT, 'node_modules/.bin');
/** The Node that the product runs on: the npm package `node`, pinned in package.json. */
const NODE = join(BIN_FOLDER, 'node');
/** Inside node_modules, so that an installation invalidates it. */
const STAMP_FILE = join(ROOT, 'node_modules/.cache/queen-ts/prepared');

/**
 * Prepares the checkout, then runs a script under the pinned Node in the foreground, and ends this
 * process with the exit code of what went last.
 * @param {string[]} args flags of Node, a script below the root, and its arguments
 */
export async function prepareAndRun(args) {
  process.exitCode = await prepare();
  if (process.exitCode !== 0) return;
  const { exitCode } = await runChild(NODE, args, { cwd: ROOT, stdio: 'inherit' });
  process.exitCode = exitCode;
}

/**
 * Installs and builds what is missing or out of date; returns at once if nothing is.
 * @returns {Promise<number>} 0, or the exit code of what failed
 */
export async function prepare() {
  if (isPrepared()) return 0;
  const lock = await acquirePrepareLock(join(ROOT, '.prepare-lock'), say);
  try {
    // Whoever held the lock before may have done the work.
    if (isPrepared()) return 0;
    const startedAt = Date.now();
    const installed = isInstalled() ? 0 : await install(lock.addOwner);
    const exitCode = installed || (await build(lock.addOwner));
    if (exitCode !== 0) return exitCode;
    mkdirSync(dirname(STAMP_FILE), { recursive: true });
    writeFileSync(STAMP_FILE, fingerprint());
    say(`prepared in ${((Date.now() - startedAt) / 1000).toFixed(1)} s`);
    return 0;
  } finally {
    lock.release();
  }
}

/** @param {(pid: number) => void} onSpawn */
async function install(onSpawn) {
  say('installing dependencies');
  const [command, ...prefix] = npmCommand();
  const args = ['ci', '--include=dev', '--no-audit', '--no-fund', '--loglevel=error'];
  const path = (process.env.PATH ?? '').split(delimiter).filter((folder) => folder !== BIN_FOLDER);
  const { exitCode } = await runChild(command, [...prefix, ...args], {
    cwd: ROOT,
    env: { ...process.env, PATH: path.join(delimiter) },
    stdio: ['ignore', 2, 2],
    onSpawn,
  });
  if (exitCode !== 0 || isInstalled()) return exitCode;
  say('npm ci left node_modules incomplete; are install scripts (package `node`) disabled?');
  return 1;
}

/** The npm that runs us and its Node, unless that is in the node_modules about to be replaced. */
function npmCommand() {
  const { npm_execpath: script = '', npm_node_execpath: node = '' } = process.env;
  const isUsable = basename(script) === 'npm-cli.js' && isAbsolute(node) && !node.startsWith(ROOT);
  return isUsable ? [node, script] : ['npm'];
}

/** @param {(pid: number) => void} onSpawn */
async function build(onSpawn) {
  say('building packages');
  const args = [join(BIN_FOLDER, 'turbo'), 'run', 'build', '--output-logs=errors-only'];
  const { exitCode, output } = await runChild(NODE, args, {
    cwd: ROOT,
    env: {
      ...process.env,
      PATH: `${BIN_FOLDER}${delimiter}${process.env.PATH ?? ''}`,
      TURBO_TELEMETRY_DISABLED: '1',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    onSpawn,
  });
  if (exitCode !== 0) process.stderr.write(output);
  return exitCode;
}

/** Whether node_modules holds what package-lock.json asks for, in a form that runs here. */
function isInstalled() {
  const installed = readText(join(ROOT, 'node_modules/.package-lock.json'));
  if (installed === undefined) return false;
  const actual = JSON.parse(installed).packages;
  const wanted = JSON.parse(readText(join(ROOT, 'package-lock.json')) ?? '').packages;
  for (const [path, entry] of Object.entries(wanted)) {
    // The root is not listed among the installed, and optional packages depend on the platform.
    if (path === '' || entry.optional || entry.devOptional) continue;
    if (actual[path]?.version !== entry.version || actual[path]?.link !== entry.link) return false;
  }
  return spawnSync(NODE, ['--version']).status === 0;
}

/** Whether installation and build are as the last successful preparation left them. */
function isPrepared() {
  return readText(STAMP_FILE) === fingerprint();
}

/** Path, size and time of everything that goes into installation and build, and comes out of it. */
function fingerprint() {
  const files = ['package.json', 'package-lock.json', 'turbo.json'];
  files.push('tsconfig.json', 'tsconfig.build.json', 'node_modules/.package-lock.json');
  for (const name of readdirSync(join(ROOT, 'packages'))) {
    const folder = join('packages', name);
    files.push(join(folder, 'package.json'), join(folder, 'tsconfig.build.json'));
    for (const part of ['src', 'dist']) files.push(...filesBelow(join(folder, part)));
  }
  const lines = files.map((file) => {
    const stats = statSync(join(ROOT, file), { throwIfNoEntry: false });
    return stats === undefined ? `${file} -` : `${file} ${stats.size} ${stats.mtimeMs}`;
  });
  return lines.sort().join('\n');
}

/** @param {string} folder */
function filesBelow(folder) {
  const names = statSync(join(ROOT, folder), { throwIfNoEntry: false })
    ? readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    : [];
  return names
    .filter((name) => /\.(ts|js)$/.test(name) && !name.endsWith('.test.ts'))
    .map((name) => join(folder, name));
}

/**
 * @param {string} file
 * @returns {string | undefined} undefined if there is no such file
 */
function readText(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  }
}

/**
 * On stderr: stdout is for the program that runs after us.
 * @param {string} message
 */
function say(message) {
  console.error(`queen: ${message}`);
}
