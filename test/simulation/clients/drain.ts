// Empties a queue for a group after the faults: pops and acks until the leader says that nothing is
// left. Every message that was ever acknowledged must come by, unless the group had it before.

import { UuidMinter } from '@queen-ts/base';
import type { Outcome } from '@queen-ts/protocol';
import type { Cluster } from '../nodes/cluster.ts';
import type { Dice } from '../world/dice.ts';
import { ackOperation, heldClaimsOf, popOperation } from './operations.ts';
import type { HeldClaim, Operation } from './operations.ts';
import { ClientPort } from './port.ts';

/** Pause after an answer that was not what we hoped for. */
const PAUSE_US = 50_000;
const WAIT_US = 1_000_000;
const BATCH = 500;
const LEASE_SECONDS = 30;

/** Drains one queue for one group. */
export class Drain {
  readonly queue: string;
  readonly group: string;
  readonly #cluster: Cluster;
  readonly #dice: Dice;
  readonly #ids: UuidMinter;
  readonly #port: ClientPort;
  readonly #never = new AbortController().signal;
  #isDone = false;

  constructor(
    cluster: Cluster,
    what: { readonly queue: string; readonly group: string; readonly number: number },
  ) {
    this.#cluster = cluster;
    this.queue = what.queue;
    this.group = what.group;
    this.#dice = cluster.world.dice(700 + what.number);
    const { time } = cluster.world;
    const clock = { wallUs: () => time.nowUs, monotonicUs: () => time.nowUs };
    this.#ids = new UuidMinter(clock, this.#dice);
    this.#port = new ClientPort(cluster, this.#dice);
  }

  get isDone(): boolean {
    return this.#isDone;
  }

  start(): void {
    this.#pop();
  }

  #pop(): void {
    const { queue, group } = this;
    const operation = popOperation(
      this.#cluster,
      {
        queue,
        group,
        partition: undefined,
        batch: BATCH,
        leaseSeconds: LEASE_SECONDS,
        autoAck: false,
        wait: false,
        signal: this.#never,
      },
      this.#ids.mint(1),
    );
    let claims: HeldClaim[] = [];
    this.#send(
      {
        submit: operation.submit,
        answered: (process, outcome) => {
          operation.answered(process, outcome);
          if (outcome.kind === 'pop') claims = heldClaimsOf(process, outcome);
        },
      },
      (outcome) => this.#popped(outcome, claims),
    );
  }

  #popped(outcome: Outcome | undefined, claims: readonly HeldClaim[]): void {
    if (outcome?.kind === 'pop' && outcome.emptyReason === 'empty') {
      this.#isDone = true;
      return;
    }
    const { history } = this.#cluster.observer;
    for (const { messages } of claims) {
      for (const { value } of messages) history.deliver(this.queue, this.group, value);
    }
    if (claims.length > 0) this.#ack(claims);
    else this.#pause(() => this.#pop());
  }

  #ack(claims: readonly HeldClaim[]): void {
    const [claim, ...rest] = claims;
    if (claim === undefined) return this.#pop();
    const settled = claim.messages.map((message) => ({ message, status: 'completed' as const }));
    this.#send(ackOperation(this.#cluster, claim, settled), (outcome) => {
      if (outcome?.kind === 'ack') this.#ack(rest);
      else this.#pause(() => this.#ack(claims));
    });
  }

  #pause(run: () => void): void {
    this.#cluster.world.time.after(PAUSE_US, 'client', 0, run);
  }

  #send(operation: Operation, done: (outcome: Outcome | undefined) => void): void {
    const nodeId = this.#cluster.leader?.id ?? 1;
    this.#port.send({ ...operation, nodeId, waitUs: WAIT_US, done });
  }
}
