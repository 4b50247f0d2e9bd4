// The one failure of configuration: a variable that the operator must change before the node starts.

const VALUE_LENGTH_MAX = 100;

/** A setting that stops the start. The message is one line for the operator. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

/** Builds the error for a value that is not among what `name` allows. */
export function badValue(name: string, value: string, allowed: string): ConfigError {
  const shown = value.length > VALUE_LENGTH_MAX ? `${value.slice(0, VALUE_LENGTH_MAX)}…` : value;
  return new ConfigError(`${name}=${JSON.stringify(shown)} is not valid: use ${allowed}`);
}
