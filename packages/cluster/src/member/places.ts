// Where members are: each has an address for the others and one for clients. The membership holds both
// as one text, `raft_host:port/http_host:port`, and '' for founders, which the configuration knows.

import type { Membership, NodeId } from '@queen-ts/raft';
import { parseAddress } from '../transport/addresses.ts';
import type { PeerAddress } from '../transport/addresses.ts';

/** Where a member is. */
export interface Place {
  /** `host:port` for other members; '' when not known. */
  readonly raft: string;
  /** `host:port` for clients; '' when not known. */
  readonly http: string;
}

/** One place as the membership stores it. */
export function placeText({ raft, http }: Place): string {
  return `${raft}/${http}`;
}

/** Reads a stored place; undefined unless both addresses are valid. */
export function parsePlace(text: string): Place | undefined {
  const [raft = '', http = '', ...rest] = text.split('/');
  if (rest.length > 0 || parseAddress(raft) === undefined) return undefined;
  return parseAddress(http) === undefined ? undefined : { raft, http };
}

/** The places of this cluster as one node knows them: its configuration first, then the membership. */
export class Places {
  readonly #configured: ReadonlyMap<NodeId, Place>;

  constructor(configured: ReadonlyMap<NodeId, Place>) {
    this.#configured = configured;
  }

  /** Where a member is. */
  of(membership: Membership, id: NodeId): Place {
    const member = membership.members.find((other) => other.id === id);
    const stored = member === undefined ? undefined : parsePlace(member.address);
    return this.#configured.get(id) ?? stored ?? { raft: '', http: '' };
  }

  /** Whom to dial. An empty membership is not known yet: then those whom the configuration names. */
  peers(membership: Membership): readonly PeerAddress[] {
    const { members } = membership;
    const ids = members.length === 0 ? [...this.#configured.keys()] : members.map(({ id }) => id);
    return ids.map((id) => ({ id, address: this.of(membership, id).raft }));
  }
}
