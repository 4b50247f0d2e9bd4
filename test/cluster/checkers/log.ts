// I1 and I2 from every node: what was answered as stored is there, where the answer said, on every
// node; offsets have no gaps; nothing is there twice, altered, refused or never sent.

import { partitionKey } from '../history/records.ts';
import type { HeldMessage, NodeContents, PushRecord } from '../history/records.ts';
import { Findings } from '../history/verdict.ts';
import type { Verdict } from '../history/verdict.ts';

/** Judges pushes by what the nodes hold in the end. */
export function checkLog(
  pushes: readonly PushRecord[],
  contents: readonly NodeContents[],
): Verdict {
  const findings = new Findings();
  const sent = new Map<string, PushRecord>();
  for (const push of pushes) sent.set(messageKey(push), push);
  for (const { node, partitions } of contents) {
    const held = new Map<string, HeldMessage>();
    for (const [key, messages] of partitions) {
      checkPartition(findings, { node, key, messages, sent, held });
    }
    for (const push of pushes) checkPush(findings, node, push, held.get(messageKey(push)));
  }
  const stored = pushes.filter(({ outcome }) => outcome.kind === 'ok').length;
  return findings.verdict({ 'acknowledged pushes': stored, nodes: contents.length });
}

function checkPartition(
  findings: Findings,
  partition: {
    readonly node: string;
    readonly key: string;
    readonly messages: readonly HeldMessage[];
    readonly sent: ReadonlyMap<string, PushRecord>;
    readonly held: Map<string, HeldMessage>;
  },
): void {
  const { node, key, messages, sent, held } = partition;
  messages.forEach((message, position) => {
    const { offset, transactionId, payload } = message;
    const where = (): string => `${node}: ${key} offset ${offset} (${transactionId})`;
    findings.expect(offset === position, () => `${where()}: offset ${position} expected`);
    const id = `${key}/${transactionId}`;
    findings.expect(!held.has(id), () => `${where()}: stored twice`);
    held.set(id, message);
    const push = sent.get(id);
    findings.expect(push !== undefined, () => `${where()}: never sent`);
    findings.expect(push?.payload === payload, () => `${where()}: altered`);
  });
}

function checkPush(
  findings: Findings,
  node: string,
  push: PushRecord,
  held: HeldMessage | undefined,
): void {
  const { outcome } = push;
  const what = (): string => `${node}: ${messageKey(push)}`;
  if (outcome.kind === 'unknown') return;
  if (outcome.kind === 'refused') {
    findings.expect(held === undefined, () => `${what()}: refused (${outcome.reason}) and stored`);
    return;
  }
  const { offset } = outcome.value;
  findings.expect(held !== undefined, () => `${what()}: acknowledged and missing`);
  if (held === undefined) return;
  findings.expect(
    held.offset === offset,
    () => `${what()}: answered as offset ${offset}, is ${held.offset}`,
  );
}

function messageKey({ queue, partition, transactionId }: PushRecord): string {
  return `${partitionKey(queue, partition)}/${transactionId}`;
}
