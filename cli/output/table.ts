/** A column: its title, what stands in it, and on which side. */
export interface Column<T> {
  readonly title: string;
  readonly cell: (row: T) => string;
  readonly align?: 'left' | 'right';
}

const GAP = '  ';

/**
 * Plain columns, two spaces apart, no boxes: what operators pipe to awk. The last column is not padded. An empty cell is
 * shown as `-`, so that every line has as many words as the title has.
 */
export function formatTable<T>(columns: readonly Column<T>[], rows: readonly T[]): string {
  const cells = rows.map((row) => columns.map((column) => clean(column.cell(row))));
  const lines = [columns.map((column) => column.title), ...cells];
  const widths = columns.map((_, index) => Math.max(...lines.map((line) => widthOf(line[index] ?? ''))));
  return lines.map((line) => `${formatLine(columns, widths, line)}\n`).join('');
}

function formatLine<T>(
  columns: readonly Column<T>[],
  widths: readonly number[],
  line: readonly string[],
): string {
  const padded = columns.map((column, index) => {
    const text = line[index] ?? '';
    const fill = ' '.repeat(Math.max(0, (widths[index] ?? 0) - widthOf(text)));
    if (column.align === 'right') return fill + text;
    return index === columns.length - 1 ? text : text + fill;
  });
  return padded.join(GAP).trimEnd();
}

/** Text of jobs and hosts must not move the cursor or break the line. */
export function clean(text: string): string {
  const plain = text.replaceAll(/[\u0000-\u001f\u007f-\u009f]/g, (char) => escapeOf(char));
  return plain === '' ? '-' : plain;
}

function escapeOf(char: string): string {
  if (char === '\n') return '\\n';
  if (char === '\t') return '\\t';
  return `\\x${char.charCodeAt(0).toString(16).padStart(2, '0')}`;
}

/** Columns on a terminal: combining marks take none, wide characters two. */
export function widthOf(text: string): number {
  if (/^[\u0020-\u007e]*$/.test(text)) return text.length;
  let width = 0;
  for (const char of text) {
    if (/\p{Mark}/u.test(char)) continue;
    width +=
      /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}/u.test(
        char,
      )
        ? 2
        : 1;
  }
  return width;
}
