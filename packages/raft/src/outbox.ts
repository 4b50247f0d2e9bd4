// Collects what the next Ready will carry, and decides for each message whether it may leave before
// the disk work of that batch is durable.

import type { Message } from './messages.ts';
import type { ReadState, SnapshotRequest } from './ready.ts';

/**
 * Most messages held back for a persist. While a disk stalls, what comes on top is dropped, as a
 * network might; the protocol repeats what matters.
 */
export const HELD_MESSAGE_COUNT_MAX = 4096;

/** Messages and answers waiting for the next batch. */
export class Outbox {
  /** The highest term that is durable here. No message may speak of a newer one. */
  durableTerm: number;
  #messages: Message[] = [];
  #messagesAfterPersist: Message[] = [];
  #readStates: ReadState[] = [];
  #snapshotRequests: SnapshotRequest[] = [];

  /** @param durableTerm as found on disk. */
  constructor(durableTerm: number) {
    this.durableTerm = durableTerm;
  }

  /** Queues a message that promises nothing about entries or votes of this node. */
  send(message: Message): void {
    // A crash may take a term back that is not durable yet, and the node would enter it twice. The
    // term of a pre-vote is nobody's term.
    const isPreVote =
      message.kind === 'voteRequest' || message.kind === 'voteReply' ? message.preVote : false;
    if (isPreVote || message.term <= this.durableTerm) this.#messages.push(message);
    else this.sendAfterPersist(message);
  }

  /** Queues a vote or an ack: it must not leave before all that was accepted so far is durable. */
  sendAfterPersist(message: Message): void {
    const queue = this.#messagesAfterPersist;
    const last = queue.at(-1);
    // A later ack says all that an earlier one said.
    if (last !== undefined && isSupersededAck(last, message)) queue.pop();
    if (queue.length < HELD_MESSAGE_COUNT_MAX) queue.push(message);
  }

  addReadState(readState: ReadState): void {
    this.#readStates.push(readState);
  }

  addSnapshotRequest(request: SnapshotRequest): void {
    this.#snapshotRequests.push(request);
  }

  get hasMessages(): boolean {
    return this.#messages.length > 0;
  }

  get hasMessagesAfterPersist(): boolean {
    return this.#messagesAfterPersist.length > 0;
  }

  get hasAnswers(): boolean {
    return this.#readStates.length > 0 || this.#snapshotRequests.length > 0;
  }

  takeMessages(): Message[] {
    const taken = this.#messages;
    this.#messages = [];
    return taken;
  }

  takeMessagesAfterPersist(): Message[] {
    const taken = this.#messagesAfterPersist;
    this.#messagesAfterPersist = [];
    return taken;
  }

  takeReadStates(): ReadState[] {
    const taken = this.#readStates;
    this.#readStates = [];
    return taken;
  }

  takeSnapshotRequests(): SnapshotRequest[] {
    const taken = this.#snapshotRequests;
    this.#snapshotRequests = [];
    return taken;
  }
}

function isSupersededAck(earlier: Message, later: Message): boolean {
  return (
    earlier.kind === 'appendReply' &&
    later.kind === 'appendReply' &&
    !earlier.rejected &&
    !later.rejected &&
    earlier.to === later.to &&
    earlier.term === later.term &&
    earlier.index <= later.index
  );
}
