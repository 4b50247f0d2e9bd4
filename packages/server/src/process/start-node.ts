// The composition root: builds a node from real parts and tears it down again. Everything below it
// takes its clock, randomness, disk and network as arguments.

import { DiskGate } from '@queen-ts/cluster';
import type { Member } from '@queen-ts/cluster';
import { openDataDirectory } from '@queen-ts/storage';
import type { DataDirectory } from '@queen-ts/storage';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import { collectDefaultMetrics } from 'prom-client';
import { createApp } from '../app.ts';
import type { Config } from '../config/config.ts';
import { DiskWatch } from '../disk/disk-watch.ts';
import { createEdge } from '../edge.ts';
import { HttpServer } from '../http-server.ts';
import { EdgeCounters } from '../metrics/edge-counters.ts';
import { addDisk } from '../metrics/disk.ts';
import { createRegistry } from '../metrics/registry.ts';
import { nodeIdOf, openMember } from './open-member.ts';
import { peerListenRefusal } from './refusal.ts';
import { createStartingApp } from './starting-app.ts';
import { runAfter, SYSTEM_CLOCK, SystemRng } from './system.ts';
import { refuseWrongClock } from './wall-clock.ts';

/** How long requests in flight may take once the node stops; less than its watchdog allows. */
const CLOSE_GRACE_MS = 8_500;

/** How long a member that stops waits for requests that other members answer. */
const DRAIN_MS = 4_000;

/** What a node tells its owner. */
export interface NodeOptions {
  readonly log: Logger;
  /** Called when the node cannot go on: acknowledge nothing more and end the process, non-zero. */
  readonly onFailure: (error: unknown) => void;
}

/** A node that serves. */
export interface RunningNode {
  readonly address: AddressInfo;
  /** Absolute path. */
  readonly dataDirectory: string;
  /** Whether the data directory was created by this start. */
  readonly isNew: boolean;
  /** Answers what is in hand, then closes everything. Called once. */
  stop(): Promise<void>;
}

/**
 * Starts a node; resolves when it serves. Rejects with what keeps it from starting, and then holds
 * nothing any more.
 */
export async function startNode(config: Config, options: NodeOptions): Promise<RunningNode> {
  const { log, onFailure: crash } = options;
  refuseWrongClock(Date.now());
  const server = new HttpServer(
    createStartingApp({ log, crash, counters: new EdgeCounters() }).fetch,
  );
  const address = await server.listen({ port: config.port, host: config.bindAddress });
  const rng = new SystemRng();
  const disk = createDiskWatch(config, log);
  try {
    await disk.makeRoom();
    const directory = await openDataDirectory({
      path: config.dataDirectory,
      nodeId: nodeIdOf(config),
      rng,
      schedule: runAfter,
      onFailure: options.onFailure,
    });
    return await serve(config, { ...options, server, address, directory, disk, rng });
  } catch (error) {
    await server.close(0);
    throw error;
  }
}

interface NodeParts extends NodeOptions {
  readonly server: HttpServer;
  readonly address: AddressInfo;
  readonly directory: DataDirectory;
  readonly disk: DiskWatch;
  readonly rng: SystemRng;
}

async function serve(config: Config, parts: NodeParts): Promise<RunningNode> {
  const { server, address, directory, disk, log, rng, onFailure: crash } = parts;
  let member: Member;
  try {
    const opened = (member = await openMember(config, parts));
    await opened.start().catch((error: unknown) => {
      throw peerListenRefusal(error);
    });
    await disk.start((used) => opened.tellDisk(used));
  } catch (error) {
    await directory.close();
    throw error;
  } finally {
    // Opening checkpoints and log adds to them.
    for (const warning of directory.warnings) log.warn({ warning }, 'data directory');
  }
  const { broker, admin } = member;
  const edge = createEdge({ broker, admin, clock: SYSTEM_CLOCK, rng, config, log, crash });
  const { keyId } = edge.encryption;
  if (keyId !== undefined) log.info({ keyId }, 'encryption at rest: this is the id of the key');
  const registry = createRegistry(edge);
  addDisk(registry, disk);
  collectDefaultMetrics({ register: registry });
  server.serve(createApp(edge, registry).fetch);
  const stop = async (): Promise<void> => {
    // New connections end first; then parked pops are answered, which lets their connections end.
    const closed = server.close(CLOSE_GRACE_MS);
    await disk.stop();
    await member.handOver();
    member.endPops();
    // What came before is answered by the next leader, as long as this node can still ask it.
    if (config.cluster !== undefined) await Promise.race([closed, pause(DRAIN_MS)]);
    await member.stop();
    await closed;
    await directory.close();
  };
  return { address, dataDirectory: directory.path, isNew: directory.isNew, stop };
}

function createDiskWatch(config: Config, log: Logger): DiskWatch {
  const { diskHighPercent, diskLowPercent, dataDirectory } = config;
  const gate = new DiskGate({ high: diskHighPercent / 100, low: diskLowPercent / 100 });
  return new DiskWatch({ dataDirectory, gate, log });
}
