// Whether the cluster may store more: the disks of its voters decide, and of these the fullest, since an
// entry lies on every one of them. Growth is refused from a high mark on, until the fullest disk is below
// a low one; what settles, deletes or reads goes on, and with it what makes room.

import { unreachable } from '@queen-ts/base';
import type { Command } from '@queen-ts/protocol';

/** The marks, as used parts of a disk in (0, 1]. */
export interface DiskMarks {
  /** Growth is refused once a disk is used by this much. */
  readonly high: number;
  /** It is let in again once every disk is used by less; at most `high`. */
  readonly low: number;
}

/** One member's disk. */
export interface VoterDisk {
  readonly nodeId: number;
  /** Used part of the file system that holds its data, in [0, 1]. */
  readonly used: number;
}

/** What the members last said of their disks. */
export class DiskGate {
  readonly #marks: DiskMarks;
  readonly #disks = new Map<number, number>();
  #isClosed = false;

  constructor(marks: DiskMarks) {
    this.#marks = marks;
  }

  /** Whether growth is refused. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** The fullest disk that is known; undefined before the first report. */
  get worstVoterDisk(): VoterDisk | undefined {
    let worst: VoterDisk | undefined;
    for (const [nodeId, used] of this.#disks) {
      if (worst === undefined || used > worst.used) worst = { nodeId, used };
    }
    return worst;
  }

  /** Takes in what a voter says of its disk: this node's own sample, or a peer's report. */
  report({ nodeId, used }: VoterDisk): void {
    this.#disks.set(nodeId, used);
    this.#judge();
  }

  /** Forgets everybody but these: who is no voter holds nothing up, nor does one that is not heard. */
  retain(voters: readonly number[]): void {
    for (const nodeId of this.#disks.keys()) {
      if (!voters.includes(nodeId)) this.#disks.delete(nodeId);
    }
    this.#judge();
  }

  #judge(): void {
    const used = this.worstVoterDisk?.used ?? 0;
    // Between the marks it stays as it is, so that it does not flap with every message.
    if (used >= this.#marks.high) this.#isClosed = true;
    else if (used < this.#marks.low) this.#isClosed = false;
  }
}

/** Whether a command brings payloads to store. The rest is small, and much of it makes room. */
export function isGrowth(command: Command): boolean {
  switch (command.kind) {
    case 'push':
    case 'replayDeadLetter':
      return true;
    case 'transaction':
      return command.push !== undefined;
    case 'ack':
    case 'pop':
    case 'extend':
    case 'release':
    case 'configure':
    case 'deleteQueue':
    case 'seek':
    case 'deleteGroup':
    case 'subscribe':
    case 'purgeDeadLetters':
    case 'deleteDeadLetters':
    case 'maintenance':
      return false;
    default:
      return unreachable(command);
  }
}
