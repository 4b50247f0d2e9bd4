// Members in one process under virtual time, with everything that makes one: transport, forwarding,
// administration.

import { SeededRng, UuidMinter } from '@queen-ts/base';
import { ENGINE_LIMITS_DEFAULT } from '@queen-ts/engine';
import { popCommand, pushCommand } from '@queen-ts/engine/testing';
import type { Outcome } from '@queen-ts/protocol';
import type { NodeId } from '@queen-ts/raft';
import {
  MemoryCheckpointStore,
  MemoryHardStateStore,
  MemoryLogStore,
} from '@queen-ts/raft/testing';
import { BROKER_LIMITS_DEFAULT } from '../limits.ts';
import { Member } from '../member/member.ts';
import { MemoryNetwork } from '../transport/testing/memory-network.ts';
import { TRANSPORT_LIMITS_DEFAULT } from '../transport/transport-limits.ts';
import { ManualTime } from './manual-scheduler.ts';

/** Three founders, and whoever joins. */
export class TestMembers {
  readonly time = new ManualTime();
  readonly members = new Map<number, Member>();
  readonly failures: Error[] = [];
  /** Nodes that were told that their disk is not the admitted one. */
  readonly refused: number[] = [];
  readonly network: MemoryNetwork;
  readonly #ids: UuidMinter;

  private constructor() {
    const { time } = this;
    const limits = TRANSPORT_LIMITS_DEFAULT;
    this.network = new MemoryNetwork({ clock: time, scheduler: time, limits, latencyUs: 200 });
    this.#ids = new UuidMinter(time, new SeededRng(3));
  }

  static async start(): Promise<TestMembers> {
    const cluster = new TestMembers();
    const founders = [1, 2, 3];
    const started = [];
    for (const id of founders) started.push(await cluster.add(id, founders));
    await cluster.time.pass(5_000_000);
    await Promise.all(started.map(({ start }) => start));
    return cluster;
  }

  /** Opens one more; `configured` is whom it knows, and founds the cluster unless it joins. */
  async add(
    id: number,
    configured: readonly number[],
    { isJoining = false, incarnation = 100 + id } = {},
  ): Promise<{ readonly start: Promise<void> }> {
    const hardState = new MemoryHardStateStore(incarnation);
    const log = new MemoryLogStore();
    const peers = configured.map((other) => other as NodeId);
    const member = await Member.open({
      nodeId: id as NodeId,
      incarnation: hardState.incarnation,
      hardState,
      checkpoints: new MemoryCheckpointStore((index) => log.term(index)),
      openLog: () => Promise.resolve(log),
      clock: this.time,
      rng: new SeededRng(id + incarnation),
      scheduler: this.time,
      engineLimits: ENGINE_LIMITS_DEFAULT,
      limits: BROKER_LIMITS_DEFAULT,
      electionMs: 1000,
      heartbeatMs: 100,
      genesis: { clusterId: [id, 2, 3, 4], hashKey: Uint32Array.of(5, 6, 7, 8) },
      onFailure: (error) => this.failures.push(error),
      configured: new Map(peers.map((other) => [other, placeOf(other)])),
      voters: peers.filter((other) => !isJoining || other !== id),
      facts: { hostname: `host-${id}`, version: '0.0.0' },
      onIdentityRefused: () => this.refused.push(id),
      openTransport: () =>
        this.network.create(
          id as NodeId,
          peers.map((other) => ({ id: other, address: placeOf(other).raft })),
        ),
    });
    this.members.set(id, member);
    return { start: member.start() };
  }

  member(id: number): Member {
    const member = this.members.get(id);
    if (member === undefined) throw new Error(`no member ${id}`);
    return member;
  }

  /** The member that leads in the highest term. */
  get leader(): Member {
    const [newest] = [...this.members.values()]
      .filter(({ local }) => local.isLeader)
      .toSorted((a, b) => b.local.raftStatus.term - a.local.raftStatus.term);
    if (newest === undefined) throw new Error('no member leads');
    return newest;
  }

  /** Members that do not lead. */
  get followers(): readonly Member[] {
    return [...this.members.values()].filter((member) => member !== this.leader);
  }

  /** Lets nothing through from or to a member. */
  isolate(member: Member): void {
    for (const other of this.members.values()) {
      if (other === member) continue;
      this.network.cut(idOf(member), idOf(other));
      this.network.cut(idOf(other), idOf(member));
    }
  }

  /** Takes back {@link isolate}. */
  heal(member: Member): void {
    for (const other of this.members.values()) {
      this.network.heal(idOf(member), idOf(other));
      this.network.heal(idOf(other), idOf(member));
    }
  }

  push(member: Member, id: string, waitUs = 30_000_000): Promise<Outcome> {
    const { broker } = member;
    const { hashKey } = broker;
    const command = pushCommand([{ queue: 'q', id }], { idBase: this.#ids.mint(1), hashKey });
    return broker.submit(command, { deadlineUs: this.time.monotonicUs() + waitUs });
  }

  pop(
    member: Member,
    options: {
      readonly waitUs?: number;
      readonly signal?: AbortSignal;
      readonly autoAck?: boolean;
    } = {},
  ): Promise<Outcome> {
    const { waitUs, autoAck = false } = options;
    const command = popCommand({ queue: 'q', batch: 10, autoAck }, this.#ids.mint(1));
    return member.broker.pop(command, {
      deadlineUs: this.time.monotonicUs() + (waitUs ?? 30_000_000),
      wait: waitUs !== undefined,
      signal: options.signal ?? new AbortController().signal,
    });
  }

  /** Lets time pass, then awaits a pending answer. */
  async finish<T>(answer: Promise<T>, passUs = 1_000_000): Promise<T> {
    answer.catch(() => {});
    await this.time.pass(passUs);
    return answer;
  }
}

/** Where a test member is said to be. */
function placeOf(id: number): { readonly raft: string; readonly http: string } {
  return { raft: `node-${id}:7400`, http: `node-${id}:6632` };
}

function idOf(member: Member): NodeId {
  return member.local.raftStatus.id;
}
