// The process: reads the configuration, starts a node, turns signals into an orderly stop and
// failures into an exit code. 0 after a signal, 1 after a refusal to start or a failure.

import { StorageError } from '@queen-ts/storage';
import type { Logger } from 'pino';
import { readConfig } from './config/config.ts';
import type { Config } from './config/config.ts';
import { settingsWithoutEffect } from './config/unsupported.ts';
import { banner, isLoopback } from './process/banner.ts';
import { createLog } from './process/log.ts';
import { refusalText } from './process/refusal.ts';
import { startNode } from './process/start-node.ts';
import type { RunningNode } from './process/start-node.ts';

/** A stop that takes longer is cut off. */
const STOP_MS_MAX = 10_000;

/** A signal this soon after the first is the same one: terminals and wrappers both pass it on. */
const SAME_SIGNAL_MS = 500;

// Nobody reads it any more: the broker goes on.
process.stdout.on('error', () => {});
await main();

async function main(): Promise<void> {
  let config: Config;
  let log: Logger;
  let node: RunningNode;
  let isRunning = false;
  const onFailure = (error: unknown): void => (isRunning ? fail(log, error) : refuse(error));
  process.on('uncaughtException', onFailure);
  process.on('unhandledRejection', onFailure);
  try {
    config = readConfig(process.env);
    log = createLog(config);
    node = await startNode(config, { log, onFailure });
  } catch (error) {
    refuse(error);
  }
  isRunning = true;
  // Before this there was nothing to finish: a signal ended the process at once.
  stopOnSignal(node, log);
  announce(node, config, log);
}

/** Ends a process that could not start. */
function refuse(error: unknown): never {
  process.stderr.write(`queen-ts: ${refusalText(error)}\n`);
  process.exit(1);
}

/** Says on standard output that the node serves, and what an operator should know. */
function announce(node: RunningNode, config: Config, log: Logger): void {
  const { address, dataDirectory, isNew } = node;
  if (config.logJson) log.info({ ...address, dataDirectory, isNew }, 'listening');
  else process.stdout.write(banner({ nodeId: config.nodeId, address, dataDirectory, isNew }));
  if (!isLoopback(address.address)) {
    const message = 'open to everybody who reaches this address: there is no authentication';
    log.warn({ address: address.address }, message);
  }
  const names = settingsWithoutEffect(process.env);
  if (names.length > 0) log.warn({ names }, 'settings without effect in this build');
}

function stopOnSignal(node: RunningNode, log: Logger): void {
  let stoppingSinceMs: number | undefined;
  const onSignal = (signal: NodeJS.Signals): void => {
    if (stoppingSinceMs !== undefined) {
      if (performance.now() - stoppingSinceMs < SAME_SIGNAL_MS) return;
      log.warn({ signal }, 'second signal: ending at once');
      process.exit(1);
    }
    stoppingSinceMs = performance.now();
    log.info({ signal }, 'stopping');
    setTimeout(() => {
      log.error({ durationMs: STOP_MS_MAX }, 'stopping takes too long: ending at once');
      process.exit(1);
    }, STOP_MS_MAX).unref();
    node.stop().then(
      () => {
        log.info('stopped');
        process.exit(0);
      },
      (error: unknown) => fail(log, error),
    );
  };
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
}

/** Ends the process: nothing may be acknowledged any more. */
function fail(log: Logger, error: unknown): never {
  const message = 'this node cannot go on';
  if (error instanceof StorageError)
    log.fatal({ code: error.code, reason: error.message }, message);
  else log.fatal({ err: error }, message);
  process.exit(1);
}
