/**
 * JSON with one spelling for one value: keys sorted by UTF-16 units, no spaces, absent and `undefined` fields alike. What
 * is signed or digested goes through here, so that both ends get the same text from values that travelled as ordinary
 * JSON.
 *
 * @throws when the value holds something that JSON cannot carry unchanged (NaN, an infinity, a bigint, a function)
 */
export function canonicalJson(value: unknown): string {
  const text = write(value);
  if (text === undefined) throw new Error('undefined has no canonical JSON');
  return text;
}

function write(value: unknown): string | undefined {
  if (value === null) return 'null';
  switch (typeof value) {
    case 'undefined':
      return undefined;
    case 'boolean':
    case 'string':
      return JSON.stringify(value);
    case 'number':
      if (!Number.isFinite(value)) throw new Error(`${String(value)} has no canonical JSON`);
      return JSON.stringify(value);
    case 'object':
      return Array.isArray(value) ? writeList(value) : writeFields(value as Record<string, unknown>);
    default:
      throw new Error(`a ${typeof value} has no canonical JSON`);
  }
}

function writeList(list: readonly unknown[]): string {
  return `[${list.map((item) => write(item) ?? 'null').join(',')}]`;
}

function writeFields(fields: Readonly<Record<string, unknown>>): string {
  const parts: string[] = [];
  for (const key of Object.keys(fields).sort()) {
    const text = write(fields[key]);
    if (text !== undefined) parts.push(`${JSON.stringify(key)}:${text}`);
  }
  return `{${parts.join(',')}}`;
}
