// The tables that a chaos run prints.

import type { ChaosReport } from './run.ts';

const NAME_WIDTH = 24;
const NUMBER_WIDTH = 9;

/** Faults, then verdicts with what is wrong. */
export function formatReport({ faults, verdicts }: ChaosReport): string {
  const lines = [row('fault', 'tried', 'happened')];
  for (const { name, tried, happened } of faults) lines.push(row(name, tried, happened));
  lines.push('', row('checker', 'facts', 'verdict'));
  for (const { checker, checked, status, details } of verdicts) {
    lines.push(row(checker, checked, status), ...details.map((detail) => `    ${detail}`));
  }
  return lines.join('\n');
}

function row(name: string, ...values: readonly (string | number)[]): string {
  return (
    name.padEnd(NAME_WIDTH) + values.map((value) => String(value).padStart(NUMBER_WIDTH)).join('')
  );
}
