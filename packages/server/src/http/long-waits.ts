// Exchanges that wait long for their answer. Those beyond a number that costs little go to sleep: of
// each only its socket stays until the answer is due (ADR 0012). Which ones sleep is nobody's business:
// an answer is built for the pair of request and answer that is there when it is due.

import { assert } from '@queen-ts/base';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { ClientPresence } from './delivery.ts';
import { attach, detach } from './detach.ts';
import type { DetachedRequest, Sides } from './detach.ts';

/** Something whose answer takes its time. */
export interface LongWork {
  /** Resolves when the answer can be built; never rejects. */
  readonly due: Promise<void>;
  /** Told when the client leaves before that. */
  readonly client: ClientPresence;
  /** Builds the answer, once. The client may have left. */
  answer(outgoing: ServerResponse): Promise<Response>;
  /** Builds the answer that says why {@link answer} rejected, where no app does that. */
  refuse(error: Error): Response;
  /** Called in its place when the connection is known to have ended. */
  discard(): void;
}

/** When exchanges go to sleep. */
export interface LongWaitLimits {
  /** So many may wait awake. */
  readonly awakeMax: number;
  /** A younger one stays awake: its answer may just be on its way. In milliseconds. */
  readonly sleepAfterMs: number;
}

/** Exchanges that go to sleep in one turn of the event loop. */
const SLEEPS_A_TURN = 64;

/** Exchanges that wake in one turn: thousands may be due at the same moment. */
const WAKES_A_TURN = 64;

/** One exchange. It is awake while it has `resume`, asleep while it has `request`. */
interface Wait {
  readonly work: LongWork;
  readonly sinceMs: number;
  /** Undefined once it slept: it stays awake then. */
  sides: Sides | undefined;
  /** Ends the awake wait: with true when the answer is due, with false when it goes to sleep. */
  resume: ((isDue: boolean) => void) | undefined;
  request: DetachedRequest | undefined;
}

/** The waiting exchanges of one server. */
export class LongWaits {
  readonly #server: Server;
  readonly #limits: LongWaitLimits;
  /** Those that may go to sleep, oldest first. */
  readonly #awake = new Set<Wait>();
  readonly #asleep = new Map<Socket, Wait>();
  /** Due and asleep, until their turn comes. */
  readonly #late: Wait[] = [];
  #wakesLeft = WAKES_A_TURN;
  /** Set while its connection is being attached. */
  #waking: Wait | undefined;
  #timer: NodeJS.Timeout | undefined;
  readonly #listeners: readonly (readonly [string, (this: Socket, bytes?: Uint8Array) => void])[];

  constructor(server: Server, limits: LongWaitLimits) {
    this.#server = server;
    this.#limits = limits;
    const closed = (socket: Socket): void => this.#closed(socket);
    const received = (socket: Socket, bytes: Uint8Array): void => this.#received(socket, bytes);
    // One function each for all sockets: a closure per socket would cost more than what it does.
    this.#listeners = [
      [
        'close',
        function () {
          closed(this);
        },
      ],
      [
        'end',
        function () {
          this.destroy();
        },
      ],
      ['error', ignoreError],
      [
        'data',
        function (bytes) {
          received(this, bytes!);
        },
      ],
    ];
  }

  /** Exchanges that are asleep. */
  get asleepCount(): number {
    return this.#asleep.size;
  }

  /** True while a request comes that stands for one that slept: {@link resume} answers it. */
  get isWaking(): boolean {
    return this.#waking !== undefined;
  }

  /** Resolves with the answer; the one that it may be that another pair gets it instead. */
  answer(sides: Sides, work: LongWork): Promise<Response> {
    const wait: Wait = {
      work,
      sinceMs: performance.now(),
      sides,
      resume: undefined,
      request: undefined,
    };
    void work.due.then(() => this.#due(wait));
    this.#awake.add(wait);
    // Never within a request's own event, where Node may be in the middle of the next one.
    if (this.#awake.size > this.#limits.awakeMax) this.#trimAfter(0);
    return this.#untilDue(wait, sides.outgoing);
  }

  /** Answers in the place of an exchange that slept. Only while {@link isWaking}. */
  resume(outgoing: ServerResponse): Promise<Response> {
    const wait = this.#waking!;
    this.#waking = undefined;
    return this.#untilDue(wait, outgoing).catch((error: Error) => wait.work.refuse(error));
  }

  /** Ends the connections of all exchanges that are asleep. */
  destroyAll(): void {
    for (const socket of this.#asleep.keys()) socket.destroy();
  }

  async #untilDue(wait: Wait, outgoing: ServerResponse): Promise<Response> {
    wait.work.client.watch(outgoing);
    const isDue = await new Promise<boolean>((resolve) => {
      wait.resume = resolve;
    });
    return isDue ? wait.work.answer(outgoing) : RESPONSE_ALREADY_SENT;
  }

  #due(wait: Wait): void {
    if (wait.request === undefined || this.#takeWake()) this.#finish(wait);
    else this.#late.push(wait);
  }

  /** True when one more may wake in this turn. */
  #takeWake(): boolean {
    if (this.#wakesLeft === 0 || this.#late.length > 0) return false;
    if (this.#wakesLeft === WAKES_A_TURN) setImmediate(() => this.#nextTurn());
    this.#wakesLeft -= 1;
    return true;
  }

  #nextTurn(): void {
    const late = this.#late.splice(0, WAKES_A_TURN);
    this.#wakesLeft = WAKES_A_TURN - late.length;
    if (late.length > 0) setImmediate(() => this.#nextTurn());
    for (const wait of late) this.#finish(wait);
  }

  #finish(wait: Wait): void {
    if (wait.request !== undefined && !this.#wake(wait, wait.request)) {
      wait.work.discard();
      return;
    }
    this.#awake.delete(wait);
    wait.resume?.(true);
  }

  /** Lets the oldest go to sleep until few enough are awake. */
  #trim(): void {
    const { awakeMax, sleepAfterMs } = this.#limits;
    const nowMs = performance.now();
    let sleeps = 0;
    for (const wait of this.#awake) {
      if (this.#awake.size <= awakeMax) return;
      const restMs = wait.sinceMs + sleepAfterMs - nowMs;
      if (restMs > 0 || sleeps === SLEEPS_A_TURN) {
        this.#trimAfter(Math.max(0, restMs));
        return;
      }
      sleeps += 1;
      this.#awake.delete(wait);
      this.#sleep(wait);
    }
  }

  #trimAfter(delayMs: number): void {
    if (this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#trim();
    }, delayMs).unref();
  }

  #sleep(wait: Wait): void {
    const request = detach(this.#server, wait.sides!);
    wait.sides = undefined;
    // It cannot sleep: it stays awake until its answer is due.
    if (request === undefined) return;
    wait.request = request;
    const { socket } = request;
    this.#asleep.set(socket, wait);
    for (const [event, listener] of this.#listeners) socket.on(event, listener);
    wait.resume!(false);
    wait.resume = undefined;
  }

  /** False when the client has left. */
  #wake(wait: Wait, request: DetachedRequest, received?: Uint8Array): boolean {
    const { socket } = request;
    wait.request = undefined;
    this.#asleep.delete(socket);
    for (const [event, listener] of this.#listeners) socket.off(event, listener);
    if (socket.destroyed) {
      socket.on('error', ignoreError);
      return false;
    }
    this.#waking = wait;
    attach(this.#server, request, received);
    assert(!this.isWaking, 'an attached connection brought no request');
    return true;
  }

  /** Another request comes on the connection: Node holds its answer back until this one is there. */
  #received(socket: Socket, bytes: Uint8Array): void {
    const wait = this.#asleep.get(socket)!;
    this.#wake(wait, wait.request!, bytes);
  }

  #closed(socket: Socket): void {
    const wait = this.#asleep.get(socket)!;
    this.#asleep.delete(socket);
    wait.work.client.leave();
  }
}

/** `close` follows, and says all that matters. */
function ignoreError(): void {}
