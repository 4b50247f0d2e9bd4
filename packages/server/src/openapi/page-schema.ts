// JSON Schemas as people read them: indented text that looks like the JSON it describes.

import type { JsonSchema } from './components.ts';

const REF_PREFIX = '#/components/schemas/';

/** Deepest nesting that is shown; deeper ones are named by their type only. */
const DEPTH_MAX = 8;

/** Writes a schema as text; what it refers to is written out. */
export function schemaText(
  schema: JsonSchema,
  components: Readonly<Record<string, JsonSchema>>,
): string {
  return new SchemaWriter(components).write(schema, 0);
}

class SchemaWriter {
  readonly #components: Readonly<Record<string, JsonSchema>>;

  constructor(components: Readonly<Record<string, JsonSchema>>) {
    this.#components = components;
  }

  write(schema: JsonSchema, depth: number): string {
    const { $ref: ref, anyOf, properties, items, prefixItems } = schema;
    if (typeof ref === 'string') return this.write(this.#find(ref), depth);
    if (Array.isArray(anyOf)) return this.#union(anyOf as JsonSchema[], depth);
    if (depth > DEPTH_MAX) return typeText(schema);
    if (isSchema(properties)) return this.#object(schema, properties, depth);
    if (isSchema(items)) return `[ ${this.write(items, depth)}, … ]`;
    if (Array.isArray(prefixItems) && prefixItems.length === 0) return '[]';
    const { additionalProperties: values } = schema;
    if (isSchema(values) && Object.keys(values).length > 0) {
      const pad = '  '.repeat(depth + 1);
      return `{\n${pad}"…": ${this.write(values, depth + 1)}\n${'  '.repeat(depth)}}`;
    }
    return typeText(schema);
  }

  #union(parts: readonly JsonSchema[], depth: number): string {
    const isNullable = parts.some(({ type }) => type === 'null');
    const others = parts.filter(({ type }) => type !== 'null');
    const texts = others.map((part) => this.write(part, depth));
    return [...texts, ...(isNullable ? ['null'] : [])].join(' | ');
  }

  #object(schema: JsonSchema, properties: JsonSchema, depth: number): string {
    const required = new Set(
      Array.isArray(schema['required']) ? (schema['required'] as string[]) : [],
    );
    const pad = '  '.repeat(depth + 1);
    const lines = Object.entries(properties).map(([name, member]) => {
      const value = member as JsonSchema;
      const mark = required.has(name) ? '' : '?';
      const { description } = value;
      const note = typeof description === 'string' ? `${pad}// ${description}\n` : '';
      return `${note}${pad}"${name}"${mark}: ${this.write(value, depth + 1)}`;
    });
    return `{\n${lines.join(',\n')}\n${'  '.repeat(depth)}}`;
  }

  #find(ref: string): JsonSchema {
    const schema = this.#components[ref.slice(REF_PREFIX.length)];
    if (schema === undefined) throw new Error(`the document refers to ${ref}, which it has not`);
    return schema;
  }
}

/** A value without members, in a few words. */
export function typeText(schema: JsonSchema): string {
  const { type, enum: values, format, minimum, maximum } = schema;
  if ('const' in schema) return JSON.stringify(schema['const']);
  if (Array.isArray(values)) return values.map((value) => JSON.stringify(value)).join(' | ');
  if (typeof type !== 'string' && !Array.isArray(type)) return 'any';
  const name = typeof type === 'string' ? type : type.join(' | ');
  if (typeof format === 'string') return `${name} (${format})`;
  if (name !== 'integer' && name !== 'number') return name;
  const from = isShown(minimum) ? String(minimum) : '';
  const to = isShown(maximum) ? String(maximum) : '';
  return from === '' && to === '' ? name : `${name} (${from}…${to})`;
}

/** The bounds of what a number can say are no news. */
function isShown(bound: unknown): bound is number {
  return typeof bound === 'number' && Math.abs(bound) < Number.MAX_SAFE_INTEGER;
}

function isSchema(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
