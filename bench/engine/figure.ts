// One row of the table that `npm run bench:engine` prints: a figure, the bar it has to clear, and
// whether it does.

/** The least or the most that a figure may be. */
export interface Bar {
  readonly kind: 'atLeast' | 'atMost';
  readonly value: number;
}

/** One measured figure. */
export interface Figure {
  readonly name: string;
  /** Undefined: shown for orientation, nothing to clear. */
  readonly bar: Bar | undefined;
  readonly measured: number;
  readonly unit: string;
  /** How it came about and what lies beside it. */
  readonly note: string;
}

/** Some figures that share their preparation; each runs in a process of its own. */
export interface Scenario {
  readonly name: string;
  /** Options of the process it runs in. */
  readonly nodeOptions?: readonly string[];
  readonly run: () => readonly Figure[];
}

/** Whether the figure clears its bar; undefined without one. */
export function passes({ bar, measured }: Figure): boolean | undefined {
  if (bar === undefined) return undefined;
  return bar.kind === 'atLeast' ? measured >= bar.value : measured <= bar.value;
}

/** The figures as lines of a table, notes below their row. */
export function tableText(figures: readonly Figure[]): string {
  const rows = figures.map((figure) => [
    figure.name,
    barText(figure),
    amount(figure.measured, figure.unit),
    verdict(figure),
  ]);
  const head = ['figure', 'bar', 'measured', 'pass'];
  const widths = head.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => row[column]!.length)),
  );
  const line = (row: readonly string[]): string =>
    row
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join('  ')
      .trimEnd();
  const rule = widths.map((width) => '-'.repeat(width)).join('  ');
  const body = rows.map((row, i) => `${line(row)}\n    ${figures[i]!.note}`);
  return [line(head), rule, ...body].join('\n');
}

function barText({ bar, unit }: Figure): string {
  if (bar === undefined) return '';
  return `${bar.kind === 'atLeast' ? '≥' : '≤'} ${amount(bar.value, unit)}`;
}

function verdict(figure: Figure): string {
  const isPass = passes(figure);
  return isPass === undefined ? '' : isPass ? 'yes' : 'NO';
}

/** A number with its unit, to three significant digits where it is small. */
export function amount(value: number, unit: string): string {
  const digits = Math.abs(value) >= 100 || Number.isInteger(value) ? 0 : value >= 10 ? 1 : 2;
  const text = value.toLocaleString('en-US', {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  });
  return unit === '' ? text : `${text} ${unit}`;
}
