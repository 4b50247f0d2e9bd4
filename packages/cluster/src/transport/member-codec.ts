// The membership inside a snapshot message. Unlike the copy in the log, these bytes come from another
// process: what is wrong with them is a CodecError, not a broken invariant.

import { CodecError, utf8Size } from '@queen-ts/base';
import type { ByteReader, ByteWriter } from '@queen-ts/base';
import { MEMBER_COUNT_MAX, membershipOf, toNodeId } from '@queen-ts/raft';
import type { Member, MemberRole, Membership, NodeId } from '@queen-ts/raft';

const ROLES: readonly MemberRole[] = ['voter', 'learner'];

/** Longest member address, in bytes of UTF-8: what a membership entry can hold. */
const ADDRESS_SIZE_MAX = 1024;

/** Largest node id. */
const NODE_ID_MAX = 2 ** 32 - 1;

/** Writes the members, ascending by id. */
export function writeMembership(writer: ByteWriter, { members }: Membership): void {
  writer.varint(members.length);
  for (const member of members) {
    writer.varint(member.id);
    writer.u8(ROLES.indexOf(member.role));
    writer.varint(member.incarnation);
    writer.string(member.address);
  }
}

/** Reads what {@link writeMembership} wrote. Throws CodecError. */
export function readMembership(reader: ByteReader): Membership {
  const count = reader.varint();
  if (count > MEMBER_COUNT_MAX) throw new CodecError(`${count} members`);
  const members: Member[] = [];
  for (let i = 0; i < count; i++) {
    const id = checkNodeId(reader.varint());
    const role = ROLES[reader.u8()];
    if (role === undefined) throw new CodecError(`role of member ${id}`);
    const previous = members.at(-1)?.id ?? 0;
    if (id <= previous) throw new CodecError(`member ${id} after ${previous}`);
    const incarnation = reader.varint();
    const address = reader.string();
    if (utf8Size(address) > ADDRESS_SIZE_MAX) throw new CodecError(`address of member ${id}`);
    members.push({ id, role, incarnation, address });
  }
  return membershipOf(members);
}

/** Brands a number from the wire as a node id. Throws CodecError. */
export function checkNodeId(id: number): NodeId {
  if (id < 1 || id > NODE_ID_MAX) throw new CodecError(`node id ${id}`);
  return toNodeId(id);
}
