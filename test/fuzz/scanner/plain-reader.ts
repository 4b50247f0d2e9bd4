// A second opinion on what a valid JSON document says, read token by token. The JSON.parse of Node 24 reads
// names by what it remembers of other objects, and is wrong where escapes are involved: once it has seen
// a member named by one backslash, it takes `{"a":0,"\n":1}` for an object with such a member too.

const TOKEN = /[\t\n\r ]*("(?:[^"\\]|\\.)*"|[^\t\n\r ,:[\]{}"]+|[,:[\]{}])/y;

/** Reads a text that JSON.parse accepts. */
export function readPlainly(text: string): unknown {
  const tokens = new RegExp(TOKEN);
  const next = (): string => tokens.exec(text)?.[1] ?? '';
  return readValue(next(), next);
}

function readValue(token: string, next: () => string): unknown {
  if (token === '[') return readArray(next);
  if (token === '{') return readObject(next);
  // Of a single string or number, JSON.parse remembers nothing.
  return JSON.parse(token);
}

function readArray(next: () => string): unknown[] {
  const elements: unknown[] = [];
  for (let token = next(); token !== ']'; token = next()) {
    if (token !== ',') elements.push(readValue(token, next));
  }
  return elements;
}

function readObject(next: () => string): object {
  const members = new Map<string, unknown>();
  for (let token = next(); token !== '}'; token = next()) {
    if (token === ',') continue;
    const name = JSON.parse(token) as string;
    next();
    members.set(name, readValue(next(), next));
  }
  return Object.fromEntries(members);
}
