// Everything that one member holds of some partitions, read by offset from the member's own state.

import { eventually } from '../../support/eventually.ts';
import { partitionKey } from '../history/records.ts';
import type { HeldMessage, NodeContents } from '../history/records.ts';
import type { MemberClient } from './member-client.ts';
import { insist } from './consuming.ts';

/** How long a healed member may take to catch up with what was acknowledged. */
const CATCH_UP_MS = 60_000;

interface FetchedEntry {
  readonly records: readonly {
    readonly offset: number;
    readonly transactionId: string;
    readonly payload: unknown;
  }[];
  readonly highWatermark: number;
  readonly error?: string;
}

/** Reads from every member; each is read until it holds as much as the one that holds most. */
export async function readContents(
  client: MemberClient,
  queues: readonly { readonly queue: string; readonly partitions: readonly string[] }[],
): Promise<readonly NodeContents[]> {
  const read = async (member: number): Promise<NodeContents> => {
    const partitions = new Map<string, readonly HeldMessage[]>();
    for (const { queue, partitions: names } of queues) {
      for (const partition of names) {
        const held = await readPartition(client, { member, queue, partition });
        if (held.length > 0) partitions.set(partitionKey(queue, partition), held);
      }
    }
    return { node: `n${member + 1}`, partitions };
  };
  const members = Array.from({ length: client.size }, (_, member) => member);
  return eventually(
    'members that hold the same number of messages',
    async () => {
      const contents = await Promise.all(members.map(read));
      const counts = contents.map(({ partitions }) => countOf(partitions));
      // Unequal content is for the checkers; a member that lags is only given time.
      return new Set(counts).size === 1 ? contents : undefined;
    },
    CATCH_UP_MS,
  );
}

function countOf(partitions: NodeContents['partitions']): number {
  return [...partitions.values()].reduce((sum, messages) => sum + messages.length, 0);
}

async function readPartition(
  client: MemberClient,
  at: { readonly member: number; readonly queue: string; readonly partition: string },
): Promise<readonly HeldMessage[]> {
  const { member, queue, partition } = at;
  const held: HeldMessage[] = [];
  for (;;) {
    const offset = (held.at(-1)?.offset ?? -1) + 1;
    const body = { entries: [{ queue, partition, offset }], maxWaitMs: 0 };
    const { text } = await insist(`a fetch from member ${member + 1}`, () =>
      client.ask('POST', '/api/v1/fetch', { member, body }),
    );
    const [entry] = (JSON.parse(text) as { entries: FetchedEntry[] }).entries;
    if (entry?.error !== undefined || entry === undefined || entry.records.length === 0)
      return held;
    for (const { transactionId, payload, ...record } of entry.records) {
      held.push({ offset: record.offset, transactionId, payload: JSON.stringify(payload) });
    }
    if ((held.at(-1)?.offset ?? 0) + 1 >= entry.highWatermark) return held;
  }
}
