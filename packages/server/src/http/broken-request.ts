// Answers for what never became a request: malformed HTTP, a head that is too large, or one that
// took too long. Node hands over the bare socket, so these answers are written by hand.

import type { Socket } from 'node:net';

/** How long a broken connection stays open for its client to read the answer. */
const LINGER_MS = 500;

interface Verdict {
  readonly status: string;
  readonly code: string;
  readonly text: string;
}

const MALFORMED: Verdict = {
  status: '400 Bad Request',
  code: 'bad_request',
  text: 'the request is not valid HTTP',
};

const VERDICTS: ReadonlyMap<string, Verdict> = new Map([
  [
    'HPE_HEADER_OVERFLOW',
    {
      status: '431 Request Header Fields Too Large',
      code: 'bad_request',
      text: 'the request head is too large',
    },
  ],
  [
    'ERR_HTTP_REQUEST_TIMEOUT',
    {
      status: '408 Request Timeout',
      code: 'bad_request',
      text: 'the request took too long to arrive',
    },
  ],
]);

/** The answer that Node is writing on a socket; undocumented, yet its manual reads it here too. */
interface SocketWithAnswer extends Socket {
  readonly _httpMessage?: { readonly headersSent: boolean } | null;
}

/** Handles the server's `clientError`. */
export function answerBrokenRequest(
  error: Error & { readonly code?: string },
  socket: Socket,
): void {
  const { _httpMessage: message } = socket as SocketWithAnswer;
  // A second answer in the middle of the first would corrupt it.
  if (!socket.writable || error.code === 'ECONNRESET' || message?.headersSent === true) {
    socket.destroy();
    return;
  }
  const { status, code, text } = VERDICTS.get(error.code ?? '') ?? MALFORMED;
  const body = JSON.stringify({ error: text, code });
  const head = `HTTP/1.1 ${status}\r\nContent-Type: application/json\r\nConnection: close`;
  socket.end(`${head}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
  // Closing with unread bytes would reset the connection before the client has read the answer.
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
}
