// Why a node did not start, as one line for the operator. An error that nobody foresaw keeps its stack.

import { StorageError } from '@queen-ts/storage';
import { ConfigError } from '../config/config-error.ts';

const LISTEN_REASONS: ReadonlyMap<string, string> = new Map([
  ['EADDRINUSE', 'the port is in use: stop what listens there, or set PORT'],
  ['EACCES', 'this user may not open the port: set PORT to 1024 or more'],
  ['EADDRNOTAVAIL', 'this machine does not have the address: set QUEEN_BIND_ADDR'],
  ['ENOTFOUND', 'the host name is not known: set QUEEN_BIND_ADDR'],
]);

/** Something about the machine keeps the node from starting. The message is one line for the operator. */
export class StartRefusal extends Error {
  override readonly name = 'StartRefusal';
}

/** Says what keeps a node from listening for the other members; any other error stays as it is. */
export function peerListenRefusal(error: unknown): unknown {
  if (!isListenError(error)) return error;
  const host = error.address ?? error.hostname ?? '';
  const where = error.port === undefined ? host : `${host}:${error.port}`;
  return new StartRefusal(
    `cannot listen on ${where} for the other members (${error.code}): set QUEEN_RAFT_LISTEN`,
  );
}

interface ListenError extends Error {
  readonly code: string;
  readonly syscall: string;
  readonly address?: string;
  readonly hostname?: string;
  readonly port?: number;
}

/** Returns the text to show. */
export function refusalText(error: unknown): string {
  if (error instanceof ConfigError || error instanceof StorageError) return error.message;
  if (error instanceof StartRefusal) return error.message;
  if (isListenError(error)) {
    const host = error.address ?? error.hostname ?? '';
    const where = error.port === undefined ? host : `${host}:${error.port}`;
    return `cannot listen on ${where} (${error.code}): ${LISTEN_REASONS.get(error.code) ?? error.message}`;
  }
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

function isListenError(error: unknown): error is ListenError {
  if (!(error instanceof Error) || !('code' in error) || !('syscall' in error)) return false;
  return error.syscall === 'listen' || error.syscall === 'getaddrinfo';
}
