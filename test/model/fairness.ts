// Fair rotation: while a ready partition waits, no other partition of its queue is served twice by
// pops that could have taken it.

import { ok } from 'node:assert/strict';
import type { ModelQueues } from './state.ts';
import { isClaimable, knownPairs } from './visibility.ts';

/** The engine notices the end of a lease, a delay or a window this much later at most. */
const TIMER_RESOLUTION_US = 1000;

/** Counts who was served while others waited. */
export class Fairness {
  readonly #queues: ModelQueues;
  /** By waiting pair: how often each other partition was served meanwhile. */
  readonly #served = new Map<string, Map<string, number>>();

  constructor(queues: ModelQueues) {
    this.#queues = queues;
  }

  /** Forgets everything: a new leader rotates anew. */
  restart(): void {
    this.#served.clear();
  }

  /** Call after each command and step of time: who is not ready any more does not wait. */
  refresh(nowUs: number): void {
    const waiting = new Set<string>();
    for (const pair of knownPairs(this.#queues.values())) {
      const isReady = isClaimable(pair, nowUs - TIMER_RESOLUTION_US);
      if (isReady) waiting.add(keyOf(pair.queue.name, pair.group, pair.partition.name));
    }
    for (const key of this.#served.keys()) {
      if (!waiting.has(key)) this.#served.delete(key);
    }
    for (const key of waiting) {
      if (!this.#served.has(key)) this.#served.set(key, new Map());
    }
  }

  /** A pop that could take any ready partition of the queue took these, one after the other. */
  noteServed(queue: string, group: string, partitions: readonly string[]): void {
    for (const served of partitions) this.#served.set(keyOf(queue, group, served), new Map());
    for (const [key, counts] of this.#served) {
      const [waitingQueue, waitingGroup, waiting] = JSON.parse(key) as [string, string, string];
      if (waitingQueue !== queue || waitingGroup !== group) continue;
      if (partitions.includes(waiting)) continue;
      for (const served of partitions) {
        const count = (counts.get(served) ?? 0) + 1;
        counts.set(served, count);
        ok(count < 2, `unfair: ${queue}/${served} was served twice while ${waiting} waited`);
      }
    }
  }
}

function keyOf(queue: string, group: string, partition: string): string {
  return JSON.stringify([queue, group, partition]);
}
