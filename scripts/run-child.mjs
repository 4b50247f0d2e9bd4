// Runs a child process in the foreground: it gets our signals and we get its exit code.

import { spawn } from 'node:child_process';
import { constants } from 'node:os';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'];
/** A signal to our process group reaches this process once more through npm; the child needs one. */
const SAME_SIGNAL_MS = 500;
const PARENT_POLL_MS = 500;
const PARENT_PID = process.ppid;

/**
 * Resolves when the child has ended and closed its output. This process outlives the signals that
 * it passes on; what they mean is for the child to decide. If npm, which runs us, is killed without
 * a chance to pass on a signal, the child is asked to end.
 * @param {string} command
 * @param {string[]} args
 * @param {{ onSpawn?: (pid: number) => void }} options `onSpawn`, and what `spawn` takes
 * @returns {Promise<{ exitCode: number, output: string }>} 128 + n if signal n ended the child;
 *   `output` is what it wrote to piped streams
 */
export async function runChild(command, args, { onSpawn, ...options }) {
  const child = spawn(command, args, options);
  const output = [];
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (data) => output.push(data));

  const lastAt = new Map();
  const forward = (signal) => {
    // Ctrl-C: the terminal has sent it to the child as well.
    if (signal === 'SIGINT' && process.stdin.isTTY) return;
    if (Date.now() - (lastAt.get(signal) ?? 0) < SAME_SIGNAL_MS) return;
    lastAt.set(signal, Date.now());
    child.kill(signal);
  };
  for (const signal of SIGNALS) process.on(signal, forward);
  const parentPoll = setInterval(() => {
    const isRunByNpm = process.env.npm_lifecycle_event !== undefined;
    if (!isRunByNpm || process.ppid === PARENT_PID) return;
    clearInterval(parentPoll);
    forward('SIGTERM');
  }, PARENT_POLL_MS);
  try {
    const ended = new Promise((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (code, signal) => resolve(code ?? 128 + constants.signals[signal]));
    });
    if (child.pid !== undefined) onSpawn?.(child.pid);
    return { exitCode: await ended, output: Buffer.concat(output).toString() };
  } finally {
    clearInterval(parentPoll);
    for (const signal of SIGNALS) process.off(signal, forward);
  }
}
