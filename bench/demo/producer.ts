// Pushes one generation of flights. Each partition belongs to one connection, which sends a batch
// only after the last was answered: that is what makes a push order to verify.

import { transactionIdOf } from './flights.ts';
import type { Flight } from './flights.ts';
import type { BrokerClient } from './broker-client.ts';
import type { Latencies } from './latencies.ts';

const CONNECTIONS = 4;
const BATCH_MESSAGES = 200;

/** What the broker answered to the pushes. */
export interface PushResult {
  /** Offset of each flight by position; -1 where the broker did not queue it. */
  readonly offsets: Float64Array;
  readonly partitions: number;
  readonly requests: number;
  /** Verdicts `duplicate`: the broker knew the id already. */
  readonly duplicates: number;
  /** Verdicts `error`. */
  readonly errors: number;
  /** Offsets that did not follow the one before in their partition. */
  readonly gaps: number;
  readonly elapsedMs: number;
}

/** What a producer works with. */
export interface ProducerOptions {
  readonly client: BrokerClient;
  readonly queue: string;
  readonly generation: number;
  readonly flights: readonly Flight[];
  readonly latencies: Latencies;
  /** Called after each answered batch. */
  readonly onPushed: (messages: number) => void;
}

/** Pushes all flights and returns once every batch is answered. */
export async function produce(options: ProducerOptions): Promise<PushResult> {
  const { flights } = options;
  const offsets = new Float64Array(flights.length).fill(-1);
  const counts = { requests: 0, duplicates: 0, errors: 0 };
  const startMs = performance.now();
  await Promise.all(
    spreadOverConnections(flights).map(async (lane) => {
      for (let from = 0; from < lane.length; from += BATCH_MESSAGES) {
        const batch = lane.slice(from, from + BATCH_MESSAGES);
        const items = batch.map((flight) => itemText(options, flight));
        const verdicts = await options.latencies.measure(() => options.client.push(items));
        counts.requests += 1;
        batch.forEach((flight, i) => {
          const verdict = verdicts[i];
          if (verdict?.status === 'queued') offsets[flight.position] = verdict.offset ?? -1;
          else if (verdict?.status === 'duplicate') counts.duplicates += 1;
          else counts.errors += 1;
        });
        options.onPushed(batch.length);
      }
    }),
  );
  const elapsedMs = performance.now() - startMs;
  return { ...counts, ...checkOffsets(flights, offsets), offsets, elapsedMs };
}

function itemText(options: ProducerOptions, flight: Flight): string {
  const head = JSON.stringify({
    queue: options.queue,
    partition: flight.partition,
    transactionId: transactionIdOf(options.generation, flight.position),
  });
  // The payload text itself goes out, not a second serialisation of it.
  return `${head.slice(0, -1)},"payload":${flight.payloadText}}`;
}

/** Splits flights by partition; each lane keeps the order of the data set. */
function spreadOverConnections(flights: readonly Flight[]): readonly Flight[][] {
  const lanes: Flight[][] = Array.from({ length: CONNECTIONS }, () => []);
  const laneOf = new Map<string, Flight[]>();
  for (const flight of flights) {
    let lane = laneOf.get(flight.partition);
    if (lane === undefined) {
      lane = lanes[laneOf.size % CONNECTIONS] ?? [];
      laneOf.set(flight.partition, lane);
    }
    lane.push(flight);
  }
  return lanes;
}

/** Counts partitions, and offsets that do not follow the one before. */
function checkOffsets(
  flights: readonly Flight[],
  offsets: Float64Array,
): { readonly partitions: number; readonly gaps: number } {
  const last = new Map<string, number>();
  let gaps = 0;
  for (const { position, partition } of flights) {
    const offset = offsets[position] ?? -1;
    if (offset === -1) continue;
    const previous = last.get(partition);
    if (previous !== undefined && offset !== previous + 1) gaps += 1;
    last.set(partition, offset);
  }
  return { partitions: last.size, gaps };
}
