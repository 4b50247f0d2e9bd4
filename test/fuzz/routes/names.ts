// Names that requests use. Most come from small pools, so that requests meet each other's queues,
// partitions and messages, and the state of the broker stays bounded.

import { partitionIdText } from '@queen-ts/protocol';
import type { Random } from '../random.ts';

const QUEUES = 24;
const PARTITIONS = 40;
const GROUPS = 8;
const TRANSACTIONS = 400;
const PARTITION_NUMBERS = 200;

/** Texts that are hard on whoever reads them, as JSON text without quotes. */
const ODD_TEXTS = [
  '',
  ' ',
  '\\u0000',
  '\\ud800',
  '\\udc00\\ud800',
  '\\ud83d\\ude00',
  '\\u0041\\/\\"\\\\',
  'ä€😀',
  '__proto__',
  'constructor',
  '__QUEUE_MODE__',
  'Default',
  'a/b?c#d%e',
  '../..',
  '2026-10-02T09:14:03.512Z',
  '2026-13-45T99:99:99Z',
  '+275760-09-13T00:00:00.001Z',
  '-000001-01-01T00:00:00Z',
  '0001-01-01T00:00:00Z',
  'now',
  'NaN',
  'completed',
  'failed',
  'retry',
  'dlq',
];

/** Path segments that are hard on whoever decodes them. */
const ODD_SEGMENTS = [
  '%',
  '%zz',
  '%E9',
  '%C0%AF',
  '%ED%A0%80',
  '%00',
  '%2F',
  '%2f..%2f',
  '%2e%2e',
  '.',
  '..',
  '%25',
  '%2525',
  '%F0%9F%98%80',
  'a%0d%0aX:%20y',
  ';a=b',
  'a:b',
  ':queue',
  '*',
  '{queue}',
  '%3F',
  '%23',
  '+',
  '',
  '\u00e4\u00ff',
  'lagging',
  'positions',
  'a'.repeat(412),
  `${'%C3%A9'.repeat(206)}`,
];

/** A name for a field or a path parameter, as JSON text without quotes. */
export function fieldText(random: Random, field: string): string {
  if (random.chance(4)) return oddText(random);
  switch (field) {
    case 'queue':
      return `${random.pick(['fz', 'fz.mail', 'fz.mail.eu'])}-${random.below(QUEUES)}`;
    case 'partition':
      return `p${random.below(PARTITIONS)}`;
    case 'group':
    case 'consumerGroup':
      return `g${random.below(GROUPS)}`;
    case 'partitionId':
      return partitionId(random);
    case 'transactionId':
      return `t${random.below(TRANSACTIONS)}`;
    case 'leaseId':
    case 'id':
    case 'traceId':
      return uuid(random);
    case 'status':
      return random.pick(['completed', 'failed', 'retry', 'dlq', 'success', 'what']);
    case 'timestamp':
    case 'subscriptionTimestamp':
    case 'since':
    case 'subscriptionFrom':
    case 'from':
    case 'to':
      return timestamp(random);
    case 'raft':
    case 'http':
      // Nobody listens there: nothing ever leaves the machine.
      return `127.0.0.1:${random.between(1, 9)}`;
    case 'after':
      return random.pick(['', 'p1.0', 'p1.zz', 'p1.zzzzzzz', 'p2.1', 'x']);
    case 'namespace':
      return random.pick(['fz', 'fz-1', '']);
    case 'task':
      return random.pick(['mail', 'mail-1', '']);
    default:
      return random.pick(['', 'x', 'some text', 'ä€😀']);
  }
}

/** A text that is hard to read, as JSON text without quotes. */
export function oddText(random: Random): string {
  if (random.chance(3)) return 'x'.repeat(random.pick([411, 412, 5000, 65_535, 65_536]));
  return random.pick(ODD_TEXTS);
}

/** A segment of a path, percent-encoded or not at all as it should be. */
export function segment(random: Random, parameter: string): string {
  if (random.chance(8)) return random.pick(ODD_SEGMENTS);
  const text = JSON.parse(`"${fieldText(random, parameter)}"`) as string;
  return encodeURIComponent(text.toWellFormed());
}

function partitionId(random: Random): string {
  const number = random.between(1, PARTITION_NUMBERS);
  return random.pick([String(number), partitionIdText(number), uuid(random)]);
}

function uuid(random: Random): string {
  const digits = (count: number): string =>
    Array.from({ length: count }, () => random.below(16).toString(16)).join('');
  return `${digits(8)}-${digits(4)}-7${digits(3)}-8${digits(3)}-${digits(12)}`;
}

function timestamp(random: Random): string {
  const two = (max: number): string => String(random.between(0, max)).padStart(2, '0');
  const day = `${random.pick([1970, 2025, 2026, 2027, 9999])}-${two(13)}-${two(31)}`;
  return `${day}T${two(24)}:${two(60)}:${two(60)}${random.pick(['Z', '.5Z', '.123456Z', '+02:00', ''])}`;
}
