// The bytes of a membership entry's head. Fixed order, big-endian:
//
//   u8  version (1)          then per member, ascending by id:
//   u16 member count           u32 id · u8 role (1 voter, 2 learner) · u64 incarnation
//                              u16 address length · address in UTF-8

import { assert } from '@queen-ts/base';
import { membershipOf } from './membership.ts';
import type { Member, Membership } from './membership.ts';
import { toNodeId } from './node-id.ts';

const VERSION = 1;
const HEADER_SIZE_BYTES = 3;
const MEMBER_FIXED_SIZE_BYTES = 15;
const ROLE_CODES = { voter: 1, learner: 2 } as const;

/** Longest member address, in bytes of UTF-8. */
export const ADDRESS_SIZE_BYTES_MAX = 1024;

/** Encodes a membership; equal memberships give equal bytes. */
export function encodeMembership(membership: Membership): Uint8Array {
  const encoder = new TextEncoder();
  const addresses = membership.members.map(({ address }) => encoder.encode(address));
  const addressesSizeBytes = addresses.reduce((sum, { length }) => sum + length, 0);
  const fixedSizeBytes = HEADER_SIZE_BYTES + membership.members.length * MEMBER_FIXED_SIZE_BYTES;
  const bytes = new Uint8Array(fixedSizeBytes + addressesSizeBytes);
  const view = new DataView(bytes.buffer);
  view.setUint8(0, VERSION);
  view.setUint16(1, membership.members.length);
  let offset = HEADER_SIZE_BYTES;
  membership.members.forEach((member, i) => {
    const address = addresses[i] ?? new Uint8Array(0);
    assert(address.length <= ADDRESS_SIZE_BYTES_MAX, () => `address of ${address.length} bytes`);
    view.setUint32(offset, member.id);
    view.setUint8(offset + 4, ROLE_CODES[member.role]);
    setUint64(view, offset + 5, member.incarnation);
    view.setUint16(offset + 13, address.length);
    bytes.set(address, offset + MEMBER_FIXED_SIZE_BYTES);
    offset += MEMBER_FIXED_SIZE_BYTES + address.length;
  });
  return bytes;
}

/**
 * Decodes what {@link encodeMembership} made. The bytes come from a log that is checksummed, so
 * anything malformed is a broken invariant and throws InvariantError.
 */
export function decodeMembership(bytes: Uint8Array): Membership {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  assert(bytes.length >= HEADER_SIZE_BYTES && view.getUint8(0) === VERSION, 'membership version');
  const memberCount = view.getUint16(1);
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const members: Member[] = [];
  let offset = HEADER_SIZE_BYTES;
  for (let i = 0; i < memberCount; i++) {
    const addressFrom = offset + MEMBER_FIXED_SIZE_BYTES;
    assert(addressFrom <= bytes.length, 'membership is cut short');
    const roleCode = view.getUint8(offset + 4);
    assert(roleCode === 1 || roleCode === 2, () => `member role ${roleCode}`);
    const addressTo = addressFrom + view.getUint16(offset + 13);
    assert(addressTo <= bytes.length, 'membership is cut short');
    members.push({
      id: toNodeId(view.getUint32(offset)),
      role: roleCode === ROLE_CODES.voter ? 'voter' : 'learner',
      incarnation: getUint64(view, offset + 5),
      address: decoder.decode(bytes.subarray(addressFrom, addressTo)),
    });
    offset = addressTo;
  }
  assert(offset === bytes.length, 'bytes after the membership');
  return membershipOf(members);
}

function setUint64(view: DataView, offset: number, value: number): void {
  assert(Number.isSafeInteger(value) && value >= 0, () => `incarnation ${value}`);
  view.setUint32(offset, Math.floor(value / 2 ** 32));
  view.setUint32(offset + 4, value % 2 ** 32);
}

function getUint64(view: DataView, offset: number): number {
  const value = view.getUint32(offset) * 2 ** 32 + view.getUint32(offset + 4);
  assert(Number.isSafeInteger(value), () => `incarnation ${value}`);
  return value;
}
