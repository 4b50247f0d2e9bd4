// One connection that pushes on a schedule, whether or not the broker keeps up: latency counts from
// the time at which a push was due, so a stall shows in full.

import { setTimeout as delay } from 'node:timers/promises';
import { HttpConnection } from './http-connection.ts';
import { nowUs, partitionName, PayloadMaker } from './message.ts';
import type { LoadOptions } from './options.ts';
import type { Recorder } from './recorder.ts';

const ANSWER_TIMEOUT_MS = 60_000;
/** Pause before a refused push is sent again. */
const RETRY_MS = 100;
const RETRIES_MAX = 300;

/** What one producer is. */
export interface ProducerOptions {
  readonly load: LoadOptions;
  readonly url: string;
  readonly queue: string;
  /** Its number among all producers: it pushes to partitions position, position + producers, …. */
  readonly position: number;
  readonly recorder: Recorder;
  readonly signal: AbortSignal;
}

/** How much of one partition was pushed. */
export interface PushedPartition {
  readonly partition: number;
  /** Messages 0…count - 1 were acknowledged. */
  readonly count: number;
  /** A push whose outcome nobody knows was repeated: messages may be there twice. */
  readonly isRepeated: boolean;
}

/** Pushes until aborted; resolves with what was acknowledged. */
export async function produce(options: ProducerOptions): Promise<readonly PushedPartition[]> {
  const { load, position, signal } = options;
  const connection = new HttpConnection(options.url, ANSWER_TIMEOUT_MS);
  const head = connection.head('POST', '/api/v1/push');
  const payloads = new PayloadMaker(load.size);
  const partitions: number[] = [];
  for (let i = position; i < load.partitions; i += load.producers) partitions.push(i);
  // More producers than partitions: two would make the order of one undefined.
  if (partitions.length === 0) return [];
  const counts = new Float64Array(partitions.length);
  const repeated = new Set<number>();
  const intervalUs = load.rate === 0 ? 0 : (1e6 * load.batch * load.producers) / load.rate;
  let dueUs = nowUs() + (intervalUs * position) / load.producers;
  for (let turn = 0; !signal.aborted; turn = (turn + 1) % partitions.length) {
    const scheduledUs = intervalUs === 0 ? nowUs() : dueUs;
    dueUs += intervalUs;
    const waitMs = (scheduledUs - nowUs()) / 1000;
    if (waitMs >= 1) await delay(waitMs);
    const partition = partitions[turn]!;
    const first = counts[turn]!;
    const items = Array.from({ length: load.batch }, (_, i) => {
      const id = load.dedup ? `"transactionId":"${partition}-${first + i}",` : '';
      const payload = payloads.make(first + i, scheduledUs);
      return `{"queue":"${options.queue}","partition":"${partitionName(partition)}",${id}"payload":${payload}}`;
    });
    const body = `{"items":[${items.join(',')}]}`;
    const outcome = await push({ ...options, connection, head, body, scheduledUs });
    if (outcome === 'lost') repeated.add(partition);
    if (outcome === 'given up') break;
    counts[turn] = first + load.batch;
  }
  connection.close();
  return partitions.map((partition, i) => {
    return { partition, count: counts[i]!, isRepeated: repeated.has(partition) };
  });
}

/** Sends one push until it is accepted. `lost`: an earlier attempt had no clear answer. */
async function push(
  attempt: ProducerOptions & {
    readonly connection: HttpConnection;
    readonly head: string;
    readonly body: string;
    readonly scheduledUs: number;
  },
): Promise<'accepted' | 'lost' | 'given up'> {
  const { connection, head, body, scheduledUs, recorder, load } = attempt;
  let isLost = false;
  for (let tries = 0; tries < RETRIES_MAX; tries += 1) {
    const { status, body: answer } = await connection.send(head, body);
    const isRefused = status >= 200 && status < 300 && answer.includes('"status":"error"');
    const isGood = recorder.answer('push', isRefused ? 422 : status, nowUs() - scheduledUs);
    if (isGood) {
      recorder.pushedMessages += load.batch;
      return isLost ? 'lost' : 'accepted';
    }
    // 429 and 507 promise that nothing was stored; of anything else only the ids of messages can tell.
    if (status !== 429 && status !== 507 && !load.dedup) isLost = true;
    await delay(RETRY_MS);
  }
  return 'given up';
}
