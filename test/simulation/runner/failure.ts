// How a failing seed is shown: the property, the last events, the command that replays it.

import type { WorkerReport } from './worker.ts';

/** Lines of the trace that are shown. */
const LINES_SHOWN = 80;

/** A failure as text, without a line break at its end. */
export function describeFailure({ task, result, isReproduced }: WorkerReport): string {
  const { violation, trace } = result;
  const mutant = task.mutant === undefined ? '' : ` --mutant ${task.mutant}`;
  return [
    `seed ${task.seed} violates: ${violation?.property ?? 'nothing'}`,
    `  ${violation?.message ?? ''}`,
    'last events:',
    ...trace.slice(-LINES_SHOWN).map((line) => `  ${line}`),
    `replay:  npm run sim -- --seed ${task.seed}${mutant}`,
    ...(isReproduced ? [] : ['NOT REPRODUCED: a second run of the seed had another history']),
  ].join('\n');
}
