// The table at the end of a run: how much of each section is checked and holds, then by name what
// is not.

import type { SectionFindings, Verdict } from './run-suite.ts';

const COLUMNS: readonly (readonly [string, readonly Verdict[]])[] = [
  ['rules', ['holds', 'broken', 'known', 'mended', 'unchecked']],
  ['covered', ['holds', 'broken', 'known', 'mended']],
  ['hold', ['holds', 'mended']],
  ['broken', ['broken']],
  ['failing-known', ['known']],
  ['not covered', ['unchecked']],
];

/** Renders the table as plain text. */
export function coverageTable(sections: readonly SectionFindings[]): string {
  const all = { title: 'total', findings: sections.flatMap(({ findings }) => findings) };
  const rows = [...sections, all].map(({ title, findings }) => [
    title,
    ...COLUMNS.map(([, verdicts]) =>
      String(findings.filter(({ verdict }) => verdicts.includes(verdict)).length),
    ),
  ]);
  const table = [['section', ...COLUMNS.map(([name]) => name)], ...rows];
  return [...aligned(table), ...listed(all, 'known'), ...listed(all, 'unchecked')].join('\n');
}

function aligned(table: readonly (readonly string[])[]): string[] {
  const widths = table[0]?.map((_, column) =>
    Math.max(...table.map((row) => row[column]?.length ?? 0)),
  );
  return table.map((row) =>
    row
      .map((cell, column) => {
        const width = widths?.[column] ?? 0;
        return column === 0 ? cell.padEnd(width) : cell.padStart(width);
      })
      .join('  '),
  );
}

function listed({ findings }: SectionFindings, wanted: 'known' | 'unchecked'): string[] {
  const rules = findings.filter(({ verdict }) => verdict === wanted).map(({ rule }) => rule);
  if (rules.length === 0) return [];
  const head = wanted === 'known' ? 'Failing, as known:' : 'Not covered:';
  return ['', head, ...rules.map(({ sentence, reason }) => `  ${sentence} (${reason})`)];
}
