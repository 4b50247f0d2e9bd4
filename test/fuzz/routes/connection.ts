// One TCP connection of the fuzzer: sends bytes as they are and hands out whole answers.

import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Answer } from '../../support/http-client.ts';
import { AnswerParser } from './answer-parser.ts';
import type { FuzzCase } from './cases.ts';

/** What came back for one case. */
export interface Reply {
  readonly answers: readonly Answer[];
  /** Why it ended: all answers there, the peer closed, nothing more within the deadline, no HTTP. */
  readonly end: 'complete' | 'closed' | 'deadline' | 'malformed';
  /** What is no whole answer, or what the parser says about it. */
  readonly rest: string;
}

/** A connection to the broker. */
export class FuzzConnection {
  readonly #socket: Socket;
  readonly #parser = new AnswerParser();
  #hasClosed = false;
  #notify: () => void = () => undefined;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.setEncoding('latin1');
    socket.on('data', (bytes: string) => {
      this.#parser.push(bytes);
      this.#notify();
    });
    // A reset is an end like any other; it is followed by 'close'.
    socket.on('error', () => undefined);
    socket.on('close', () => {
      this.#hasClosed = true;
      this.#notify();
    });
  }

  /** Connects. Rejects when nobody listens. */
  static async open({ hostname, port }: URL): Promise<FuzzConnection> {
    const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve);
      socket.once('error', reject);
    });
    // Half-open would keep connections whose peer has ended: the end of the peer's side is the end.
    socket.on('end', () => socket.destroy());
    return new FuzzConnection(socket);
  }

  /** Whether it can take another case. */
  get isUsable(): boolean {
    return !this.#hasClosed && this.#parser.rest === '';
  }

  /** Sends a case and waits for what comes back. */
  async play(fuzzCase: FuzzCase, deadlineMs: number): Promise<Reply> {
    for (const { method } of fuzzCase.requests) this.#parser.expect(method);
    await this.#send(fuzzCase);
    if (fuzzCase.afterwards === 'end') this.#socket.end();
    if (fuzzCase.afterwards === 'reset') {
      this.#socket.resetAndDestroy();
      return { answers: [], end: 'closed', rest: '' };
    }
    const wanted = fuzzCase.expects === 'answers' ? fuzzCase.requests.length : Infinity;
    return this.#collect(wanted, deadlineMs);
  }

  /** Closes at once. */
  destroy(): void {
    this.#socket.destroy();
  }

  async #send({ wire, cuts }: FuzzCase): Promise<void> {
    let start = 0;
    for (const end of [...cuts, wire.length]) {
      if (end > start) this.#socket.write(wire.slice(start, end), 'latin1');
      start = Math.max(start, end);
      if (cuts.length > 0) await nextTurn();
    }
  }

  async #collect(wanted: number, deadlineMs: number): Promise<Reply> {
    const late = { isOver: false };
    const timer = setTimeout(() => {
      late.isOver = true;
      this.#notify();
    }, deadlineMs);
    const answers: Answer[] = [];
    try {
      while (answers.length < wanted) {
        const answer = this.#parser.next(this.#hasClosed);
        if (answer !== undefined) answers.push(answer);
        else if (this.#hasClosed) return { answers, end: 'closed', rest: this.#parser.rest };
        else if (late.isOver) return { answers, end: 'deadline', rest: this.#parser.rest };
        else await this.#somethingNew();
      }
      return { answers, end: 'complete', rest: '' };
    } catch (error) {
      return { answers, end: 'malformed', rest: String(error) };
    } finally {
      clearTimeout(timer);
    }
  }

  #somethingNew(): Promise<void> {
    return new Promise((resolve) => {
      this.#notify = resolve;
    });
  }
}
