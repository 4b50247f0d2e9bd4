// Bodies as text, derived from a schema of the document: mostly as described, with single values of the
// wrong kind now and then, and sometimes with damaged bytes.

import type { Random } from '../random.ts';
import { fieldText, oddText } from './names.ts';

/** A JSON Schema. */
export type Schema = Readonly<Record<string, unknown>>;

/** Schemas by name. */
export type Schemas = Readonly<Record<string, Schema>>;

const REF_PREFIX = '#/components/schemas/';
const DEPTH_MAX = 6;

/** Values of every kind, hostile ones among them, as JSON text. */
const ODD_VALUES = [
  'null',
  'true',
  'false',
  '0',
  '-0',
  '-1',
  '1.5',
  '1e2',
  '1e400',
  '-1e400',
  '1e-400',
  '2147483647',
  '2147483648',
  '-2147483649',
  '4294967296',
  '9007199254740991',
  '9007199254740993',
  '18446744073709551616',
  '1'.repeat(400),
  '""',
  '[]',
  '{}',
  '[[]]',
  '[null]',
  '{"":{"":[]}}',
  '{"__proto__":{"queue":"x"}}',
];

/** Characters that JSON text may not have where they are put. */
const STRAY = [
  '{',
  '}',
  '[',
  ']',
  '"',
  ',',
  ':',
  '\\',
  '\0',
  '\t',
  '\u007f',
  '\u00a0',
  '\u00ff',
  'e',
  '-',
];

/** A body for a schema; one character a byte. */
export function bodyText(schema: Schema, schemas: Schemas, random: Random): string {
  const oddPercent = random.weighted([
    [60, 0],
    [30, 6],
    [10, 40],
  ]);
  const text = new BodyWriter(schemas, random, oddPercent).write(schema, '', 0);
  const bytes = Buffer.from(text, 'utf8').toString('latin1');
  return random.chance(15) ? damaged(bytes, random) : bytes;
}

/** A payload. */
function payloadText(random: Random): string {
  if (random.chance(1)) return deep(random);
  if (random.chance(2)) return `"${'y'.repeat(random.between(1000, 40_000))}"`;
  return random.weighted([
    [6, `{"n":${random.below(1000)}, "s":"ä" }`],
    [2, random.pick(ODD_VALUES)],
    [2, `"${oddText(random)}"`],
  ]);
}

function deep(random: Random): string {
  const depth = random.pick([100, 19_990, 20_000, 30_000]);
  return random.chance(50)
    ? '['.repeat(depth) + ']'.repeat(depth)
    : '{"a":'.repeat(depth) + '0' + '}'.repeat(depth);
}

/** Changes, inserts, removes or cuts at one place. */
export function damaged(bytes: string, random: Random): string {
  const at = random.below(bytes.length + 1);
  const stray = random.chance(30) ? random.bytes(random.between(1, 4)) : random.pick(STRAY);
  switch (random.below(5)) {
    case 0:
      return bytes.slice(0, at);
    case 1:
      return bytes.slice(0, at) + bytes.slice(at + 1);
    case 2:
      return bytes.slice(0, at) + stray + bytes.slice(at);
    case 3:
      return bytes + stray;
    default:
      return bytes.slice(0, at) + stray + bytes.slice(at + 1);
  }
}

class BodyWriter {
  readonly #schemas: Schemas;
  readonly #random: Random;
  /** How often a value is not as described. */
  readonly #oddPercent: number;

  constructor(schemas: Schemas, random: Random, oddPercent: number) {
    this.#schemas = schemas;
    this.#random = random;
    this.#oddPercent = oddPercent;
  }

  write(schema: Schema, field: string, depth: number): string {
    const random = this.#random;
    if (random.chance(this.#oddPercent)) return this.#odd();
    const { $ref: ref, anyOf, enum: values, properties, items } = schema;
    if (typeof ref === 'string') {
      return this.write(this.#schemas[ref.slice(REF_PREFIX.length)] ?? {}, field, depth);
    }
    if (Array.isArray(anyOf)) return this.write(random.pick(anyOf as Schema[]), field, depth);
    if ('const' in schema) return JSON.stringify(schema['const']);
    if (Array.isArray(values)) return JSON.stringify(random.pick(values));
    if (depth > DEPTH_MAX) return 'null';
    if (properties !== undefined) return this.#object(schema, properties as Schemas, depth);
    if (items !== undefined) return this.#array(items as Schema, field, depth);
    return this.#scalar(schema, field);
  }

  #odd(): string {
    const random = this.#random;
    if (random.chance(2)) return deep(random);
    return random.chance(30) ? `"${oddText(random)}"` : random.pick(ODD_VALUES);
  }

  #object(schema: Schema, properties: Schemas, depth: number): string {
    const random = this.#random;
    const required = new Set((schema['required'] ?? []) as string[]);
    const names = Object.keys(properties).filter(
      (name) => random.chance(required.has(name) ? 99 : 30) && !random.chance(this.#oddPercent / 2),
    );
    const members = names.map(
      (name) => `"${this.#spelled(name)}":${this.write(properties[name] ?? {}, name, depth + 1)}`,
    );
    // Repeated members: the last one counts.
    if (members.length > 0 && random.chance(2)) members.push(random.pick(members));
    if (random.chance(2)) members.push(`"unknown":${random.pick(ODD_VALUES)}`);
    return `{${members.join(random.chance(10) ? ' ,\n' : ',')}}`;
  }

  /** A name, sometimes with its first letter escaped. */
  #spelled(name: string): string {
    if (!this.#random.chance(3)) return name;
    return `\\u${name.charCodeAt(0).toString(16).padStart(4, '0')}${name.slice(1)}`;
  }

  #array(items: Schema, field: string, depth: number): string {
    const random = this.#random;
    const count = random.chance(1) ? random.between(200, 1100) : random.below(6);
    return `[${Array.from({ length: count }, () => this.write(items, field, depth + 1)).join(',')}]`;
  }

  #scalar({ type, minimum, maximum }: Schema, field: string): string {
    const random = this.#random;
    const kind = Array.isArray(type) ? (random.pick(type) as string) : type;
    if (kind === 'string') return `"${fieldText(random, field)}"`;
    // Most of the time the cluster is not paused.
    if (kind === 'boolean') return String(random.chance(field === 'enabled' ? 15 : 50));
    if (kind === 'null') return 'null';
    if (kind === 'integer' || kind === 'number') {
      const small = random.below(300);
      const bounds = [minimum, maximum].filter((bound) => typeof bound === 'number');
      return String(random.chance(10) && bounds.length > 0 ? random.pick(bounds) : small);
    }
    return payloadText(random);
  }
}
