// The network between members as relays, one for each ordered pair: who dials whom. Blocking a
// direction drops every byte that one member sends another, on connections that either of them
// dialled; nothing is refused, as in a network that drops packets.

import { connect, createServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';

/** Who speaks on a connection: the member that dialled, or the one that accepted. */
type Side = 'dialer' | 'acceptor';

interface Relayed {
  /** Sides whose bytes went missing since. */
  readonly cut: Set<Side>;
  readonly end: () => void;
}

/** Relays between members 1…n. */
export class PeerLinks {
  readonly #links = new Map<string, Link>();
  /** Directions that are blocked, as `from>to`. */
  readonly #blocked = new Set<string>();

  private constructor() {}

  /** Opens a relay for each ordered pair of `members`; {@link connectTo} says where they lead. */
  static async open(members: readonly number[]): Promise<PeerLinks> {
    const links = new PeerLinks();
    for (const from of members) {
      for (const to of members) {
        if (from === to) continue;
        const link = new Link((sender) => {
          const direction = sender === 'dialer' ? key(from, to) : key(to, from);
          return links.#blocked.has(direction);
        });
        await link.listen();
        links.#links.set(key(from, to), link);
      }
    }
    return links;
  }

  /** Where `from` finds `to`. */
  address(from: number, to: number): string {
    return this.#link(from, to).address;
  }

  /** Member `to` listens on this port of 127.0.0.1. */
  connectTo(to: number, port: number): void {
    for (const [pair, link] of this.#links) if (pair.endsWith(`>${to}`)) link.targetPort = port;
  }

  /** Drops what `from` sends to `to`, until {@link heal}. */
  block(from: number, to: number): void {
    this.#blocked.add(key(from, to));
  }

  /** Blocks both directions between each member of one side and each of the other. */
  separate(side: readonly number[], other: readonly number[]): void {
    for (const a of side) {
      for (const b of other) {
        this.block(a, b);
        this.block(b, a);
      }
    }
  }

  /** Ends all blocks. Connections that lost something break, and members dial anew. */
  heal(): void {
    this.#blocked.clear();
    for (const link of this.#links.values()) link.breakCut();
  }

  /** Pieces that were dropped so far: a fault that dropped nothing did not happen. */
  get droppedChunks(): number {
    return [...this.#links.values()].reduce((sum, link) => sum + link.droppedChunks, 0);
  }

  /** Ends every relay and connection. */
  async close(): Promise<void> {
    await Promise.all([...this.#links.values()].map((link) => link.close()));
  }

  #link(from: number, to: number): Link {
    const link = this.#links.get(key(from, to));
    if (link === undefined) throw new RangeError(`no link from ${from} to ${to}`);
    return link;
  }
}

class Link {
  targetPort = 0;
  droppedChunks = 0;
  readonly #isBlocked: (sender: Side) => boolean;
  readonly #server: Server;
  readonly #connections = new Set<Relayed>();

  constructor(isBlocked: (sender: Side) => boolean) {
    this.#isBlocked = isBlocked;
    this.#server = createServer((socket) => this.#relay(socket));
  }

  get address(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async listen(): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#server.once('error', reject);
    this.#server.listen({ host: '127.0.0.1', port: 0 }, resolve);
    await promise;
  }

  /** Ends the connections of which something went missing. */
  breakCut(): void {
    for (const connection of this.#connections) if (connection.cut.size > 0) connection.end();
  }

  async close(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#server.close(() => resolve());
    for (const connection of this.#connections) connection.end();
    await promise;
  }

  #relay(dialer: Socket): void {
    const acceptor = connect({ host: '127.0.0.1', port: this.targetPort });
    const end = (): void => {
      this.#connections.delete(connection);
      dialer.destroy();
      acceptor.destroy();
    };
    const connection: Relayed = { cut: new Set(), end };
    this.#connections.add(connection);
    for (const socket of [dialer, acceptor]) {
      socket.setNoDelay(true);
      socket.on('error', end);
      socket.on('close', end);
    }
    this.#forward(connection, { sender: 'dialer', from: dialer, to: acceptor });
    this.#forward(connection, { sender: 'acceptor', from: acceptor, to: dialer });
  }

  #forward(
    { cut }: Relayed,
    { sender, from, to }: { readonly sender: Side; readonly from: Socket; readonly to: Socket },
  ): void {
    from.on('data', (chunk: Buffer) => {
      // Once something is missing from a stream, nothing may follow it.
      if (cut.has(sender) || this.#isBlocked(sender)) {
        cut.add(sender);
        this.droppedChunks += 1;
      } else if (!to.write(chunk)) {
        from.pause();
        to.once('drain', () => from.resume());
      }
    });
  }
}

function key(from: number, to: number): string {
  return `${from}>${to}`;
}
