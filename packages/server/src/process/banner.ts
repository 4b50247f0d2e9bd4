// What a person sees when a node has started: where it listens, where its data is, what to try.

import { isIPv6 } from 'node:net';
import type { AddressInfo } from 'node:net';
import { VERSION } from '../version.ts';

/** What the banner tells. */
export interface BannerFacts {
  readonly nodeId: number;
  readonly address: AddressInfo;
  readonly dataDirectory: string;
  readonly isNew: boolean;
}

/** Returns the banner, lines ended. */
export function banner({ nodeId, address, dataDirectory, isNew }: BannerFacts): string {
  const body = `'{"items":[{"queue":"hello","payload":{"n":1}}]}'`;
  const local = httpUrl(isWildcard(address.address) ? '127.0.0.1' : address.address, address.port);
  return [
    `Queen TS ${VERSION}, node ${nodeId}`,
    `  listening on  ${httpUrl(address.address, address.port)}`,
    `  data in       ${dataDirectory}${isNew ? ' (new)' : ''}`,
    `  try           curl -s ${local}/api/v1/push -d ${body}`,
    '',
  ].join('\n');
}

/** True when only programs on this machine can connect. */
export function isLoopback(address: string): boolean {
  return address === '::1' || address.startsWith('127.') || address.startsWith('::ffff:127.');
}

function isWildcard(address: string): boolean {
  return address === '0.0.0.0' || address === '::';
}

function httpUrl(host: string, port: number): string {
  return `http://${isIPv6(host) ? `[${host}]` : host}:${port}`;
}
