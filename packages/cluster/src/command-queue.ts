// Commands that wait for the next planning cycle, in three lanes so that none starves another:
// what settles leases first, then pops, then what stores messages (design §3).

import type { Command } from '@queen-ts/protocol';
import { unreachable } from '@queen-ts/base';
import { Fifo } from './fifo.ts';
import type { Request } from './request.ts';

/** The lanes in planning order. */
export const LANES = ['settle', 'pop', 'store'] as const;
export type Lane = (typeof LANES)[number];

/** Bounds of one lane. */
export interface LaneLimits {
  readonly commands: number;
  readonly bytes: number;
}

interface LaneState {
  readonly requests: Fifo<Request>;
  bytes: number;
}

/** A bounded queue of requests. */
export class CommandQueue {
  readonly #lanes: Readonly<Record<Lane, LaneState>> = {
    settle: { requests: new Fifo(), bytes: 0 },
    pop: { requests: new Fifo(), bytes: 0 },
    store: { requests: new Fifo(), bytes: 0 },
  };
  readonly #limits: LaneLimits;

  /** @param limits bounds of every lane; a lone command larger than the bytes is still let in. */
  constructor(limits: LaneLimits) {
    this.#limits = limits;
  }

  get commandCount(): number {
    return LANES.reduce((sum, lane) => sum + this.#lanes[lane].requests.size, 0);
  }

  get sizeBytes(): number {
    return LANES.reduce((sum, lane) => sum + this.#lanes[lane].bytes, 0);
  }

  /** Adds a request; false when its lane is full and nothing was done. */
  offer(request: Request): boolean {
    const lane = this.#lanes[laneOf(request.command.kind)];
    const isFull =
      lane.requests.size >= this.#limits.commands ||
      (lane.requests.size > 0 && lane.bytes + request.sizeBytes > this.#limits.bytes);
    if (isFull) return false;
    lane.requests.push(request);
    lane.bytes += request.sizeBytes;
    return true;
  }

  /** Takes the oldest request of a lane; undefined when it is empty. */
  take(name: Lane): Request | undefined {
    const lane = this.#lanes[name];
    const request = lane.requests.shift();
    if (request !== undefined) lane.bytes -= request.sizeBytes;
    return request;
  }

  /** Size in bytes of the oldest request of a lane; 0 when it is empty. */
  nextSizeBytes(name: Lane): number {
    return this.#lanes[name].requests.peek()?.sizeBytes ?? 0;
  }

  /** Removes and returns the requests for which `isOver` holds, in order. */
  expire(isOver: (request: Request) => boolean): Request[] {
    const over: Request[] = [];
    for (const name of LANES) {
      const lane = this.#lanes[name];
      lane.requests.retain((request) => {
        if (!isOver(request)) return true;
        lane.bytes -= request.sizeBytes;
        over.push(request);
        return false;
      });
    }
    return over;
  }
}

/** Says which lane a command waits in. */
export function laneOf(kind: Command['kind']): Lane {
  switch (kind) {
    case 'ack':
    case 'extend':
    case 'release':
    case 'deleteQueue':
    case 'deleteGroup':
    case 'purgeDeadLetters':
    case 'deleteDeadLetters':
    case 'maintenance':
      return 'settle';
    case 'pop':
      return 'pop';
    case 'push':
    case 'transaction':
    case 'configure':
    case 'seek':
    case 'subscribe':
    case 'replayDeadLetter':
      return 'store';
    default:
      return unreachable(kind);
  }
}
