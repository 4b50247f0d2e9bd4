// One connection that pops and acks, and notes which messages came when.

import { HttpConnection } from './http-connection.ts';
import { nowUs, partitionPosition } from './message.ts';
import type { ReceivedMessage } from './message.ts';
import type { LoadOptions } from './options.ts';
import type { Recorder } from './recorder.ts';

const ANSWER_TIMEOUT_MS = 60_000;
const POP_WAIT_MS = 1000;
/** Pops in a row that must be empty before a drained queue counts as empty. */
const EMPTY_POPS_MAX = 3;

/** Fields of one run of consecutive messages in {@link ReceivedRuns.fields}. */
export const RUN_FIELDS = 4;

/** Runs of consecutive messages as they were received: partition, first, count, time in microseconds. */
export interface ReceivedRuns {
  readonly group: number;
  readonly fields: Float64Array;
}

/** What one consumer is. */
export interface ConsumerOptions {
  readonly load: LoadOptions;
  readonly url: string;
  readonly queue: string;
  readonly group: number;
  readonly recorder: Recorder;
  /** Aborted when the producers have ended: from then on an empty queue ends the consumer. */
  readonly producersEnded: AbortSignal;
}

/** Consumes until the producers have ended and nothing is left. */
export async function consume(options: ConsumerOptions): Promise<ReceivedRuns> {
  const { load, queue, group, recorder, producersEnded } = options;
  const connection = new HttpConnection(options.url, ANSWER_TIMEOUT_MS);
  const query =
    `batch=${load.popBatch}&partitions=${load.popPartitions}&wait=true&timeout=${POP_WAIT_MS}` +
    `&consumerGroup=${groupName(group)}&subscriptionMode=all`;
  const popHead = connection.head('GET', `/api/v1/pop/queue/${queue}?${query}`);
  const ackHead = connection.head('POST', '/api/v1/ack/batch');
  const runs: number[] = [];
  let emptyPops = 0;
  while (!producersEnded.aborted || emptyPops < EMPTY_POPS_MAX) {
    const startUs = nowUs();
    const { status, body } = await connection.send(popHead);
    const receivedUs = nowUs();
    if (status === 204) {
      if (producersEnded.aborted) emptyPops += 1;
      continue;
    }
    if (!recorder.answer('pop', status, receivedUs - startUs)) continue;
    emptyPops = 0;
    const { messages } = JSON.parse(body.toString()) as { readonly messages: ReceivedMessage[] };
    note(messages, receivedUs, { runs, recorder });
    await ack(connection, ackHead, messages, options);
  }
  connection.close();
  return { group, fields: Float64Array.from(runs) };
}

/** Name of a group. */
function groupName(group: number): string {
  return `g${group}`;
}

function note(
  messages: readonly ReceivedMessage[],
  receivedUs: number,
  { runs, recorder }: { readonly runs: number[]; readonly recorder: Recorder },
): void {
  recorder.poppedMessages += messages.length;
  let partition = -1;
  let next = -1;
  for (const { partition: name, data } of messages) {
    const position = partitionPosition(name);
    const sequence = Number(data.s);
    recorder.latency('endToEnd', receivedUs - Number(data.t));
    if (position === partition && sequence === next) runs[runs.length - 2]! += 1;
    else runs.push(position, sequence, 1, receivedUs);
    partition = position;
    next = sequence + 1;
  }
}

async function ack(
  connection: HttpConnection,
  head: string,
  messages: readonly ReceivedMessage[],
  { load, group, recorder }: ConsumerOptions,
): Promise<void> {
  const items = messages.map(({ transactionId, partitionId, leaseId }) => {
    return `{"transactionId":${JSON.stringify(transactionId)},"partitionId":"${partitionId}","leaseId":"${leaseId}","status":"completed"}`;
  });
  const consumerGroup = `"consumerGroup":"${groupName(group)}"`;
  const bodies =
    load.ack === 'batch'
      ? [{ body: `{"acknowledgments":[${items.join(',')}],${consumerGroup}}`, count: items.length }]
      : items.map((item) => ({ body: `{"acknowledgments":[${item}],${consumerGroup}}`, count: 1 }));
  for (const { body, count } of bodies) {
    const startUs = nowUs();
    const { status } = await connection.send(head, body);
    if (recorder.answer('ack', status, nowUs() - startUs)) recorder.ackedMessages += count;
  }
}
