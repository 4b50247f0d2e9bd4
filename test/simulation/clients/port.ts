// One client's way into the cluster: a request travels to a node, is handled there or not, and the
// answer travels back or is lost. Errors of the broker and of the way look alike to most callers.

import type { NodeBroker } from '@queen-ts/cluster';
import type { Outcome } from '@queen-ts/protocol';
import type { Cluster } from '../nodes/cluster.ts';
import type { Process } from '../nodes/process.ts';
import type { Dice } from '../world/dice.ts';

/** One request. */
export interface PortRequest {
  readonly nodeId: number;
  /** How long the broker may take, in microseconds. */
  readonly waitUs: number;
  /** Hands the command to the broker. */
  readonly submit: (broker: NodeBroker, deadlineUs: number) => Promise<Outcome>;
  /** The node has the outcome, which the client may never see. Throws what the edge would. */
  readonly answered: (process: Process, outcome: Outcome) => void;
  /** The end of the request for the client; undefined when it does not know what happened. */
  readonly done: (outcome: Outcome | undefined) => void;
}

/** A client gives up when the answer is this much later than the broker promised. */
const PATIENCE_US = 50_000;

/** How a request ends. */
interface WayBack {
  readonly finish: (outcome: Outcome | undefined) => void;
  /** Whether a node that reads the request now handles it. */
  readonly isOpen: () => boolean;
}

/** Sends requests. */
export class ClientPort {
  readonly #cluster: Cluster;
  readonly #dice: Dice;

  constructor(cluster: Cluster, dice: Dice) {
    this.#cluster = cluster;
    this.#dice = dice;
  }

  /** Sends one request; `done` is called once, later. */
  send(request: PortRequest): void {
    const { time } = this.#cluster.world;
    let isDone = false;
    const { latencyUs } = this.#cluster.world.profile.network;
    const patienceUs = request.waitUs + PATIENCE_US + 4 * latencyUs;
    const givingUp = time.after(patienceUs, 'client', 0, () => finish(undefined));
    const finish = (outcome: Outcome | undefined): void => {
      if (isDone) return;
      isDone = true;
      time.cancel(givingUp);
      request.done(outcome);
    };
    const { lateRate } = this.#cluster.world.profile.workload;
    const isHandledLate = this.#dice.chance(lateRate);
    const way = { finish, isOpen: () => !isDone || isHandledLate };
    const travelUs = this.#travelUs();
    time.after(travelUs, 'client', request.nodeId, () => this.#arrive(request, way));
  }

  #arrive(request: PortRequest, way: WayBack): void {
    const process = this.#cluster.nodes[request.nodeId - 1]?.process;
    if (process?.isServing !== true || !process.isAlive) {
      // Nobody listens: the client learns that soon.
      this.#return(() => way.finish(undefined));
      return;
    }
    process.run(() => {
      const { broker } = process;
      if (broker === undefined || !way.isOpen()) return;
      const deadlineUs = process.host.clock.monotonicUs() + request.waitUs;
      request.submit(broker, deadlineUs).then(
        (outcome) => this.#answer(process, request, { outcome, finish: way.finish }),
        () => this.#return(() => way.finish(undefined)),
      );
    });
  }

  #answer(
    process: Process,
    request: PortRequest,
    answer: {
      readonly outcome: Outcome;
      readonly finish: (outcome: Outcome | undefined) => void;
    },
  ): void {
    process.run(() => {
      this.#cluster.observer.look(process.host.id);
      this.#cluster.observer.suite.tell('answered', process);
      request.answered(process, answer.outcome);
      if (!process.isAlive) return;
      const { world } = this.#cluster;
      if (!world.isPeaceful && this.#dice.chance(world.profile.network.dropRate)) {
        world.count('answerLost');
        return;
      }
      this.#return(() => answer.finish(answer.outcome));
    });
  }

  #return(run: () => void): void {
    this.#cluster.world.time.after(this.#travelUs(), 'client', 0, run);
  }

  #travelUs(): number {
    const { latencyUs } = this.#cluster.world.profile.network;
    return latencyUs + this.#dice.below(latencyUs);
  }
}
