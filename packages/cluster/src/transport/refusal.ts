// Why a handshake is refused: the codes on the wire and the one line each is shown as.

/**
 * `version`: no common format version. `token`: the shared secret is another. `cluster`: another
 * cluster. `node`: the node that answers at the address is not the one that was meant.
 * `duplicate`: another live process speaks under the same node id. `stranger`: neither node has the
 * other among its peers. `overloaded`: too many peers or handshakes. `malformed`: not a handshake of
 * this protocol.
 */
export type RefusalReason =
  'version' | 'token' | 'cluster' | 'node' | 'duplicate' | 'stranger' | 'overloaded' | 'malformed';

const CODES: Readonly<Record<RefusalReason, number>> = {
  version: 1,
  token: 2,
  cluster: 3,
  node: 4,
  duplicate: 5,
  stranger: 6,
  overloaded: 7,
  malformed: 8,
};

/** Every reason, in the order of the codes. */
export const REFUSAL_REASONS = Object.keys(CODES) as readonly RefusalReason[];

const TEXTS: Readonly<Record<RefusalReason, string>> = {
  version: 'no common format version: upgrade one version at a time',
  token: 'wrong token: QUEEN_RAFT_TOKEN must be the same on every node',
  cluster: 'belongs to another cluster',
  node: 'answers under another node id: check QUEEN_RAFT_PEERS',
  duplicate: 'this node id is already in use by another live process',
  stranger: 'neither node has the other among its peers',
  overloaded: 'too many peers or handshakes',
  malformed: 'does not speak the peer protocol',
};

/** The byte that stands for a reason. */
export function refusalCode(reason: RefusalReason): number {
  return CODES[reason];
}

/** The reason for a byte; undefined for one that a newer version may have added. */
export function refusalOf(code: number): RefusalReason | undefined {
  return REFUSAL_REASONS[code - 1];
}

/** The reason for people, without a final stop. */
export function describeRefusal(reason: RefusalReason): string {
  return TEXTS[reason];
}
