// One direction can be blocked alone, and a connection that lost something does not live on.

import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { PeerLinks } from './peer-links.ts';

const closing: (() => Promise<void> | void)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

async function echoMember(links: PeerLinks, member: number): Promise<void> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.on('data', (chunk) => socket.write(`echo ${chunk.toString()}`));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  links.connectTo(member, (server.address() as AddressInfo).port);
  closing.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
}

async function dial(address: string) {
  const socket = connect(Number(address.split(':')[1]), '127.0.0.1');
  const heard = { text: '', isClosed: false };
  socket.on('error', () => {});
  socket.on('data', (chunk) => {
    heard.text += chunk.toString();
  });
  socket.on('close', () => {
    heard.isClosed = true;
  });
  await once(socket, 'connect');
  closing.push(() => void socket.destroy());
  return { socket, heard };
}

it('blocks one direction and breaks what was cut when it heals', async () => {
  const links = await PeerLinks.open([1, 2]);
  closing.push(() => links.close());
  await echoMember(links, 2);
  const { socket, heard } = await dial(links.address(1, 2));
  socket.write('a');
  await eventually('an echo', () => Promise.resolve(heard.text === 'echo a'));

  links.block(2, 1);
  socket.write('b');
  await eventually('a dropped echo', () => Promise.resolve(links.droppedChunks === 1));
  expect(heard).toEqual({ text: 'echo a', isClosed: false });

  links.heal();
  await eventually('a broken connection', () => Promise.resolve(heard.isClosed));
  const next = await dial(links.address(1, 2));
  next.socket.write('c');
  await eventually('an echo again', () => Promise.resolve(next.heard.text === 'echo c'));
});
