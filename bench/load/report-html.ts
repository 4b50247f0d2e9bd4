// The result of a run as one HTML file that needs no network: the plots come with their library.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { formatResult } from './report-text.ts';
import type { LoadResult } from './result.ts';

const require = createRequire(import.meta.url);

const STYLE = `
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 62rem; padding: 0 1rem; }
pre { overflow-x: auto; padding: 1rem; border: 1px solid #8884; border-radius: 6px; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
.plot { background: #fff; color: #000; border-radius: 6px; padding: .5rem; }`;

const DRAW = `
const data = JSON.parse(document.getElementById('data').textContent);
const seconds = data.timeline.map((it) => it.at);
const colors = ['#2563eb', '#059669', '#d97706', '#dc2626'];
function plot(id, title, unit, series) {
  const target = document.getElementById(id);
  const options = {
    title, width: target.clientWidth - 16, height: 260,
    scales: { x: { time: false } },
    axes: [{ label: 'seconds' }, { label: unit, size: 70 }],
    series: [{ label: 's' }, ...series.map(([label], i) => ({ label, stroke: colors[i], width: 1.5 }))],
  };
  new uPlot(options, [seconds, ...series.map(([, values]) => values)], target);
}
const of = (read) => data.timeline.map(read);
plot('rates', 'Messages a second', 'msg/s', [
  ['pushed', of((it) => it.pushed)], ['popped', of((it) => it.popped)], ['acked', of((it) => it.acked)],
]);
for (const operation of ['push', 'pop', 'ack', 'endToEnd']) {
  plot(operation, operation, 'ms', ['p50', 'p99', 'max'].map((p) => {
    return [p, of((it) => it.latencies[operation][p])];
  }));
}`;

/** The whole file. */
export function htmlReport(result: LoadResult): string {
  const library = readFileSync(require.resolve('uplot/dist/uPlot.iife.min.js'), 'utf8');
  const libraryStyle = readFileSync(require.resolve('uplot/dist/uPlot.min.css'), 'utf8');
  const data = JSON.stringify(result).replaceAll('<', String.raw`\u003c`);
  const plots = ['rates', 'push', 'pop', 'ack', 'endToEnd'];
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Queen TS load, ${result.startedAt}</title>
<style>${libraryStyle}${STYLE}</style>
<h1>Queen TS load, ${result.startedAt}</h1>
<pre>${escape(formatResult(result).trim())}</pre>
${plots.map((id) => `<div class="plot" id="${id}"></div>`).join('<br>\n')}
<h2>Options</h2>
<pre>${escape(JSON.stringify(result.options, undefined, 2))}</pre>
<script type="application/json" id="data">${data}</script>
<script>${library}</script>
<script>${DRAW}</script>
</html>
`;
}

function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}
