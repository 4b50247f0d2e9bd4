// Which lease an ack of a transaction is fenced by when it names none (reference §5.1): the one lease
// that the request names, in `requiredLeases` and in all its acks together, if it is exactly one.

import { formatUuid, parseUuid, readIdWords } from '@queen-ts/base';
import { ACK_LEASE, ID_WORDS } from '../commands.ts';
import type { AckCommand } from '../commands.ts';

/** Fills in the leases of acks that name none. @param required `requiredLeases` as it was sent. */
export function inferLeases(acks: readonly AckCommand[], required: readonly string[]): void {
  const named = new Set(required.filter((lease) => lease !== '').map(normalised));
  for (const ack of acks) collectLeases(ack, named);
  const [lease] = named;
  if (lease === undefined || named.size > 1) return;
  const id = parseUuid(lease);
  for (const { itemCount, leaseKinds, leaseIds } of acks) {
    for (let item = 0; item < itemCount; item += 1) {
      if (leaseKinds[item] !== ACK_LEASE.NONE) continue;
      leaseKinds[item] = id === undefined ? ACK_LEASE.MALFORMED : ACK_LEASE.NAMED;
      if (id !== undefined) leaseIds.set(id, item * ID_WORDS);
    }
  }
}

function collectLeases({ itemCount, leaseKinds, leaseIds }: AckCommand, named: Set<string>): void {
  for (let item = 0; item < itemCount; item += 1) {
    if (leaseKinds[item] === ACK_LEASE.NAMED) {
      named.add(formatUuid(readIdWords(leaseIds, item * ID_WORDS)));
    }
    // What no lease can match is a lease of its own: it must not be mistaken for another one.
    if (leaseKinds[item] === ACK_LEASE.MALFORMED) named.add(`malformed ${item}`);
  }
}

function normalised(lease: string): string {
  const id = parseUuid(lease);
  return id === undefined ? lease : formatUuid(id);
}
