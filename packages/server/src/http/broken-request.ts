// Answers for what never became a request: malformed HTTP, a head that is too large, or one that
// took too long. Node hands over the bare socket, so these answers are written by hand.

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { JSON_TYPE } from './answers.ts';

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

const NO_HOST: Verdict = {
  status: '400 Bad Request',
  code: 'bad_request',
  text: 'an HTTP/1.1 request needs a Host header',
};

const UNKNOWN_EXPECTATION: Verdict = {
  status: '417 Expectation Failed',
  code: 'bad_request',
  text: 'the only expectation that can be met is 100-continue',
};

/** The answer that is due next on a socket; undocumented, yet Node's manual reads it here too. */
interface SocketWithAnswer extends Socket {
  readonly _httpMessage?: ServerResponse | null;
}

/** Sockets whose answer to what is broken waits: whatever else comes is as broken. */
const waiting = new WeakSet<Socket>();

/**
 * Handles the server's `clientError`. Complete requests that came before on the connection get their
 * answers first: theirs must not be taken for what is said about the broken one.
 */
export function answerBrokenRequest(
  error: Error & { readonly code?: string },
  socket: Socket,
): void {
  if (waiting.has(socket)) return;
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const { _httpMessage: message } = socket as SocketWithAnswer;
  if (message?.req.complete === true && !message.writableFinished) {
    waiting.add(socket);
    // It closes when it is out, with the next one in its place, and when the client leaves.
    message.once('close', () => {
      waiting.delete(socket);
      answerBrokenRequest(error, socket);
    });
    return;
  }
  // A second answer in the middle of the first would corrupt it.
  if (message?.headersSent === true) socket.destroy();
  else refuse(error.code, socket);
}

/** Refuses a request without a Host, as HTTP/1.1 demands. True when it was refused. */
export function refuseWithoutHost(incoming: IncomingMessage, outgoing: ServerResponse): boolean {
  if (incoming.headers.host !== undefined || incoming.httpVersion !== '1.1') return false;
  answerUnheard(NO_HOST, outgoing);
  return true;
}

/** Handles the server's `checkExpectation`: a client expects what no server knows. */
export function refuseExpectation(_incoming: IncomingMessage, outgoing: ServerResponse): void {
  answerUnheard(UNKNOWN_EXPECTATION, outgoing);
}

/** Answers a request whose body nobody will read. */
function answerUnheard({ status, code, text }: Verdict, outgoing: ServerResponse): void {
  const body = JSON.stringify({ error: text, code });
  outgoing.writeHead(Number.parseInt(status, 10), {
    'Content-Type': JSON_TYPE,
    'Content-Length': Buffer.byteLength(body),
    Connection: 'close',
  });
  outgoing.end(body);
}

function refuse(errorCode: string | undefined, socket: Socket): void {
  const { status, code, text } = VERDICTS.get(errorCode ?? '') ?? MALFORMED;
  const body = JSON.stringify({ error: text, code });
  const head = `HTTP/1.1 ${status}\r\nContent-Type: application/json\r\nConnection: close`;
  socket.end(`${head}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
  // Closing with unread bytes would reset the connection before the client has read the answer.
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
}
