// What a test sent and what the broker answered, to compare with what the broker later holds. A batch
// whose answer never came is in doubt: it may be stored, whole or by partitions, or not.

import type { HttpClient } from './http-client.ts';
import type { Message, PushItem, Verdict } from './wire.ts';

/** One message as it was sent, with the answer once there is one. */
export interface SentMessage extends PushItem {
  readonly transactionId: string;
  readonly partition: string;
  readonly payload: string;
}

/** Where the broker said that a message is. */
interface Place {
  readonly id: string;
  readonly offset: number;
}

/** Collects the pushes of one test. */
export class PushJournal {
  readonly #sent = new Map<string, SentMessage>();
  readonly #places = new Map<string, Place>();
  #inDoubt: (readonly SentMessage[])[] = [];
  readonly #answered: (readonly SentMessage[])[] = [];

  /** Number of messages sent, in doubt or not. */
  get sentCount(): number {
    return this.#sent.size;
  }

  /** Number of batches without an answer. */
  get batchesInDoubt(): number {
    return this.#inDoubt.length;
  }

  /** Number of batches that were answered. */
  get answeredBatches(): number {
    return this.#answered.length;
  }

  /** Sends a batch and notes the answer; false when none came, which puts it in doubt. */
  async push(client: HttpClient, batch: readonly SentMessage[]): Promise<boolean> {
    for (const message of batch) this.#sent.set(message.transactionId, message);
    const verdicts = await client.push(batch).catch(() => undefined);
    if (verdicts === undefined) {
      this.#inDoubt.push(batch);
      return false;
    }
    this.#noteVerdicts(batch, verdicts, ['queued']);
    this.#answered.push(batch);
    return true;
  }

  /** Sends every batch in doubt again: each message must turn out queued now or duplicate. */
  async resolveDoubts(client: HttpClient): Promise<void> {
    const batches = this.#inDoubt;
    this.#inDoubt = [];
    for (const batch of batches) {
      this.#noteVerdicts(batch, await client.push(batch), ['queued', 'duplicate']);
      this.#answered.push(batch);
    }
  }

  /** Sends an answered batch once more: every message must be a duplicate of itself. */
  async repeatAnswered(client: HttpClient, position: number): Promise<void> {
    const batch = this.#answered[position];
    if (batch === undefined) throw new RangeError(`no answered batch ${position}`);
    this.#noteVerdicts(batch, await client.push(batch), ['duplicate']);
  }

  /**
   * Compares with everything that the broker holds, in the order it delivers it: the offsets of each
   * partition are 0, 1, 2, …; every message was sent and is unaltered; every message sent is there
   * once, where the broker said. Call only while nothing is in doubt.
   */
  verify(held: readonly Message[]): void {
    if (this.#inDoubt.length > 0) throw new Error('some batches are still in doubt');
    const nextOffsets = new Map<string, number>();
    const found = new Set<string>();
    for (const message of held) {
      const expectedOffset = nextOffsets.get(message.partition) ?? 0;
      check(message.offset === expectedOffset, `offset ${expectedOffset} expected`, message);
      nextOffsets.set(message.partition, expectedOffset + 1);
      check(!found.has(message.transactionId), 'stored twice', message);
      found.add(message.transactionId);
      const sent = this.#sent.get(message.transactionId);
      check(sent !== undefined, 'never sent', message);
      check(sent?.partition === message.partition, 'in another partition', message);
      check(sent?.payload === message.data, 'altered', message);
      const place = this.#places.get(message.transactionId);
      check(place?.offset === message.offset, `answered as offset ${place?.offset}`, message);
      check(place?.id === message.id, `answered as id ${place?.id}`, message);
    }
    const missing = [...this.#sent.keys()].filter((id) => !found.has(id));
    if (missing.length > 0) {
      const some = missing.slice(0, 5).join();
      throw new Error(`${missing.length} acknowledged messages are missing: ${some}`);
    }
  }

  #noteVerdicts(
    batch: readonly SentMessage[],
    verdicts: readonly Verdict[],
    allowed: readonly Verdict['status'][],
  ): void {
    batch.forEach(({ transactionId }, i) => {
      const verdict = verdicts[i];
      if (verdict?.offset === undefined || !allowed.includes(verdict.status)) {
        throw new Error(
          `${transactionId}: ${allowed.join()} expected, got ${JSON.stringify(verdict)}`,
        );
      }
      const place = { id: verdict.message_id, offset: verdict.offset };
      const known = this.#places.get(transactionId);
      if (known !== undefined && (known.id !== place.id || known.offset !== place.offset)) {
        const texts = [known, place].map((value) => JSON.stringify(value));
        throw new Error(`${transactionId}: first answered ${texts[0]}, later ${texts[1]}`);
      }
      this.#places.set(transactionId, place);
    });
  }
}

function check(isTrue: boolean, what: string, message: Message): void {
  if (isTrue) return;
  const { partition, offset, transactionId } = message;
  throw new Error(`${partition} offset ${offset} (${transactionId}): ${what}`);
}
