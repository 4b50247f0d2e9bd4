// The files under deploy: that they parse, agree with each other, and name only what the server knows.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';

const ROOT = join(import.meta.dirname, '..');
const DEPLOY = join(ROOT, 'deploy');
const SETTING = /\b(?:QUEEN_[A-Z_]+|PORT|LOG_LEVEL|JWT_[A-Z_]+)\b/g;

function read(...path: string[]): string {
  return readFileSync(join(DEPLOY, ...path), 'utf8');
}

interface Compose {
  readonly services: Readonly<
    Record<
      string,
      {
        readonly environment: Readonly<Record<string, string>>;
        readonly ports: readonly string[];
        readonly volumes: readonly string[];
        readonly read_only: boolean;
      }
    >
  >;
  readonly volumes: Readonly<Record<string, null>>;
}

interface Resource {
  readonly kind: string;
  readonly metadata: { readonly name: string };
}

interface Container {
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
  readonly env: readonly { readonly name: string; readonly value?: string }[];
}

interface StatefulSet extends Resource {
  readonly spec: {
    readonly serviceName: string;
    readonly replicas: number;
    readonly podManagementPolicy: string;
    readonly template: { readonly spec: { readonly containers: readonly [Container] } };
  };
}

const compose = parse(read('compose', 'compose.yaml'), { merge: true }) as Compose;
const manifests = readdirSync(join(DEPLOY, 'kubernetes'))
  .filter((name) => name.endsWith('.yaml'))
  .flatMap((name) =>
    parseAllDocuments(read('kubernetes', name)).map((it) => it.toJS() as Resource),
  );
const statefulSet = manifests.find(({ kind }) => kind === 'StatefulSet') as StatefulSet;
const chart = readdirSync(join(DEPLOY, 'helm/queen-ts/templates')).map((name) => {
  return { name, text: read('helm/queen-ts/templates', name) };
});

/** `id=raft_host:port/http_host:port,…` taken apart. */
function peersOf(text: string) {
  return text.split(',').map((peer) => {
    const match = /^(\d+)=([^:]+):(\d+)\/([^:]+):(\d+)$/.exec(peer);
    if (match === null) throw new Error(`not a peer: ${peer}`);
    const [, id, raftHost, raftPort, httpHost, httpPort] = match;
    return { id, raftHost, raftPort, httpHost, httpPort };
  });
}

function settingOf(name: string): string {
  const [container] = statefulSet.spec.template.spec.containers;
  return container.env.find((entry) => entry.name === name)?.value ?? '';
}

describe('compose', () => {
  it('runs each peer that its nodes are told of, with data of its own', () => {
    const nodes = Object.entries(compose.services);
    expect(nodes.map(([name]) => name)).toEqual(['queen-1', 'queen-2', 'queen-3']);
    for (const [name, { environment, volumes, ports, ...service }] of nodes) {
      const id = environment['QUEEN_RAFT_NODE_ID'];
      const self = peersOf(environment['QUEEN_RAFT_PEERS'] ?? '').find((peer) => peer.id === id);
      expect(self).toMatchObject({ raftHost: name, httpHost: name });
      expect(environment['QUEEN_RAFT_LISTEN']).toBe(`0.0.0.0:${self?.raftPort}`);
      expect(ports).toEqual([expect.stringMatching(`:${self?.httpPort}$`)]);
      expect(volumes).toEqual([`${name}:/data`]);
      expect(service.read_only).toBe(true);
    }
    expect(Object.keys(compose.volumes)).toEqual(nodes.map(([name]) => name));
  });

  it('does not start without the shared secret', () => {
    expect(read('compose', 'compose.yaml')).toMatch(/QUEEN_RAFT_TOKEN: \$\{QUEEN_RAFT_TOKEN:\?/);
    expect(read('compose', 'env.example')).toMatch(/^QUEEN_RAFT_TOKEN=$/m);
  });
});

describe('kubernetes', () => {
  it('founds the cluster from the pods that the StatefulSet makes', () => {
    const { replicas, serviceName, podManagementPolicy } = statefulSet.spec;
    expect(podManagementPolicy).toBe('Parallel');
    const peers = peersOf(settingOf('QUEEN_RAFT_PEERS'));
    expect(peers).toHaveLength(replicas);
    peers.forEach((peer, ordinal) => {
      const host = `${statefulSet.metadata.name}-${ordinal}.${serviceName}`;
      expect(peer).toMatchObject({ id: String(ordinal + 1), raftHost: host, httpHost: host });
    });
    expect(settingOf('QUEEN_RAFT_NODE_ID')).toBe('ordinal');
    expect(manifests.map(({ metadata }) => metadata?.name)).toContain(serviceName);
  });

  it('names the ports that members listen on', () => {
    const [container] = statefulSet.spec.template.spec.containers;
    const ports = new Map(container.ports.map((port) => [port.name, port.containerPort]));
    const [peer] = peersOf(settingOf('QUEEN_RAFT_PEERS'));
    expect(String(ports.get('raft'))).toBe(peer?.raftPort);
    expect(String(ports.get('http'))).toBe(peer?.httpPort);
    expect(settingOf('QUEEN_RAFT_LISTEN')).toBe(`0.0.0.0:${peer?.raftPort}`);
  });

  it('lists every file in the kustomization', () => {
    const { resources } = parse(read('kubernetes', 'kustomization.yaml')) as {
      resources: string[];
    };
    const files = readdirSync(join(DEPLOY, 'kubernetes'));
    expect(files.filter((name) => name !== 'kustomization.yaml')).toEqual(resources.toSorted());
  });
});

describe('the chart', () => {
  it('has a default and a schema for each value that its templates use', () => {
    const used = new Set(
      chart.flatMap(({ text }) =>
        [...text.matchAll(/\.Values\.([A-Za-z.]+)/g)].map(([, path]) => path ?? ''),
      ),
    );
    const values = parse(read('helm/queen-ts/values.yaml')) as Record<string, unknown>;
    const schema = JSON.parse(read('helm/queen-ts/values.schema.json')) as Schema;
    expect(used.size).toBeGreaterThan(10);
    for (const path of used) {
      const [top = '', inner] = path.split('.');
      expect(values).toHaveProperty(path);
      const property = schema.properties?.[top];
      expect(property, path).toBeDefined();
      if (inner !== undefined) expect(property?.properties, path).toHaveProperty(inner);
    }
    expect(Object.keys(values).toSorted()).toEqual(
      Object.keys(schema.properties ?? {})
        .filter((name) => name !== 'global')
        .toSorted(),
    );
  });

  it('probes, secures and mounts like the kustomize base', () => {
    const template = chart.find(({ name }) => name === 'statefulset.yaml')?.text ?? '';
    const base = read('kubernetes', 'statefulset.yaml');
    const from = (text: string, start: string, end: string): string => {
      return text.slice(text.indexOf(start), text.indexOf(end));
    };
    const probes = from(base, '          # Loading', '          resources:');
    expect(probes).toContain('readinessProbe');
    expect(template).toContain(probes);
    const security = from(base, '          securityContext:', '  volumeClaimTemplates:');
    expect(template).toContain(security);
  });
});

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
}

it('every setting is one that the server documents', () => {
  const documented = readFileSync(join(ROOT, 'docs/operating/configuration.md'), 'utf8');
  const texts = [
    read('compose', 'compose.yaml'),
    read('docker', 'Dockerfile'),
    read('kubernetes', 'statefulset.yaml'),
    ...chart.map(({ text }) => text),
  ];
  const settings = new Set(texts.flatMap((text) => text.match(SETTING) ?? []));
  expect(settings.size).toBeGreaterThan(5);
  for (const setting of settings) expect(documented, setting).toContain(`\`${setting}\``);
});
