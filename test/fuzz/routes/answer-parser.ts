// Takes HTTP answers out of what a connection sends. Strict: what is no well-formed answer throws.

import type { Answer } from '../../support/http-client.ts';

const HEAD_END = '\r\n\r\n';
const STATUS_LINE = /^HTTP\/1\.1 (\d{3})(?: [\x20-\x7e]*)?$/;
const HEADER_LINE = /^([!#$%&'*+\-.^_`|~0-9A-Za-z]+): ?([\x20-\x7e]*)$/;

/** Reads the answers of one connection. */
export class AnswerParser {
  #text = '';
  /** Methods whose answers are due, the next one first. */
  readonly #due: string[] = [];

  /** Says that a request is on its way. */
  expect(method: string): void {
    this.#due.push(method);
  }

  /** Takes bytes in, one character a byte. */
  push(bytes: string): void {
    this.#text += bytes;
  }

  /** Bytes that belong to no whole answer yet. */
  get rest(): string {
    return this.#text;
  }

  /**
   * The next whole answer; undefined when there is none yet. Interim answers are skipped.
   * @param hasEnded whether nothing more will come.
   * Throws when the bytes are no answer.
   */
  next(hasEnded: boolean): Answer | undefined {
    const end = this.#text.indexOf(HEAD_END);
    if (end < 0) return undefined;
    const [first = '', ...lines] = this.#text.slice(0, end).split('\r\n');
    const status = Number(STATUS_LINE.exec(first)?.[1] ?? Number.NaN);
    if (Number.isNaN(status)) throw new Error(`no status line: ${JSON.stringify(first)}`);
    const headers = readHeaders(lines);
    const start = end + HEAD_END.length;
    if (status < 200) {
      this.#text = this.#text.slice(start);
      return this.next(hasEnded);
    }
    const method = this.#due[0] ?? 'GET';
    const body = this.#body({ status, headers, start, method, hasEnded });
    if (body === undefined) return undefined;
    this.#due.shift();
    this.#text = this.#text.slice(body.end);
    return { status, headers, text: Buffer.from(body.bytes, 'latin1').toString('utf8') };
  }

  #body(answer: {
    readonly status: number;
    readonly headers: Readonly<Record<string, string>>;
    readonly start: number;
    readonly method: string;
    readonly hasEnded: boolean;
  }): { readonly bytes: string; readonly end: number } | undefined {
    const { status, headers, start, method, hasEnded } = answer;
    const length = headers['content-length'];
    if (status === 204 && length !== undefined) throw new Error('a 204 has a Content-Length');
    if (method === 'HEAD' || status === 204 || status === 304) return { bytes: '', end: start };
    if (headers['transfer-encoding'] === 'chunked') return this.#chunks(start);
    if (length !== undefined) {
      const end = start + Number(length);
      return this.#text.length < end ? undefined : { bytes: this.#text.slice(start, end), end };
    }
    // Without a length the body goes on to the end of the connection.
    if (!hasEnded) return undefined;
    return { bytes: this.#text.slice(start), end: this.#text.length };
  }

  #chunks(start: number): { readonly bytes: string; readonly end: number } | undefined {
    let bytes = '';
    for (let at = start; ;) {
      const lineEnd = this.#text.indexOf('\r\n', at);
      if (lineEnd < 0) return undefined;
      const size = Number.parseInt(this.#text.slice(at, lineEnd), 16);
      if (Number.isNaN(size)) throw new Error('a chunk has no size');
      const end = lineEnd + 2 + size + 2;
      if (this.#text.length < end) return undefined;
      if (size === 0) return { bytes, end };
      bytes += this.#text.slice(lineEnd + 2, end - 2);
      at = end;
    }
  }
}

function readHeaders(lines: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    lines.map((line) => {
      const [, name, value] = HEADER_LINE.exec(line) ?? [];
      if (name === undefined || value === undefined) {
        throw new Error(`no header line: ${JSON.stringify(line)}`);
      }
      return [name.toLowerCase(), value];
    }),
  );
}
