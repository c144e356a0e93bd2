import type { Endpoint } from './endpoints.ts';

const FIELDS = ['address', 'port', 'host', 'allocation', 'index'] as const;
const FIELD = new RegExp(`\\{(${FIELDS.join('|')})\\}`, 'g');
const EMPTY = '{empty}';

/**
 * Endpoints as a text: a line of the template that names `{address}`, `{port}`, `{host}`, `{allocation}` or `{index}` stands
 * once for each endpoint, one that begins with `{empty}` (spaces aside) only when there is none, and every other as it is.
 */
export function renderTemplate(template: string, endpoints: readonly Endpoint[]): string {
  const lines = template.split('\n').flatMap((line) => {
    if (line.trimStart().startsWith(EMPTY)) return endpoints.length === 0 ? [line.replace(EMPTY, '')] : [];
    if (line.search(FIELD) < 0) return [line];
    return endpoints.map((endpoint) =>
      line.replace(FIELD, (_, field: (typeof FIELDS)[number]) => textOf(endpoint, field)),
    );
  });
  return lines.join('\n');
}

/** Addresses as in a URL: one of IPv6 in brackets. */
function textOf(endpoint: Endpoint, field: (typeof FIELDS)[number]): string {
  const text = String(endpoint[field]);
  return field === 'address' && text.includes(':') ? `[${text}]` : text;
}
