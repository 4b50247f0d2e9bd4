// I3 and I6 for one queue and its ordered groups: deliveries are consecutive and skip nothing, nothing
// comes again after it was acked, no offset is acked by two leases, and in the end every group has
// seen every message as it was stored.

import { partitionKey } from '../history/records.ts';
import type { AckRecord, Delivery, HeldMessage, PopRecord } from '../history/records.ts';
import { Findings } from '../history/verdict.ts';
import type { Verdict } from '../history/verdict.ts';

/** What is judged together. */
export interface QueueHistory {
  readonly queue: string;
  readonly groups: readonly string[];
  readonly pops: readonly PopRecord[];
  readonly acks: readonly AckRecord[];
  /** What one node holds in the end, by partition key. */
  readonly held: ReadonlyMap<string, readonly HeldMessage[]>;
  /** Transaction ids of dead letters, by group. */
  readonly deadLetters: ReadonlyMap<string, ReadonlySet<string>>;
}

interface TimedDelivery extends Delivery {
  readonly startUs: number;
  readonly endUs: number;
  readonly first: number;
  readonly end: number;
}

/** Judges what consumers received and acknowledged. */
export function checkQueue(history: QueueHistory): Verdict {
  const findings = new Findings();
  let deliveryCount = 0;
  for (const group of history.groups) {
    for (const [key, messages] of history.held) {
      const partition = key.slice(partitionKey(history.queue, '').length);
      if (key !== partitionKey(history.queue, partition)) continue;
      const deliveries = deliveriesOf(history, group, partition);
      const acks = history.acks.filter((ack) => ack.group === group && ack.partition === partition);
      const name = `${key} group ${group}`;
      deliveryCount += deliveries.length;
      checkContents(findings, name, deliveries, messages);
      checkOrder(findings, name, deliveries);
      checkAcks(findings, name, deliveries, acks);
      const dead = history.deadLetters.get(group) ?? new Set();
      checkComplete(findings, name, { deliveries, messages, dead });
    }
  }
  const acked = history.acks.filter(
    ({ outcome }) => outcome.kind === 'ok' && outcome.value === 'applied',
  );
  return findings.verdict({ deliveries: deliveryCount, acks: acked.length });
}

/** In the order in which they were asked for. */
function deliveriesOf(
  { queue, pops }: QueueHistory,
  group: string,
  partition: string,
): readonly TimedDelivery[] {
  const deliveries: TimedDelivery[] = [];
  for (const pop of pops) {
    if (pop.queue !== queue || pop.group !== group || pop.outcome.kind !== 'ok') continue;
    const delivery = pop.outcome.value;
    if (delivery?.partition !== partition) continue;
    const first = delivery.messages[0]?.offset ?? 0;
    const end = (delivery.messages.at(-1)?.offset ?? -1) + 1;
    deliveries.push({ ...delivery, startUs: pop.startUs, endUs: pop.endUs, first, end });
  }
  return deliveries.sort((a, b) => a.startUs - b.startUs);
}

function checkContents(
  findings: Findings,
  name: string,
  deliveries: readonly TimedDelivery[],
  held: readonly HeldMessage[],
): void {
  for (const { messages, first } of deliveries) {
    messages.forEach(({ offset, transactionId, payload }, position) => {
      findings.expect(
        offset === first + position,
        () => `${name}: offset ${offset} delivered at place ${position} after ${first}`,
      );
      const stored = held[offset];
      findings.expect(
        stored?.transactionId === transactionId && stored.payload === payload,
        () => `${name}: offset ${offset} delivered as ${transactionId}, not as it is stored`,
      );
    });
  }
}

/** Only what was delivered can be acked, so a delivery begins where an earlier one reached, or before. */
function checkOrder(findings: Findings, name: string, deliveries: readonly TimedDelivery[]): void {
  deliveries.forEach((delivery, position) => {
    const { first, endUs } = delivery;
    let reached = 0;
    deliveries.forEach((other, otherPosition) => {
      const isEarlier = otherPosition !== position && other.startUs < endUs;
      if (isEarlier && other.first < first) reached = Math.max(reached, other.end);
    });
    findings.expect(first <= reached, () => `${name}: ${first} delivered, reached was ${reached}`);
  });
}

function checkAcks(
  findings: Findings,
  name: string,
  deliveries: readonly TimedDelivery[],
  acks: readonly AckRecord[],
): void {
  const leaseByOffset = new Map<number, string>();
  for (const { outcome, leaseId, from, to, endUs } of acks) {
    if (outcome.kind !== 'ok' || outcome.value !== 'applied') continue;
    for (let offset = from; offset < to; offset += 1) {
      const other = leaseByOffset.get(offset);
      findings.expect(
        other === undefined || other === leaseId,
        () => `${name}: offset ${offset} acked under ${other} and ${leaseId}`,
      );
      leaseByOffset.set(offset, leaseId);
    }
    for (const delivery of deliveries) {
      if (delivery.startUs <= endUs) continue;
      findings.expect(
        delivery.first >= to,
        () => `${name}: offset ${delivery.first} delivered again after ${to - 1} was acked`,
      );
    }
  }
}

function checkComplete(
  findings: Findings,
  name: string,
  facts: {
    readonly deliveries: readonly TimedDelivery[];
    readonly messages: readonly HeldMessage[];
    readonly dead: ReadonlySet<string>;
  },
): void {
  const seen = new Set(facts.deliveries.flatMap(({ messages }) => messages.map((m) => m.offset)));
  for (const { offset, transactionId } of facts.messages) {
    findings.expect(
      seen.has(offset) || facts.dead.has(transactionId),
      () => `${name}: offset ${offset} never delivered`,
    );
  }
}
