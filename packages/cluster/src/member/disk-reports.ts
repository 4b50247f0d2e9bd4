// How the leader learns how full the disks of the others are: each member tells it what it sees of its own,
// once a second. Who was not heard for a while, or does not vote, holds nothing up.

import type { Clock } from '@queen-ts/base';
import { votersOf } from '@queen-ts/raft';
import type { NodeId } from '@queen-ts/raft';
import type { DiskGate } from '../disk-gate.ts';
import type { NodeBroker } from '../node-broker.ts';
import type { Transport } from '../transport/transport.ts';
import { CALL } from './peer-calls.ts';
import type { DiskCall } from './peer-calls.ts';
import { encodeValue } from './peer-values.ts';

/** How long a report counts, in microseconds: several times the period of the reports. */
const REPORT_US = 10_000_000;

/** How long a report may be on its way, in microseconds: the next one follows soon. */
const SEND_US = 1_000_000;

/** Parts of the reports. */
export interface DiskReportsParts {
  readonly local: Pick<NodeBroker, 'isLeader' | 'leaderId' | 'raftStatus'>;
  /** Undefined for a node that is alone. */
  readonly transport: Pick<Transport, 'request'> | undefined;
  readonly gate: DiskGate;
  readonly clock: Clock;
}

/** The disks of the members, as this node tells and hears of them. */
export class DiskReports {
  readonly #parts: DiskReportsParts;
  /** When the others were last heard, in monotonic microseconds. */
  readonly #heardUs = new Map<number, number>();
  #isSending = false;

  constructor(parts: DiskReportsParts) {
    this.#parts = parts;
  }

  /** Call regularly with the used part of this node's disk, in [0, 1]. */
  tell(used: number): void {
    const { local, gate } = this.#parts;
    const { id } = local.raftStatus;
    gate.report({ nodeId: id, used });
    gate.retain(local.isLeader ? [id, ...this.#heardVoters()] : [id]);
    if (!local.isLeader && local.leaderId !== 0) this.#send(local.leaderId, used);
  }

  /** A member tells of its disk. */
  heard(from: NodeId, { used }: DiskCall): void {
    const { local, gate, clock } = this.#parts;
    if (!local.isLeader || !votersOf(local.raftStatus.membership).includes(from)) return;
    this.#heardUs.set(from, clock.monotonicUs());
    gate.report({ nodeId: from, used });
  }

  #heardVoters(): readonly number[] {
    const { local, clock } = this.#parts;
    const sinceUs = clock.monotonicUs() - REPORT_US;
    const voters = votersOf(local.raftStatus.membership);
    for (const [id, atUs] of this.#heardUs) {
      if (atUs < sinceUs || !voters.includes(id as NodeId)) this.#heardUs.delete(id);
    }
    return [...this.#heardUs.keys()];
  }

  #send(leader: NodeId, used: number): void {
    const { transport, clock } = this.#parts;
    if (transport === undefined || this.#isSending) return;
    this.#isSending = true;
    const bytes = encodeValue({ used } satisfies DiskCall);
    const options = { deadlineUs: clock.monotonicUs() + SEND_US };
    transport
      .request(leader, { kind: CALL.DISK, bytes }, options)
      // Lost: the next one tells the same.
      .catch(() => {})
      .finally(() => {
        this.#isSending = false;
      });
  }
}
