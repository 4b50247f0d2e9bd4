// The yardstick of the edge (bars P1 and P2): the server's own HTTP stack (sockets, Hono, admission,
// body reading, answer writing) around a push route that does nothing. What the broker adds to a
// request is the difference to this. Prints its address and serves until it is stopped.
//
//   node --conditions=source bench/noop-server.ts --port 0

import { parseArgs } from 'node:util';
import { routedApp, ByteBudget, createLog, EdgeCounters, HttpServer } from '@queen-ts/server';
import { jsonBytes, withBody } from '@queen-ts/server';
import type { Route } from '@queen-ts/server';

const MEBIBYTE = 1024 * 1024;

/** What a push of one message is answered with. */
const ANSWER = new TextEncoder().encode(
  '[{"index":0,"message_id":"0198f2c1-4d3a-7c10-9f2b-6a1e5d0c7b83",' +
    '"transaction_id":"0198f2c1-4d3a-7c10-9f2b-6a1e5d0c7b83","queueName":"bench",' +
    '"status":"queued","offset":0}]',
);

const { values } = parseArgs({ options: { port: { type: 'string', default: '0' } } });
const admission = {
  budget: new ByteBudget({ bytesMax: 128 * MEBIBYTE, holdMs: 15_000 }),
  bytesMax: 64 * MEBIBYTE,
};
const noop: Route = {
  method: 'POST',
  path: '/api/v1/push',
  handler: (exchange) =>
    withBody(exchange, admission, () => Promise.resolve(jsonBytes(ANSWER, 201))),
};
const app = routedApp([noop], {
  log: createLog({ logLevel: 'warn', logJson: false, nodeId: 0 }),
  counters: new EdgeCounters(),
  crash: (error) => {
    throw error;
  },
});
const address = await new HttpServer(app.fetch).listen({
  port: Number(values.port),
  host: '127.0.0.1',
});
console.log(`http://127.0.0.1:${address.port}`);
