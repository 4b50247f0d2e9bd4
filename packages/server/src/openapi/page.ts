// The page that shows the document: one file that loads nothing and runs nothing.

import { typeText, schemaText } from './page-schema.ts';
import { PAGE_STYLE } from './page-style.ts';
import type {
  ContentObject,
  MediaObject,
  OpenApiDocument,
  OperationObject,
  ResponseObject,
} from './document.ts';

const ENVELOPE = '#/components/schemas/Error';

interface Entry {
  readonly method: string;
  readonly path: string;
  readonly operation: OperationObject;
}

/** Renders the page. */
export function renderPage(document: OpenApiDocument): string {
  const entries = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]): Entry => ({ method, path, operation })),
  );
  const sections = document.tags.map(({ name }) => ({
    name,
    entries: entries.filter(({ operation }) => operation.tags.includes(name)),
  }));
  const { title, version, summary, description } = document.info;
  const nav = sections.map((section) => navSection(section.name, section.entries)).join('');
  const body = sections.map(
    ({ name, entries: own }) =>
      `<h2 class="section">${escaped(name)}</h2>${own.map((entry) => article(entry, document)).join('')}`,
  );
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${escaped(title)} HTTP interface</title><style>${PAGE_STYLE}</style></head>
<body><nav><strong>${escaped(title)}</strong> <span class="dim">${escaped(version)}</span>${nav}</nav>
<main><h1>${escaped(title)} HTTP interface</h1><p>${escaped(summary)}</p>
${prose(String(description))}
${pre(schemaText({ $ref: ENVELOPE }, document.components.schemas))}
<p>As a document: <a href="/api/v1/openapi.json"><code>/api/v1/openapi.json</code></a></p>
${body.join('\n')}</main></body></html>
`;
}

function navSection(name: string, entries: readonly Entry[]): string {
  const links = entries.map(
    ({ method, path, operation }) =>
      `<a href="#${operation.operationId}">${verb(method)} ${escaped(shortPath(path))}</a>`,
  );
  return `<h2>${escaped(name)}</h2>${links.join('')}`;
}

function article({ method, path, operation }: Entry, document: OpenApiDocument): string {
  const { operationId, summary, description } = operation;
  return [
    `<article id="${operationId}"><h3>${verb(method)} ${escaped(path)}</h3>`,
    `<p>${inline(summary)}</p>`,
    description === undefined ? '' : prose(description),
    parameterTable(operation),
    requestBody(operation, document),
    '<h4>Answers</h4>',
    ...Object.entries(operation.responses).map(([status, response]) =>
      answer(status, response, document),
    ),
    '</article>',
  ].join('\n');
}

function parameterTable({ parameters = [] }: OperationObject): string {
  if (parameters.length === 0) return '';
  const rows = parameters.map(({ name, in: place, required, description, schema }) => {
    const absent =
      'default' in schema ? ` Default: <code>${escaped(schema['default'])}</code>.` : '';
    const type = `${typeText(schema)}, ${place}${required ? '' : ', optional'}`;
    return (
      `<tr><td><code>${escaped(name)}</code></td>` +
      `<td><span class="type">${escaped(type)}</span><br>${inline(description)}${absent}</td></tr>`
    );
  });
  return `<h4>Parameters</h4><table>${rows.join('')}</table>`;
}

function requestBody({ requestBody: body }: OperationObject, document: OpenApiDocument): string {
  if (body === undefined) return '';
  const note = body.required ? '' : '<p class="dim">May be left out.</p>';
  return `<h4>Body</h4>${note}${content(body.content, document)}`;
}

function answer(status: string, response: ResponseObject, document: OpenApiDocument): string {
  const { description, headers = {}, content: bodies } = response;
  const names = Object.keys(headers).map((name) => `<code>${escaped(name)}</code>`);
  const head = names.length === 0 ? '' : ` <span class="dim">Headers:</span> ${names.join(', ')}`;
  const line = `<strong>${status}</strong> ${inline(description)}${head}`;
  if (bodies === undefined || isEnvelope(bodies)) return `<p>${line}</p>`;
  const open = status.startsWith('2') ? ' open' : '';
  return `<details${open}><summary>${line}</summary>${content(bodies, document)}</details>`;
}

/** The envelope is shown once, above all operations. */
function isEnvelope(bodies: ContentObject): boolean {
  return Object.values(bodies).every(
    ({ schema, example }) => schema['$ref'] === ENVELOPE && example === undefined,
  );
}

function content(bodies: ContentObject, document: OpenApiDocument): string {
  return Object.entries(bodies)
    .map(([type, media]) => mediaText(type, media, document))
    .join('');
}

function mediaText(type: string, media: MediaObject, document: OpenApiDocument): string {
  const shape = schemaText(media.schema, document.components.schemas);
  const examples = [
    ...(media.example === undefined ? [] : [['Example', media.example] as const]),
    ...Object.entries(media.examples ?? {}).map(
      ([name, { value }]) => [`Example: ${name}`, value] as const,
    ),
  ];
  return [
    `<p class="dim"><code>${escaped(type)}</code></p>`,
    ...examples.map(([name, value]) => `<p class="dim">${escaped(name)}</p>${pre(shown(value))}`),
    `<details><summary class="dim">Schema</summary>${pre(shape)}</details>`,
  ].join('');
}

function shown(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value, undefined, 2);
}

function pre(text: string): string {
  return `<pre>${escaped(text)}</pre>`;
}

function verb(method: string): string {
  return `<span class="verb ${method}">${method}</span>`;
}

function shortPath(path: string): string {
  return path.replace('/api/v1', '');
}

/** Paragraphs of text with code between backticks. */
function prose(text: string): string {
  return text
    .split('\n\n')
    .map((paragraph) => `<p>${inline(paragraph)}</p>`)
    .join('\n');
}

function inline(text: string): string {
  return escaped(text).replaceAll(/`([^`]+)`/g, '<code>$1</code>');
}

function escaped(value: unknown): string {
  return String(value)
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}
