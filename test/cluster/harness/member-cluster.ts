// Several members on this machine, with a relay between each two, so that their network can be cut.

import { probeFreePort } from '../../support/broker-process.ts';
import { eventually } from '../../support/eventually.ts';
import type { ChaosCluster } from '../chaos/cluster.ts';
import { PeerLinks } from '../faults/peer-links.ts';
import { MemberProcess } from './member-process.ts';

const TOKEN = 'a secret that the members of a test share';
const LEADER_DEADLINE_MS = 30_000;

/** What a test may choose. */
export interface MemberClusterOptions {
  /** Members that found the cluster: 1…size. */
  readonly size: number;
  /** Environment of every member, on top of what makes it one. */
  readonly environment?: Readonly<Record<string, string>>;
}

/** A cluster of real processes. */
export class MemberCluster implements ChaosCluster {
  readonly links: PeerLinks;
  readonly #processes: ReadonlyMap<number, MemberProcess>;

  private constructor(links: PeerLinks, processes: ReadonlyMap<number, MemberProcess>) {
    this.links = links;
    this.#processes = processes;
  }

  /** Founds a cluster; resolves once every member is healthy. */
  static async found(options: MemberClusterOptions): Promise<MemberCluster> {
    const members = Array.from({ length: options.size }, (_, position) => position + 1);
    const links = await PeerLinks.open(members);
    const places = new Map<number, { readonly raftPort: number; readonly httpPort: number }>();
    for (const id of members) {
      const place = { raftPort: await probeFreePort(), httpPort: await probeFreePort() };
      places.set(id, place);
      links.connectTo(id, place.raftPort);
    }
    const processes = new Map<number, MemberProcess>();
    for (const [id, { raftPort, httpPort }] of places) {
      const peers = [...places].map(([peer, place]) => {
        const raft = peer === id ? `127.0.0.1:${raftPort}` : links.address(id, peer);
        return `${peer}=${raft}/127.0.0.1:${place.httpPort}`;
      });
      const environment = {
        ...options.environment,
        QUEEN_RAFT_REPLICATOR: 'raft',
        QUEEN_RAFT_PEERS: peers.join(','),
        QUEEN_RAFT_LISTEN: `127.0.0.1:${raftPort}`,
        QUEEN_RAFT_TOKEN: TOKEN,
      };
      processes.set(id, new MemberProcess({ id, httpPort, environment }));
    }
    const cluster = new MemberCluster(links, processes);
    try {
      await Promise.all(members.map((id) => cluster.start(id)));
      await cluster.healthy();
    } catch (error) {
      await cluster.dispose();
      throw error;
    }
    return cluster;
  }

  get members(): readonly number[] {
    return [...this.#processes.keys()];
  }

  get urls(): readonly string[] {
    return [...this.#processes.values()].map(({ url }) => url);
  }

  member(id: number): MemberProcess {
    const member = this.#processes.get(id);
    if (member === undefined) throw new RangeError(`no member ${id}`);
    return member;
  }

  async leader(): Promise<number | undefined> {
    const seen = await Promise.all(this.members.map((id) => this.#termLedBy(id)));
    const terms = new Map<number, number>();
    seen.forEach((term, position) => {
      if (term !== undefined) terms.set(term, this.members[position] ?? 0);
    });
    // A leader that was cut off may not know yet that another one took its place.
    return terms.get(Math.max(...terms.keys()));
  }

  /** Resolves with the leader as soon as there is one. */
  async electedLeader(): Promise<number> {
    return eventually('a leader', () => this.leader(), LEADER_DEADLINE_MS);
  }

  async kill(id: number): Promise<void> {
    await this.member(id).kill();
  }

  async start(id: number): Promise<void> {
    await this.member(id).start();
  }

  async terminate(id: number): Promise<number | null> {
    return (await this.member(id).terminate()).code;
  }

  suspend(id: number): void {
    this.member(id).suspend();
  }

  resume(id: number): void {
    this.member(id).resume();
  }

  async setClockOffset(id: number, clockOffsetMs: number): Promise<void> {
    await this.member(id).meddle({ clockOffsetMs });
  }

  async setSyncDelay(id: number, syncDelayMs: number): Promise<void> {
    await this.member(id).meddle({ syncDelayMs });
  }

  async healthy(): Promise<void> {
    await Promise.all(this.members.map((id) => this.member(id).healthy()));
  }

  /** Kills everything and removes all data. Idempotent. */
  async dispose(): Promise<void> {
    await Promise.all([...this.#processes.values()].map((member) => member.dispose()));
    await this.links.close();
  }

  async #termLedBy(id: number): Promise<number | undefined> {
    const member = this.member(id);
    if (!member.isRunning) return undefined;
    try {
      const signal = AbortSignal.timeout(2000);
      const { text } = await member.client.request('GET', '/health', { signal });
      const { raft } = JSON.parse(text) as { raft: { leader: boolean; term: number } };
      return raft.leader ? raft.term : undefined;
    } catch {
      // A member that is down or suspended says nothing.
      return undefined;
    }
  }
}
