/**
 * JSON with one spelling for one value: keys sorted by UTF-16 units, no spaces, absent and `undefined` fields alike. For
 * what is signed or digested, so that both ends compute it from the same text.
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
    case 'string':
      return quoted(value);
    case 'boolean':
      return String(value);
    case 'number':
      if (!Number.isFinite(value)) throw new Error(`${String(value)} has no canonical JSON`);
      return String(value);
    case 'object':
      return Array.isArray(value) ? writeList(value) : writeFields(value as Record<string, unknown>);
    default:
      throw new Error(`a ${typeof value} has no canonical JSON`);
  }
}

function writeList(list: readonly unknown[]): string {
  let text = '';
  for (const item of list) text += `${text === '' ? '' : ','}${write(item) ?? 'null'}`;
  return `[${text}]`;
}

function writeFields(fields: Readonly<Record<string, unknown>>): string {
  let text = '';
  for (const key of Object.keys(fields).sort()) {
    const value = write(fields[key]);
    if (value !== undefined) text += `${text === '' ? '' : ','}${quoted(key)}:${value}`;
  }
  return `{${text}}`;
}

/** Text without anything to escape, like nearly all keys and values: this test is ten times cheaper than quoting. */
const PLAIN = /^[ !#-[\]-~]*$/;

function quoted(text: string): string {
  return PLAIN.test(text) ? `"${text}"` : JSON.stringify(text);
}
