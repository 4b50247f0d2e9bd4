// Addresses of peers, and when a cluster may do without a token.

import { toNodeId } from '@queen-ts/raft';
import { describe, expect, it } from 'vitest';
import { isLoopbackHost, parseAddress, peerSecurityProblem } from './addresses.ts';

describe('a peer address', () => {
  it.each([
    ['127.0.0.1:7400', { host: '127.0.0.1', port: 7400 }],
    ['queen-0.queen.default.svc:1', { host: 'queen-0.queen.default.svc', port: 1 }],
    ['[::1]:65535', { host: '::1', port: 65_535 }],
  ])('%s is a host and a port', (text, parsed) => {
    expect(parseAddress(text)).toEqual(parsed);
  });

  it.each([
    '',
    'host',
    'host:',
    ':1',
    'host:0',
    'host:65536',
    '::1:7400',
    'a b:1',
    'h:1/x',
    '[x]:1',
  ])('«%s» is none', (text) => {
    expect(parseAddress(text)).toBeUndefined();
  });

  it.each([
    ['127.0.0.1', true],
    ['127.9.9.9', true],
    ['::1', true],
    ['::ffff:127.0.0.1', true],
    ['localhost', true],
    ['0.0.0.0', false],
    ['::', false],
    ['10.0.0.1', false],
    ['127.example.org', false],
    ['localhost.example.org', false],
  ])('host %s is on this machine: %s', (host, isLoopback) => {
    expect(isLoopbackHost(host)).toBe(isLoopback);
  });
});

describe('a cluster without a token', () => {
  const near = { id: toNodeId(2), address: '127.0.0.1:7401' };
  const far = { id: toNodeId(3), address: 'queen-2:7400' };

  it('is allowed while everything is on this machine', () => {
    const options = { token: '', listenHost: '127.0.0.1', peers: [near] };
    expect(peerSecurityProblem(options)).toBeUndefined();
  });

  it('is refused with a peer elsewhere, or when others could connect', () => {
    const elsewhere = { token: '', listenHost: '127.0.0.1', peers: [near, far] };
    expect(peerSecurityProblem(elsewhere)).toMatch(/^peer 3 at queen-2:7400 .*QUEEN_RAFT_TOKEN$/);
    const open = { token: '', listenHost: '0.0.0.0', peers: [near] };
    expect(peerSecurityProblem(open)).toMatch(/0\.0\.0\.0: set QUEEN_RAFT_TOKEN$/);
  });

  it('is no concern with a token', () => {
    const options = { token: 'secret', listenHost: '0.0.0.0', peers: [near, far] };
    expect(peerSecurityProblem(options)).toBeUndefined();
  });
});
