// One client: thinks, makes a request, waits for its end, thinks again. Remembers what it holds and
// which of its pushes it must repeat until they are acknowledged.

import { UuidMinter } from '@queen-ts/base';
import { PUSH_STATUS } from '@queen-ts/protocol';
import type { Outcome, PushOutcome } from '@queen-ts/protocol';
import type { Cluster } from '../nodes/cluster.ts';
import type { Process } from '../nodes/process.ts';
import type { Dice } from '../world/dice.ts';
import type { WorkloadProfile } from '../world/profile.ts';
import {
  ackOperation,
  configureOperation,
  deleteOperation,
  heldClaimsOf,
  popOperation,
  pushOperation,
  transactionOperation,
} from './operations.ts';
import type { HeldClaim, Operation, Pop, Push, Settled } from './operations.ts';
import { ClientPort } from './port.ts';

/** The group whose pops commit on delivery: what is lost on the way to it stays lost. */
const AUTO_GROUP = 'auto';

/** The queue that is deleted now and then. */
const SCRATCH = 'scratch';

/** Claims that a client holds at most; the oldest are forgotten, and their leases run out. */
const HELD_CLAIMS_MAX = 4;

/** Pushes without an acknowledgement that a client may have before it makes no new ones. */
const OPEN_PUSHES_MAX = 8;

/** Time for a request once the faults are over, in microseconds. */
const PATIENT_US = 1_000_000;

/** Values that a client may push again. */
const KNOWN_PUSHES_MAX = 16;

/** Gives out values that no other message has. */
export interface ValueSource {
  nextValue(): number;
}

/** A client of one run. */
export class Client {
  /** Pushes with ids of the client's that are not acknowledged yet, oldest first. */
  readonly openPushes: Push[] = [];
  readonly #cluster: Cluster;
  readonly #values: ValueSource;
  readonly #workload: WorkloadProfile;
  readonly #dice: Dice;
  readonly #ids: UuidMinter;
  readonly #port: ClientPort;
  readonly #isReader: boolean;
  readonly #knownPushes: Push[] = [];
  #claims: HeldClaim[] = [];
  #target = 1;
  #isRetryingOnly = false;
  #isWaiting = false;

  /** @param role readers only pop, each time from any node. */
  constructor(
    cluster: Cluster,
    values: ValueSource,
    client: { readonly number: number; readonly role: 'any' | 'reader' },
  ) {
    this.#cluster = cluster;
    this.#isReader = client.role === 'reader';
    this.#values = values;
    this.#workload = cluster.world.profile.workload;
    this.#dice = cluster.world.dice(500 + client.number);
    const { time } = cluster.world;
    const clock = { wallUs: () => time.nowUs, monotonicUs: () => time.nowUs };
    this.#ids = new UuidMinter(clock, this.#dice);
    this.#port = new ClientPort(cluster, this.#dice);
  }

  /** Whether a request is on its way, or a push must be repeated. */
  get isBusy(): boolean {
    return this.#isWaiting || this.openPushes.length > 0;
  }

  start(): void {
    this.#think();
  }

  /** From now on only what is not acknowledged yet is pushed again. */
  retryOnly(): void {
    this.#isRetryingOnly = true;
  }

  #think(): void {
    const { thinkUs } = this.#workload;
    const { time } = this.#cluster.world;
    time.after(this.#dice.between(1, 2 * thinkUs), 'client', 0, () => this.#act());
  }

  #act(): void {
    if (!this.#cluster.isFounded) return this.#think();
    const open = this.openPushes[0];
    const isFull = this.#isRetryingOnly || this.openPushes.length >= OPEN_PUSHES_MAX;
    if (open !== undefined && (isFull || this.#dice.chance(0.5))) {
      return this.#push(open);
    }
    if (this.#isRetryingOnly) return this.#think();
    if (this.#isReader) return this.#pop();
    const { pushWeight, popWeight, scratchRate } = this.#workload;
    const action = this.#dice.weighted([
      [(): void => this.#pushAnything(), pushWeight],
      [(): void => this.#pop(), popWeight],
      [(): void => this.#settle(), this.#claims.length > 0 ? 4 : 0],
      [(): void => this.#extend(), this.#claims.length > 0 ? 0.5 : 0],
      [(): void => this.#configure(), 0.1],
      [(): void => this.#send(deleteOperation(SCRATCH), () => {}), scratchRate],
    ]);
    action();
  }

  #pushAnything(): void {
    const { repeatRate, ownIdRate } = this.#workload;
    if (this.#knownPushes.length > 0 && this.#dice.chance(repeatRate)) {
      return this.#push(this.#dice.pick(this.#knownPushes));
    }
    const queue = this.#queue();
    // What is repeated after its queue was deleted is new: the ledger could not tell.
    const hasOwnId = queue !== SCRATCH && this.#dice.chance(ownIdRate);
    const push = this.#newPush(queue, hasOwnId);
    if (hasOwnId) {
      this.openPushes.push(push);
      this.#knownPushes.push(push);
      if (this.#knownPushes.length > KNOWN_PUSHES_MAX) this.#knownPushes.shift();
    }
    this.#push(push);
  }

  #newPush(queue: string, hasOwnId: boolean): Push {
    const { pushItemsMax, payloadBytesMax } = this.#workload;
    const messages = Array.from({ length: this.#dice.between(1, pushItemsMax) }, () => ({
      value: this.#values.nextValue(),
      hasOwnId,
      fillingBytes: this.#dice.below(payloadBytesMax + 1),
    }));
    return { queue, partition: this.#partition(), messages };
  }

  #push(push: Push): void {
    const operation = pushOperation(this.#cluster, push, this.#ids.mint(push.messages.length));
    const answered = (process: Process, outcome: Outcome): void => {
      operation.answered(process, outcome);
      if (outcome.kind === 'push') this.#acknowledge(push, outcome);
    };
    this.#send({ ...operation, answered }, (outcome) => {
      if (outcome?.kind !== 'push') return;
      const position = this.openPushes.indexOf(push);
      if (position >= 0) this.openPushes.splice(position, 1);
    });
  }

  #pop(): void {
    const { popBatchMax, leaseSecondsMax, groups, waitRate, pinnedRate } = this.#workload;
    const leaver = new AbortController();
    const autoAck = this.#dice.chance(0.1);
    const pop: Pop = {
      queue: this.#queue(),
      partition: this.#dice.chance(pinnedRate) ? this.#partition() : undefined,
      group: autoAck ? AUTO_GROUP : `g${this.#dice.between(1, groups)}`,
      batch: this.#dice.between(1, popBatchMax),
      leaseSeconds: this.#dice.between(1, leaseSecondsMax),
      autoAck,
      wait: this.#dice.chance(waitRate),
      signal: leaver.signal,
    };
    if (this.#dice.chance(0.05)) {
      const { time } = this.#cluster.world;
      time.after(this.#dice.below(100_000), 'client', 0, () => leaver.abort());
    }
    const operation = popOperation(this.#cluster, pop, this.#ids.mint(1));
    let claims: HeldClaim[] = [];
    const answered = (process: Process, outcome: Outcome): void => {
      operation.answered(process, outcome);
      if (outcome.kind === 'pop') claims = heldClaimsOf(process, outcome);
    };
    this.#send({ ...operation, answered }, (outcome) => {
      if (outcome !== undefined) this.#receive(claims, autoAck);
    });
  }

  #receive(claims: readonly HeldClaim[], isSettled: boolean): void {
    const { history } = this.#cluster.observer;
    for (const { queue, group, messages } of claims) {
      for (const { value } of messages) history.deliver(queue, group, value);
    }
    if (isSettled) return;
    const { abandonRate } = this.#workload;
    this.#claims.push(...claims.filter(() => !this.#dice.chance(abandonRate)));
    this.#claims = this.#claims.slice(-HELD_CLAIMS_MAX);
  }

  #acknowledge(push: Push, outcome: PushOutcome): void {
    push.messages.forEach(({ value }, i) => {
      const isStored = outcome.statuses[i] !== PUSH_STATUS.ERROR;
      if (isStored) this.#cluster.observer.history.acknowledge(value, push.queue);
    });
  }

  #settle(): void {
    const claim = this.#dice.pick(this.#claims);
    const { messages } = claim;
    if (this.#dice.chance(this.#workload.transactionRate)) return this.#transact(claim);
    const count = this.#dice.chance(0.8) ? messages.length : this.#dice.between(1, messages.length);
    const settled = messages.slice(0, count).map((message): Settled => {
      const status = this.#dice.weighted([
        ['completed', 12],
        ['failed', 1],
        ['retry', 1],
        ['dlq', 0.5],
      ] as const);
      return { message, status };
    });
    const operation = ackOperation(this.#cluster, claim, settled);
    this.#send(operation, (outcome) => {
      // A lost answer leaves the claim: the ack is repeated some time.
      if (outcome === undefined || count < messages.length) return;
      this.#claims = this.#claims.filter((other) => other !== claim);
    });
  }

  /** Acks a claim together with a push; in doubt it is not repeated, so it happened once or never. */
  #transact(claim: HeldClaim): void {
    const push = this.#newPush(this.#queue(), true);
    const idBase = this.#ids.mint(push.messages.length);
    const ids = { idBase, transactionId: this.#ids.mint(1) };
    const operation = transactionOperation(this.#cluster, { claim, push }, ids);
    const answered = (process: Process, outcome: Outcome): void => {
      operation.answered(process, outcome);
      const pushed = outcome.kind === 'transaction' ? outcome.push : undefined;
      if (pushed !== undefined) this.#acknowledge(push, pushed);
    };
    this.#send({ ...operation, answered }, () => {
      this.#claims = this.#claims.filter((other) => other !== claim);
    });
  }

  #configure(): void {
    const queue = this.#queue();
    const options = {
      retryLimit: this.#dice.below(4),
      leaseTime: this.#dice.between(1, 60),
      // Whatever every group must get stays for ever.
      ...(queue === SCRATCH && { retentionEnabled: true, retentionSeconds: 1 }),
    };
    this.#send(configureOperation(queue, options, this.#ids.mint(1)), () => {});
  }

  #extend(): void {
    const { leaseId } = this.#dice.pick(this.#claims);
    const seconds = this.#dice.between(1, this.#workload.leaseSecondsMax);
    this.#send(
      {
        submit: (broker, deadlineUs) =>
          broker.submit({ kind: 'extend', leaseId, seconds }, { deadlineUs }),
        answered: () => {},
      },
      () => {},
    );
  }

  #send(operation: Operation, done: (outcome: Outcome | undefined) => void): void {
    const { electionMs } = this.#cluster.world.profile;
    const waitUs = electionMs * 1000 * this.#dice.pick(this.#workload.patience);
    const isStray =
      !this.#isRetryingOnly && (this.#isReader || this.#dice.chance(this.#workload.strayRate));
    this.#isWaiting = true;
    this.#port.send({
      ...operation,
      nodeId: isStray ? this.#dice.pick(this.#cluster.nodes).id : this.#target,
      waitUs: this.#isRetryingOnly ? PATIENT_US : waitUs,
      done: (outcome) => {
        this.#isWaiting = false;
        done(outcome);
        if (outcome === undefined && !isStray) this.#retarget();
        this.#think();
      },
    });
  }

  /** Nobody answered: asks whom the others name as the leader, or somebody else. */
  #retarget(): void {
    const { leader, nodes } = this.#cluster;
    const isNamed = leader !== undefined && (this.#isRetryingOnly || this.#dice.chance(0.7));
    this.#target = isNamed ? leader.id : this.#dice.pick(nodes).id;
  }

  #queue(): string {
    if (this.#dice.chance(this.#workload.scratchRate)) return SCRATCH;
    return `q${this.#dice.between(1, this.#workload.queues)}`;
  }

  #partition(): string {
    return `p${this.#dice.between(1, this.#workload.partitions)}`;
  }
}
