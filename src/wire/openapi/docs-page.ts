import type { OpenApi, OpenApiOperation, OpenApiParameter } from './openapi.ts';

/** Of `docsPage`: one file beside it, so that the page has no style of its own and its policy needs no exception. */
export const DOCS_STYLE = `
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { margin: 0 auto; max-width: 64rem; padding: 1rem; }
nav { columns: 20rem; font-size: .9rem; }
nav a { display: block; }
h1 { font-size: 1.6rem; }
h2 { font-size: 1.2rem; margin-top: 2.5rem; border-top: 1px solid #8886; padding-top: 1rem; overflow-wrap: anywhere; }
table { border-collapse: collapse; }
td, th { border-bottom: 1px solid #8884; padding: .2rem .8rem .2rem 0; text-align: left; vertical-align: top; }
pre { background: #8881; overflow-x: auto; padding: .6rem; }
code { font-size: .9em; }
`.trimStart();

/**
 * The document for people, as a page without any script: it reads the same as `docs/api.md`, with the examples and the
 * schemas of answers.
 *
 * @param style where `DOCS_STYLE` is served
 */
export function docsPage({ info, paths, components }: OpenApi, style: string): string {
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      title: `${method.toUpperCase()} ${path}`,
      operation,
    })),
  );
  const schemas = Object.entries(components['schemas'] as Readonly<Record<string, unknown>>);
  return [
    '<!doctype html>',
    '<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">',
    `<title>Moorage API</title><link rel="stylesheet" href="${text(style)}"></head><body>`,
    `<h1>The API of this cell, version ${text(String(info['version']))}</h1>`,
    `<p>${text(String(info['description']))}</p>`,
    '<p>As a document for programs: <a href="/v1/openapi.json">openapi.json</a>; of job files: <a href="/v1/schema/job.json">job.json</a>.</p>',
    '<nav aria-label="Operations">',
    ...operations.map(({ title, operation }) => link(operation.operationId, title)),
    '</nav><main>',
    ...operations.map(({ title, operation }) => section(title, operation)),
    '<h1>Schemas</h1>',
    ...schemas.map(([name, schema]) => `<h2 id="${text(name)}">${text(name)}</h2>${json(schema)}`),
    '</main></body></html>',
  ].join('\n');
}

function section(title: string, operation: OpenApiOperation): string {
  const { operationId, summary, parameters, requestBody, responses } = operation;
  const body = requestBody?.content['application/json'];
  const holders = operation['x-holders'].join(', ');
  return [
    `<h2 id="${text(operationId)}">${text(title)}</h2>`,
    `<p>${text(summary)}. Right: <code>${text(operation['x-right'])}</code> (${text(holders)}).</p>`,
    parameters.length === 0 ? '' : table(['in', 'name', 'what'], parameters.map(rowOf)),
    body?.example === undefined ? '' : `<p>A body that it takes:</p>${json(body.example)}`,
    table(
      ['status', 'answer'],
      Object.entries(responses).map(([status, answer]) => [text(status), answerOf(answer)]),
    ),
  ].join('\n');
}

function rowOf({ name, in: place, required, description }: OpenApiParameter): readonly string[] {
  return [text(place), `<code>${text(name)}</code>${required ? ' (required)' : ''}`, text(description)];
}

/** What it is, linked to its schema, with an example where there is one. */
function answerOf({ description, content = {} }: OpenApiOperation['responses'][string]): string {
  const examples = Object.values(content).flatMap(({ example }) =>
    example === undefined ? [] : [json(example)],
  );
  const names = Object.values(content).flatMap(({ schema }) => {
    const name = /^#\/components\/schemas\/(\w+)$/.exec(
      (schema as { readonly $ref?: string }).$ref ?? '',
    )?.[1];
    return name === undefined || name === 'Problem' ? [] : [name];
  });
  const links = names.map((name) => ` <a href="#${name}">schema</a>`).join('');
  const shown = examples.map((example) => `<details><summary>example</summary>${example}</details>`);
  return `${text(description)}${links}${shown.join('')}`;
}

function table(titles: readonly string[], rows: readonly (readonly string[])[]): string {
  const head = titles.map((title) => `<th scope="col">${title}</th>`).join('');
  const body = rows.map((row) => `<tr>${row.map((cell) => `<td>${cell}</td>`).join('')}</tr>`).join('\n');
  return `<table><thead><tr>${head}</tr></thead><tbody>\n${body}\n</tbody></table>`;
}

function link(id: string, title: string): string {
  return `<a href="#${text(id)}">${text(title)}</a>`;
}

function json(value: unknown): string {
  return `<pre><code>${text(JSON.stringify(value, null, 2))}</code></pre>`;
}

/** As text of a page or of an attribute. */
function text(value: string): string {
  return value.replaceAll(/[&<>"']/g, (letter) => `&#${String(letter.charCodeAt(0))};`);
}
