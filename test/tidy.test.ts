// The rules of the code base that no linter checks: file heads, names, doors of packages, package
// dependencies, links in documents. It walks the checkout and reads text files only.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { describe, expect, it } from 'vitest';

const ROOT = dirname(import.meta.dirname);
const SKIPPED_FOLDERS = new Set(['.git', '.turbo', 'data', 'dist', 'node_modules']);
const TEXT_FILE = /(\.(ts|mjs|js|json|md|ya?ml|sh|txt|toml|html|css)|\.ci\/run|Dockerfile[^/]*)$/;
const HEAD_LINES_MAX = 5;

/** What each package may name in its package.json; the transitive closure is turbo's business. */
const DIRECT_DEPENDENCIES: Readonly<Record<string, readonly string[]>> = {
  base: [],
  raft: ['base'],
  protocol: ['base'],
  engine: ['protocol', 'base'],
  ephemeral: ['protocol', 'base'],
  storage: ['raft', 'base'],
  cluster: ['raft', 'engine', 'ephemeral', 'protocol', 'base'],
  server: ['cluster', 'storage', 'engine', 'protocol', 'base'],
};

interface Manifest {
  dependencies?: Record<string, string>;
  devDependencies?: Record<string, string>;
}

const files = textFilesBelow(ROOT).map((path) => relative(ROOT, path));
const code = files.filter((file) => /^(packages\/[^/]+\/src|test|bench|scripts)\//.test(file));
const packages = readdirSync(join(ROOT, 'packages'));

describe('every source file', () => {
  it('starts with a comment of one to five lines that says what it owns', () => {
    const isPlaceholder = (file: string): boolean => read(file).trim() === 'export {};';
    // A test beside the file it tests is about that file; a head would only repeat its name.
    const isBesideItsSubject = (file: string): boolean =>
      file.endsWith('.test.ts') && code.includes(file.replace(/\.test\.ts$/, '.ts'));
    const sources = code.filter(
      (file) => /\.(ts|mjs)$/.test(file) && !isPlaceholder(file) && !isBesideItsSubject(file),
    );
    expect(sources.filter((file) => !hasHead(read(file)))).toEqual([]);
  });

  it('has a name that says what is in it', () => {
    const vague = /(^|-)(utils?|helpers?|common|misc)(\.|$)/;
    expect(code.filter((file) => file.split('/').some((part) => vague.test(part)))).toEqual([]);
  });

  it('gives every to-do an issue number', () => {
    const open = /\b(TODO|FIXME|XXX)\b(?!\(#\d+\))/;
    const own = relative(ROOT, import.meta.filename);
    expect(code.filter((file) => file !== own && open.test(read(file)))).toEqual([]);
  });
});

describe('every package', () => {
  it('has a door with named exports only', () => {
    const doors = code.filter((file) =>
      /^packages\/[^/]+\/src\/(index|testing|testing\/index)\.ts$/.test(file),
    );
    expect(doors.filter((file) => /^export (\*|default)/m.test(read(file)))).toEqual([]);
  });

  it('exports nothing by default', () => {
    const sources = code.filter((file) => file.startsWith('packages/'));
    const byDefault = /^export (default\b|\{[^}]*\bas default\b)/m;
    expect(sources.filter((file) => byDefault.test(read(file)))).toEqual([]);
  });

  it('has a README once it has more than a door', () => {
    const grown = packages.filter((name) => {
      const prefix = `packages/${name}/src/`;
      return code.some((file) => file.startsWith(prefix) && file !== `${prefix}index.ts`);
    });
    const hasReadme = (name: string): boolean =>
      existsSync(join(ROOT, 'packages', name, 'README.md'));
    expect(grown.filter((name) => !hasReadme(name))).toEqual([]);
  });

  it('names only the packages that the layout allows among its dependencies', () => {
    const wrong = packages.flatMap((name) => {
      const manifest = JSON.parse(read(`packages/${name}/package.json`)) as Manifest;
      return Object.keys({ ...manifest.dependencies, ...manifest.devDependencies })
        .filter((dependency) => dependency.startsWith('@queen-ts/'))
        .map((dependency) => dependency.slice('@queen-ts/'.length))
        .filter((dependency) => DIRECT_DEPENDENCIES[name]?.includes(dependency) !== true)
        .map((dependency) => `${name} -> ${dependency}`);
    });
    expect(wrong).toEqual([]);
  });

  it('has a tag of its own name, which the boundaries refer to', () => {
    const tags = packages.map((name) => JSON.parse(read(`packages/${name}/turbo.json`)) as object);
    expect(tags).toMatchObject(packages.map((name) => ({ tags: [name] })));
  });
});

describe('every document', () => {
  it('links only to files that exist', () => {
    const documents = files.filter((file) => file.endsWith('.md'));
    expect(documents.flatMap((file) => brokenLinks(file))).toEqual([]);
  });
});

describe('every text file', () => {
  it('names no absolute path of the machine it was written on', () => {
    const absolute = /(?<![\w.\-/}])\/(work|tmp|home|Users)\//;
    expect(files.filter((file) => absolute.test(read(file)))).toEqual([]);
  });
});

function textFilesBelow(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return SKIPPED_FOLDERS.has(entry.name) ? [] : textFilesBelow(path);
    return entry.isFile() && TEXT_FILE.test(path) ? [path] : [];
  });
}

function read(file: string): string {
  return readFileSync(join(ROOT, file), 'utf8');
}

/** The head's first paragraph counts: tables of a byte format may follow it. */
function hasHead(text: string): boolean {
  const lines = text.replace(/^#!.*\n/, '').split('\n');
  const end = lines.findIndex((line) => !/^(\/\/|\/\*| \*)\s*\S/.test(line));
  const sentences = lines.slice(0, end).filter((line) => /\w/.test(line));
  return sentences.length >= 1 && sentences.length <= HEAD_LINES_MAX;
}

function brokenLinks(file: string): string[] {
  const prose = read(file)
    .replace(/^```[\s\S]*?^```/gm, '')
    .replace(/`[^`\n]*`/g, '');
  const targets = [...prose.matchAll(/\]\(<?([^)\s>]+)>?[^)]*\)/g)].map((match) => match[1] ?? '');
  const references = [...prose.matchAll(/^\[[^\]]+\]:\s*(\S+)/gm)].map((match) => match[1] ?? '');
  return [...targets, ...references]
    .filter((target) => !/^([a-z]+:|#)/.test(target))
    .filter((target) => !existsSync(join(ROOT, dirname(file), target.replace(/[#?].*$/, ''))))
    .map((target) => `${file}: ${target}`);
}
