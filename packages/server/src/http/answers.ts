// Answers in the form that costs least under @hono/node-server: a body of bytes with a constant
// header object is written in one piece, with its Content-Length, and without a web stream.

/** Content type of every JSON answer. */
export const JSON_TYPE = 'application/json';

const JSON_HEADERS: Readonly<Record<string, string>> = { 'Content-Type': JSON_TYPE };
const TEXT_HEADERS: Readonly<Record<string, string>> = {
  'Content-Type': 'text/plain; charset=utf-8',
};
const encoder = new TextEncoder();

/** Answers with bytes that already are JSON. The bytes must not change afterwards. */
export function jsonBytes(
  bytes: Uint8Array,
  status = 200,
  headers?: Readonly<Record<string, string>>,
): Response {
  const allHeaders = headers === undefined ? JSON_HEADERS : { ...JSON_HEADERS, ...headers };
  return new Response(asBody(bytes), { status, headers: allHeaders });
}

/** Answers with a value as JSON. For everything but the hot routes. */
export function json(value: unknown, status = 200): Response {
  return jsonBytes(encoder.encode(JSON.stringify(value)), status);
}

/** Answers with plain text. */
export function text(message: string, status: number): Response {
  return new Response(message, { status, headers: TEXT_HEADERS });
}

/** Answers with a status and headers only. */
export function empty(status: 204, headers: Readonly<Record<string, string>>): Response {
  return new Response(null, { status, headers });
}

/** The DOM's types insist that a body is not backed by shared memory; ours never is. */
function asBody(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  return bytes as Uint8Array<ArrayBuffer>;
}
