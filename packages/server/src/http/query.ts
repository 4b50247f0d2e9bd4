// Query strings, decoded strictly: a value that is not valid percent-encoded UTF-8 is refused, not
// guessed at.

import { BrokerError } from '@queen-ts/protocol';

const PLUS = /\+/g;

/**
 * Returns the parameters of a query string without its question mark. Of a repeated one the first
 * counts. Throws `bad_request`.
 */
export function parseQuery(text: string): ReadonlyMap<string, string> {
  const parameters = new Map<string, string>();
  if (text === '') return parameters;
  for (const pair of text.split('&')) {
    const equals = pair.indexOf('=');
    const name = decode(equals < 0 ? pair : pair.slice(0, equals));
    if (name === '' || parameters.has(name)) continue;
    parameters.set(name, equals < 0 ? '' : decode(pair.slice(equals + 1)));
  }
  return parameters;
}

function decode(text: string): string {
  const spaced = text.includes('+') ? text.replace(PLUS, ' ') : text;
  if (!spaced.includes('%')) return spaced;
  try {
    return decodeURIComponent(spaced);
  } catch (cause) {
    throw new BrokerError('bad_request', 'the query is not valid percent-encoded UTF-8', { cause });
  }
}
