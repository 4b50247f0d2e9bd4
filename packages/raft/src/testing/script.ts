// Script files: comments, and commands each followed by the trace it left. Reads them, runs them, and
// renders what they should say.

import { assert, unreachable } from '@queen-ts/base';
import type { MembershipChange } from '../membership.ts';
import { toNodeId } from '../node-id.ts';
import type { NodeId } from '../node-id.ts';
import { ScriptCluster } from './script-cluster.ts';
import type { Link } from './script-cluster.ts';

/**
 * Runs a script and returns it with the trace that it leaves now. Lines that begin with `#` are
 * comments and stay, lines that begin with `> ` are commands; everything else is trace and replaced.
 */
export function runScript(text: string): string {
  const runner = new ScriptRunner();
  const lines = text
    .split('\n')
    .filter((line) => line.startsWith('#') || line.startsWith('> '))
    .flatMap((line, i) => {
      if (line.startsWith('#')) return i > 0 && line.startsWith('##') ? ['', line] : [line];
      return ['', line, ...runner.run(line.slice(2))];
    });
  return `${lines.join('\n').trim()}\n`;
}

const COMMANDS = [
  'cluster',
  'spawn',
  'campaign',
  'elect',
  'tick',
  'ticks',
  'propose',
  'read',
  'transfer',
  'change',
  'run',
  'round',
  'settle',
  'deliver',
  'drop',
  'duplicate',
  'save',
  'resend',
  'reverse',
  'pending',
  'cut',
  'isolate',
  'heal',
  'hold-disk',
  'release-disk',
  'crash',
  'restart',
  'wipe',
  'compact',
  'snapshot',
  'snapshot-report',
  'unreachable',
  'status',
  'log',
  'progress',
] as const;

type Command = (typeof COMMANDS)[number];

class ScriptRunner {
  #cluster: ScriptCluster | undefined;

  /** Runs one command and returns its trace. */
  run(line: string): string[] {
    const [name = '', ...args] = line.split(' ');
    const command = COMMANDS.find((known) => known === name);
    assert(command !== undefined, () => `unknown command ${name}`);
    if (command === 'cluster') {
      this.#cluster = clusterOf(args);
      return [];
    }
    const cluster = this.#cluster;
    assert(cluster !== undefined, 'a script begins with cluster');
    runCommand(cluster, command, args);
    return cluster.trace.splice(0);
  }
}

function runCommand(
  cluster: ScriptCluster,
  command: Exclude<Command, 'cluster'>,
  args: string[],
): void {
  const [first = '', second = ''] = args;
  switch (command) {
    case 'spawn':
      return cluster.spawn(idOf(first));
    case 'campaign':
      return cluster.node(idOf(first)).node.campaign();
    case 'elect':
      return elect(cluster, idOf(first));
    case 'tick':
      return idsOf(first).forEach((id) => {
        repeat(Number(second || '1'), () => cluster.node(id).node.tick());
      });
    case 'ticks':
      return tickAll(cluster, Number(first), idsOf(second));
    case 'propose':
      return propose(cluster, args);
    case 'read':
      return sayResult(cluster, cluster.node(idOf(first)).node.readIndex(Number(second)));
    case 'transfer':
      return sayResult(cluster, cluster.node(idOf(first)).node.transferLeadership(idOf(second)));
    case 'change':
      return sayResult(cluster, cluster.node(idOf(first)).node.proposeMembership(changeOf(args)));
    case 'run':
      return (first === '' ? cluster.ids : idsOf(first)).forEach((id) => void cluster.run(id));
    case 'round':
      return cluster.round();
    case 'settle':
      return first === 'quietly' ? cluster.settleQuietly() : cluster.settle();
    case 'deliver':
      return linksOf(first).forEach((link) => void cluster.deliver(link, args[1]));
    case 'drop':
      return first === ''
        ? cluster.drop({ from: 0, to: 0 })
        : linksOf(first).forEach((link) => cluster.drop(link, args[1]));
    case 'duplicate':
      return linksOf(first).forEach((link) => cluster.duplicate(link));
    case 'save':
      return linksOf(first).forEach((link) => cluster.save(link));
    case 'resend':
      return cluster.resend();
    case 'reverse':
      return cluster.reverse();
    case 'pending':
      return cluster.pending();
    case 'cut':
      return args.flatMap(linksOf).forEach((link) => cluster.cut(link));
    case 'isolate':
      return cluster.ids.flatMap((id) => linksOf(`${first}-${id}`)).forEach((l) => cluster.cut(l));
    case 'heal':
      return cluster.heal();
    case 'hold-disk':
      return cluster.holdDisk(idOf(first));
    case 'release-disk':
      return cluster.releaseDisk(idOf(first));
    case 'crash':
      return idsOf(first).forEach((id) => cluster.crash(id));
    case 'restart':
      return idsOf(first).forEach((id) => cluster.restart(id));
    case 'wipe':
      return cluster.wipe(idOf(first));
    case 'compact':
      return cluster.node(idOf(first)).compact(Number(second));
    case 'snapshot':
      return linksOf(first).forEach((link) => cluster.sendSnapshot(link));
    case 'snapshot-report':
      return reportSnapshot(cluster, args);
    case 'unreachable':
      return linksOf(first).forEach((l) => cluster.node(l.from).node.reportUnreachable(idOf(l.to)));
    case 'status':
      return (first === '' ? cluster.ids : idsOf(first)).forEach((id) => cluster.printStatus(id));
    case 'log':
      return (first === '' ? cluster.ids : idsOf(first)).forEach((id) => cluster.printLog(id));
    case 'progress':
      return progress(cluster, Number(first));
    default:
      return unreachable(command);
  }
}

/** `cluster 3 learners=4 founding=majority append=100 inflight=300 uncommitted=500`. */
function clusterOf([voterCount = '1', ...settings]: string[]): ScriptCluster {
  const valueOf = (name: string): string | undefined =>
    settings.find((setting) => setting.startsWith(`${name}=`))?.slice(name.length + 1);
  const known = ['learners', 'founding', 'append', 'inflight', 'uncommitted'];
  const isKnown = settings.every((setting) => known.includes(setting.split('=')[0] ?? ''));
  assert(isKnown, () => `unknown setting in ${settings.join(' ')}`);
  const voters = Array.from({ length: Number(voterCount) }, (_, i) => toNodeId(i + 1));
  return new ScriptCluster({
    voters,
    learners: idsOf(valueOf('learners') ?? ''),
    foundingVotes: valueOf('founding') === 'majority' ? 'majority' : 'all',
    limits: {
      maxAppendBytes: Number(valueOf('append') ?? '1000'),
      maxInflightBytes: Number(valueOf('inflight') ?? '4000'),
      maxUncommittedBytes: Number(valueOf('uncommitted') ?? '4000'),
    },
  });
}

/** Lets a node campaign and everything settle, and prints nothing but the outcome. */
function elect(cluster: ScriptCluster, id: NodeId): void {
  const from = cluster.trace.length;
  cluster.node(id).node.campaign();
  cluster.settle();
  cluster.trace.length = from;
  const { role, term, commitIndex } = cluster.node(id).node.status;
  cluster.say(`${id} ${role} t${term} commit=${commitIndex}`);
}

/** `propose 1 name [payload size]`. */
function propose(cluster: ScriptCluster, [id = '', name = '', size = '0']: string[]): void {
  const { node } = cluster.node(idOf(id));
  sayResult(cluster, node.propose({ head: bytesOf(name), payload: new Uint8Array(Number(size)) }));
}

/** Ticks nodes together and settles after each tick; shows only changes of role. */
function tickAll(cluster: ScriptCluster, count: number, only: readonly NodeId[]): void {
  for (let tick = 0; tick < count; tick++) {
    for (const id of only.length === 0 ? cluster.ids : only) tickIfUp(cluster, id);
    cluster.settleQuietly();
  }
}

/**
 * Ticks until a command proposed at some leader is committed there, and says how many election
 * timeouts it took; `max` is the most it may take.
 */
function progress(cluster: ScriptCluster, max: number): void {
  let tick = 0;
  const commitBefore = new Map<number, number>();
  for (; tick <= max * 10; tick++) {
    const done = cluster.leaders.find((id) => {
      const { commitIndex } = cluster.node(id).node.status;
      return commitIndex >= (commitBefore.get(id) ?? Infinity);
    });
    if (done !== undefined) return cluster.say(`${done} commits after ${tick} ticks`);
    for (const id of cluster.leaders) {
      if (commitBefore.has(id)) continue;
      const result = cluster
        .node(id)
        .node.propose({ head: bytesOf(`p${id}`), payload: bytesOf('') });
      if (result.ok) commitBefore.set(id, result.index);
    }
    tickAll(cluster, 1, []);
  }
  cluster.say(`no progress in ${max} election timeouts`);
}

function reportSnapshot(
  cluster: ScriptCluster,
  [link = '', outcome = '', index = '0']: string[],
): void {
  assert(outcome === 'finished' || outcome === 'failed', () => `outcome ${outcome}`);
  for (const { from, to } of linksOf(link)) {
    cluster.node(from).node.reportSnapshot({ to: idOf(to), outcome, index: Number(index) });
  }
}

function tickIfUp(cluster: ScriptCluster, id: number): void {
  if (cluster.isUp(id)) cluster.node(id).node.tick();
}

function sayResult(cluster: ScriptCluster, result: object): void {
  if ('refusal' in result) cluster.say(`refused: ${String(result.refusal)}`);
}

function changeOf([, kind = '', id = '']: string[]): MembershipChange {
  if (kind === 'addLearner') return { kind, id: idOf(id), address: '' };
  assert(kind === 'promote' || kind === 'demote' || kind === 'remove', () => `change ${kind}`);
  return { kind, id: idOf(id) };
}

/** `1->2` is one link, `1-2` both directions. */
function linksOf(text: string): Link[] {
  const [from = '', to = ''] = text.split(/->|-/);
  const link = { from: idOf(from), to: idOf(to) };
  return text.includes('->') ? [link] : [link, { from: link.to, to: link.from }];
}

function idsOf(text: string): NodeId[] {
  return text === '' ? [] : text.split(',').map(idOf);
}

function idOf(text: string | number): NodeId {
  return toNodeId(Number(text));
}

function bytesOf(text: string): Uint8Array {
  return Uint8Array.from(text, (character) => character.charCodeAt(0));
}

function repeat(count: number, action: () => void): void {
  for (let i = 0; i < count; i++) action();
}
