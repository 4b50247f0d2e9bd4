// Request targets: a path of the document with its parameters, and a query, right and wrong.

import type { Random } from '../random.ts';
import type { Schema } from './body-text.ts';
import { fieldText, segment } from './names.ts';

const ODD_VALUES = [
  '',
  'true',
  'True',
  '1',
  '0',
  '-1',
  '+5',
  '1.5',
  '1e3',
  '2147483648',
  '-2147483649',
  '99999999999999999999',
  '%31',
  '%',
  '%zz',
  '%FF',
  '%00',
  'null',
  '[]',
  'x'.repeat(3000),
];

const ODD_QUERIES = [
  '?',
  '??',
  '?&&&',
  '?=',
  '?=x',
  '?%',
  '?a=%E9',
  '?a&a&a',
  '?limit',
  '?#x',
  '#x',
];

/** A target; one character a byte, without blanks. */
export function targetText(
  path: string,
  query: readonly { readonly name: string; readonly schema: Schema }[],
  random: Random,
): string {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, parameter: string) =>
    segment(random, parameter),
  );
  return (random.chance(4) ? bent(filled, random) : filled) + queryText(query, random);
}

/** A path that is nearly one. */
function bent(path: string, random: Random): string {
  switch (random.below(7)) {
    case 0:
      return `${path}/`;
    case 1:
      return path.replace('/api', '//api');
    case 2:
      return path.replace('/v1/', '/v1/./');
    case 3:
      return path.toUpperCase();
    case 4:
      return `${path}/${segment(random, 'queue')}`;
    case 5:
      return `/api/v1/../v1${path.slice('/api/v1'.length)}`;
    default:
      return path.replace('v1', '%76%31');
  }
}

function queryText(
  query: readonly { readonly name: string; readonly schema: Schema }[],
  random: Random,
): string {
  if (random.chance(3)) return random.pick(ODD_QUERIES);
  const pairs = query
    .filter(() => random.chance(35))
    .map(({ name, schema }) => `${name}=${valueText(name, schema, random)}`);
  if (random.chance(3)) pairs.push(`unknown=${random.pick(ODD_VALUES)}`);
  if (pairs.length > 0 && random.chance(3)) pairs.unshift(random.pick(pairs));
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`;
}

function valueText(name: string, { type }: Schema, random: Random): string {
  if (random.chance(10)) return random.pick(ODD_VALUES);
  if (type === 'boolean') return String(random.chance(50));
  if (type === 'integer') return String(random.between(0, 500));
  const text = JSON.parse(`"${fieldText(random, name)}"`) as string;
  return encodeURIComponent(text.toWellFormed());
}
