// A node's side of the transport that remembers what came and answers as the test says.

import type { Message } from '@queen-ts/raft';
import type { PeerRequest, TransportHandler } from '../transport.ts';

/** Records everything. */
export class RecordingHandler implements TransportHandler {
  readonly messages: Message[] = [];
  readonly lost: number[] = [];
  readonly requests: PeerRequest[] = [];
  /** How requests are answered; by default with their own bytes. */
  answer: (request: PeerRequest) => Promise<Uint8Array> = ({ bytes }) => Promise.resolve(bytes);

  receive(message: Message): void {
    this.messages.push(message);
  }

  unreachable(to: number): void {
    this.lost.push(to);
  }

  request(request: PeerRequest): Promise<Uint8Array> {
    this.requests.push(request);
    return this.answer(request);
  }

  /** `kind:number` of the messages, in order; the number is what the test numbered them by. */
  get order(): string[] {
    return this.messages.map((message) => `${message.kind}:${numberOf(message)}`);
  }
}

function numberOf(message: Message): number {
  if (message.kind === 'heartbeat') return message.readRound;
  return message.kind === 'append' ? message.commitIndex : message.term;
}
