// Lets one process at a time install and build in this checkout. The lock is a directory that lists
// the processes behind it, and is stale once none of them is alive. It comes into being and goes by
// rename, so nobody ever sees it half made. It lives beside node_modules, not inside, because an
// installation replaces node_modules.

import { mkdirSync, readFileSync, renameSync, rmSync, rmdirSync, writeFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

const POLL_MS = 200;
const WAIT_MS_MAX = 15 * 60_000;

/**
 * Waits until this process holds the lock at `path`.
 * @param {string} path
 * @param {(message: string) => void} say
 */
export async function acquirePrepareLock(path, say) {
  const giveUpAt = Date.now() + WAIT_MS_MAX;
  let hasSaid = false;
  while (!tryCreate(path)) {
    if (removeIfStale(path)) continue;
    const owners = readOwners(path).join(', ');
    if (Date.now() > giveUpAt) {
      throw new Error(
        `gave up waiting for process ${owners}; if it does not work here, remove ${path}`,
      );
    }
    if (!hasSaid) say(`waiting for process ${owners}, which installs or builds here`);
    hasSaid = true;
    await delay(POLL_MS);
  }
  return {
    /**
     * Adds a child that works under the lock: should its parent be killed, the lock stays with it.
     * @param {number} pid
     */
    addOwner: (pid) => {
      writeFileSync(`${path}/owners.new`, `${process.pid}\n${pid}\n`);
      renameSync(`${path}/owners.new`, `${path}/owners`);
    },
    release: () => discard(path),
  };
}

/** @param {string} path */
function tryCreate(path) {
  const draft = `${path}.${process.pid}`;
  rmSync(draft, { recursive: true, force: true });
  mkdirSync(draft);
  writeFileSync(`${draft}/owners`, `${process.pid}\n`);
  try {
    renameSync(draft, path);
    return true;
  } catch (error) {
    rmSync(draft, { recursive: true, force: true });
    if (error.code === 'ENOTEMPTY' || error.code === 'EEXIST') return false;
    throw error;
  }
}

/**
 * Removes the lock if nobody alive holds it. A directory inside the lock makes this exclusive:
 * without it a slow process could remove the lock that a faster one had just taken over.
 * @param {string} path
 * @returns {boolean} whether the lock changed, so that trying again at once is worth it
 */
function removeIfStale(path) {
  if (readOwners(path).some(isAlive)) return false;
  const guard = `${path}/takeover`;
  try {
    mkdirSync(guard);
  } catch (error) {
    if (error.code === 'ENOENT') return true;
    if (error.code === 'EEXIST') return false;
    throw error;
  }
  if (readOwners(path).some(isAlive)) rmdirSync(guard);
  else discard(path);
  return true;
}

/** @param {string} path */
function discard(path) {
  const remains = `${path}.${process.pid}`;
  renameSync(path, remains);
  rmSync(remains, { recursive: true, force: true });
}

/**
 * @param {string} path
 * @returns {number[]} none if the lock is gone
 */
function readOwners(path) {
  try {
    return readFileSync(`${path}/owners`, 'utf8').trim().split('\n').map(Number);
  } catch (error) {
    if (error.code === 'ENOENT') return [];
    throw error;
  }
}

/**
 * @param {number} pid
 * @returns {boolean} false for this process too: a lock in its name is from an earlier life
 */
function isAlive(pid) {
  if (pid === process.pid) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}
