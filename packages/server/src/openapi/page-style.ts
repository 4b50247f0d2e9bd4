// How the page of the interface looks: light or dark as the reader's system says.

/** The style sheet. */
export const PAGE_STYLE = `
:root { color-scheme: light dark; --line: #d5d9e0; --soft: #f4f6f9; --text: #1b1f27; --dim: #5c6573;
  --link: #2257c5; --get: #1f6fb2; --post: #1d7d46; --delete: #b3372f; }
@media (prefers-color-scheme: dark) { :root { --line: #353b47; --soft: #1e232c; --text: #e4e8ef;
  --dim: #98a2b3; --link: #82aaff; --get: #61afef; --post: #6cc28b; --delete: #ef8177; } }
* { box-sizing: border-box; }
body { margin: 0; font: 15px/1.5 system-ui, sans-serif; color: var(--text);
  background: light-dark(#fff, #14181f); display: grid; grid-template-columns: 19rem minmax(0, 1fr); }
nav { position: sticky; top: 0; height: 100vh; overflow-y: auto; padding: 1.2rem; font-size: 13px;
  border-right: 1px solid var(--line); background: var(--soft); }
nav h2 { margin: 1rem 0 .2rem; font-size: 12px; text-transform: uppercase; letter-spacing: .06em;
  color: var(--dim); }
nav a { display: block; color: inherit; text-decoration: none; padding: 1px 0; overflow-wrap: anywhere; }
nav a:hover { color: var(--link); }
main { padding: 1.5rem 2.5rem 6rem; max-width: 66rem; }
a { color: var(--link); }
h1 { margin: 0; font-size: 1.7rem; }
h2.section { margin: 3rem 0 0; padding-bottom: .3rem; border-bottom: 1px solid var(--line); }
article { margin: 1.6rem 0; padding: 1rem 1.2rem; border: 1px solid var(--line); border-radius: 8px; }
article h3 { margin: 0; font: 600 15px/1.4 ui-monospace, monospace; overflow-wrap: anywhere; }
article h4 { margin: 1.1rem 0 .3rem; font-size: 12px; text-transform: uppercase; letter-spacing: .06em;
  color: var(--dim); }
.verb { display: inline-block; min-width: 3.9em; text-transform: uppercase; }
.get { color: var(--get); } .post { color: var(--post); } .delete { color: var(--delete); }
table { width: 100%; border-collapse: collapse; font-size: 14px; }
td, th { padding: .3rem .7rem .3rem 0; text-align: left; vertical-align: top;
  border-top: 1px solid var(--line); }
td:first-child { white-space: nowrap; width: 1%; }
code, pre { font: 13px/1.45 ui-monospace, monospace; }
pre { margin: .4rem 0; padding: .7rem .9rem; overflow-x: auto; background: var(--soft);
  border-radius: 6px; }
details { margin: .35rem 0; } summary { cursor: pointer; }
.dim { color: var(--dim); }
.type { color: var(--dim); font-style: italic; }
@media (max-width: 60rem) { body { display: block; } nav { display: none; } main { padding: 1rem; } }
`.trim();
