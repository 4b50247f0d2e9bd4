// The serving side of forwarding: what other members ask this node. What only a leader can do is refused
// at once elsewhere; the asker then looks for the leader again.

import { CodecError } from '@queen-ts/base';
import { BrokerError } from '@queen-ts/protocol';
import type { RaftStatus } from '@queen-ts/raft';
import { SNAPSHOT_REQUEST_KIND } from '../log-upkeep/snapshot-calls.ts';
import type { NodeBroker } from '../node-broker.ts';
import type { WriteCommand } from '../broker.ts';
import { notLeading, outcomeUnknown } from '../refusals.ts';
import { claimOf } from '../request.ts';
import type { PeerRequest } from '../transport/transport.ts';
import { CALL, decodeCall, encodeAnswer, encodeError } from './peer-calls.ts';
import type { DiskReports } from './disk-reports.ts';
import type {
  DiskCall,
  MembersCall,
  PayloadCall,
  PopCall,
  SubmitCall,
  TransferCall,
} from './peer-calls.ts';

/** Time that an answer needs on its way back: the asker waits so much longer, in microseconds. */
export const ANSWER_MARGIN_US = 500_000;

/** Bytes of payloads in one answer. */
const PAYLOAD_BYTES_MAX = 100 * 1024 * 1024;

/** Parts of the service. */
export interface PeerServiceParts {
  readonly local: NodeBroker;
  /** Absent where nobody looks at disks. */
  readonly disks: Pick<DiskReports, 'heard'> | undefined;
  /** The voter that a leadership goes to when the asker did not choose; 0 if there is none. */
  readonly successor: () => RaftStatus['leaderId'];
  /** What this node tells of itself. */
  readonly nodeView: () => unknown;
}

/** Answers the requests of other members. */
export class PeerService {
  readonly #parts: PeerServiceParts;

  constructor(parts: PeerServiceParts) {
    this.#parts = parts;
  }

  /** Answers one; operating errors travel in the bytes. */
  async answer(request: PeerRequest): Promise<Uint8Array> {
    // Pieces of snapshots have a form of their own.
    if (request.kind === SNAPSHOT_REQUEST_KIND) {
      return this.#parts.local.receiveSnapshot(request.from, request.bytes);
    }
    try {
      const value = await this.#serve(request);
      const index = this.#parts.local.raftStatus.commitIndex;
      return encodeAnswer({ index, value });
    } catch (error) {
      if (error instanceof BrokerError) return encodeError(error);
      throw error;
    }
  }

  #serve(request: PeerRequest): Promise<unknown> {
    const { local } = this.#parts;
    const deadlineUs = request.deadlineUs - ANSWER_MARGIN_US;
    switch (request.kind) {
      case CALL.SUBMIT:
        return this.#submit(decodeCall<SubmitCall>(request.bytes), deadlineUs);
      case CALL.POP:
        return this.#pop(decodeCall<PopCall>(request.bytes), request, deadlineUs);
      case CALL.READ_INDEX:
        return local.confirmedIndex(deadlineUs);
      case CALL.PAYLOADS:
        return Promise.resolve(this.#payloads(decodeCall<PayloadCall>(request.bytes)));
      case CALL.CHANGE_MEMBERS:
        return local.commitMembers(decodeCall<MembersCall>(request.bytes).change, deadlineUs);
      case CALL.TRANSFER:
        return this.#transfer(decodeCall<TransferCall>(request.bytes), deadlineUs);
      case CALL.DISK:
        this.#parts.disks?.heard(request.from, decodeCall<DiskCall>(request.bytes));
        return Promise.resolve(undefined);
      case CALL.NODE_VIEW:
        return Promise.resolve(this.#parts.nodeView());
      default:
        throw new CodecError(`a call of unknown kind ${request.kind}`);
    }
  }

  #submit({ command, requestId }: SubmitCall, deadlineUs: number): Promise<unknown> {
    const { local } = this.#parts;
    if (!local.isLeader) throw notLeading();
    if (command.kind === 'release') {
      local.release(command.leaseId);
      return Promise.resolve(undefined);
    }
    if (command.kind === 'pop') throw new CodecError('a pop is no write');
    return local.submit(command satisfies WriteCommand, { deadlineUs, requestId });
  }

  async #pop(
    { command, wait, requestId }: PopCall,
    { signal }: PeerRequest,
    deadlineUs: number,
  ): Promise<unknown> {
    const { local } = this.#parts;
    if (!local.isLeader) throw notLeading();
    const outcome = await local.pop(command, { deadlineUs, wait, requestId, signal });
    const leaseId = claimOf(outcome);
    // Between the claim and this line nobody listened to the signal.
    if (signal.aborted && leaseId !== undefined) local.release(leaseId);
    return outcome;
  }

  #payloads({ ranges }: PayloadCall): Uint8Array[] {
    const { local } = this.#parts;
    let bytes = 0;
    return ranges.map(({ index, from, to }) => {
      bytes += to - from;
      if (bytes > PAYLOAD_BYTES_MAX) throw new CodecError(`${bytes} bytes of payload asked for`);
      return local.payloads.payload({ index, from, toExclusive: to });
    });
  }

  async #transfer({ to }: TransferCall, deadlineUs: number): Promise<unknown> {
    const { local, successor } = this.#parts;
    if (!local.isLeader) throw notLeading();
    const target = to === 0 ? successor() : (to as RaftStatus['leaderId']);
    if (target === 0) return { ok: false, refusal: 'notVoter' };
    const result = await local.transferLeadership(target, deadlineUs);
    if (!result.ok) return result;
    if (local.isLeader) throw outcomeUnknown('this node leads again');
    return result;
  }
}
