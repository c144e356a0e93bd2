import { CliError, EXIT } from '../command/exit.ts';

/** One row, by the titles of the first line. A column that the file does not have reads as empty. */
export type CsvRow = (title: string) => string;

/**
 * Reads comma-separated text with a line of titles. Quoted fields may hold commas, quotes (doubled) and line ends.
 *
 * @param name for errors
 * @param columns that must be there
 */
export function readCsv(text: string, name: string, columns: readonly string[] = []): CsvRow[] {
  const lines = splitRows(text.replace(/^\uFEFF/, ''));
  const titles = lines[0]?.map((title) => title.trim()) ?? [];
  if (titles.length < 2) throw wrong(name, 1, 'expected a line of column titles, separated by commas');
  const places = new Map(titles.map((title, index) => [title, index]));
  const missing = columns.filter((title) => !places.has(title));
  if (missing.length > 0)
    throw wrong(name, 1, `there is no column ${missing.join(', ')}; there are ${titles.join(', ')}`);
  return lines.slice(1).flatMap((fields, index) => {
    if (fields.length === 1 && fields[0] === '') return [];
    if (fields.length > titles.length)
      throw wrong(name, index + 2, `${String(fields.length)} fields for ${String(titles.length)} columns`);
    return [(title: string) => fields[places.get(title) ?? -1]?.trim() ?? ''];
  });
}

function splitRows(text: string): string[][] {
  const rows: string[][] = [];
  let row: string[] = [];
  let field = '';
  let quoted = false;
  const endField = (): void => {
    row.push(field);
    field = '';
  };
  for (let at = 0; at < text.length; at++) {
    const char = text.charAt(at);
    if (quoted) {
      if (char !== '"') field += char;
      else if (text.charAt(at + 1) === '"') field += text.charAt(++at);
      else quoted = false;
    } else if (char === '"' && field === '') quoted = true;
    else if (char === ',') endField();
    else if (char === '\n') {
      endField();
      rows.push(row);
      row = [];
    } else if (char !== '\r') field += char;
  }
  if (field !== '' || row.length > 0) {
    endField();
    rows.push(row);
  }
  return rows;
}

/** A whole number of at least 0 from the row. */
export function wholeIn(row: CsvRow, title: string, name: string, line: number): number {
  const text = row(title);
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw wrong(
    name,
    line,
    `${title}: expected a whole number, found ${text === '' ? 'nothing' : `"${text}"`}`,
  );
}

const HINT = 'the columns are those of openb-2023; a file may be cut short';

export function wrong(name: string, line: number, why: string): CliError {
  return new CliError(EXIT.badSpec, `${name}:${String(line)}: ${why}`, HINT);
}
