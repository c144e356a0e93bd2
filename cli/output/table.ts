/** A column: its title, what stands in it, and on which side. */
export interface Column<T> {
  readonly title: string;
  readonly cell: (row: T) => string;
  readonly align?: 'left' | 'right';
  /** Where the lines are too narrow for all columns, those with the highest rank go first. Default: from the right. */
  readonly rank?: number;
}

const GAP = '  ';
/** A text that is cut ends with this. */
const CUT = '…';
/** A column that is cut is still as wide. */
const CUT_MIN = 6;

/**
 * Plain columns, two spaces apart, no boxes: what operators pipe to awk. The last column is not padded. An empty cell is
 * shown as `-`, so that every line has as many words as the title has.
 *
 * @param width of the terminal: a row never takes a second line; columns go, then texts are cut. null: all of everything
 */
export function formatTable<T>(
  columns: readonly Column<T>[],
  rows: readonly T[],
  width: number | null = null,
): string {
  const cells = rows.map((row) => columns.map((column) => clean(column.cell(row))));
  const lines = [columns.map((column) => column.title), ...cells];
  const widths = columns.map((_, index) => Math.max(...lines.map((line) => widthOf(line[index] ?? ''))));
  const shown = width === null ? widths.map((_, index) => index) : fitting(columns, widths, width);
  if (width !== null) narrow(shown, widths, width);
  shown.sort((a, b) => a - b);
  const picked = shown.map((index) => columns[index]!);
  const room = shown.map((index) => widths[index]!);
  return lines
    .map((line) => {
      const texts = shown.map((index) => cut(line[index] ?? '', widths[index]!));
      return `${formatLine(picked, room, texts)}\n`;
    })
    .join('');
}

/** The columns that have room side by side, by their place; the one with the lowest rank always has. */
function fitting<T>(columns: readonly Column<T>[], widths: readonly number[], width: number): number[] {
  const rankOf = (index: number): number => columns[index]?.rank ?? index;
  const shown = widths.map((_, index) => index).sort((a, b) => rankOf(a) - rankOf(b) || a - b);
  while (shown.length > 1 && leastOf(shown, widths) > width) shown.pop();
  return shown;
}

/** What the columns take when one of them is cut. @param shown the lowest rank first */
function leastOf(shown: readonly number[], widths: readonly number[]): number {
  const whole = widths[cutOf(shown, widths)]!;
  const least = Math.max(CUT_MIN, Math.floor(whole / 2));
  return lineWidth(shown.map((index) => widths[index]!)) - Math.max(0, whole - least);
}

/** The column to cut: the widest one, but not the one that says which row it is. */
function cutOf([first = 0, ...others]: readonly number[], widths: readonly number[]): number {
  return others.reduce(
    (widest, index) => (widths[index]! > widths[widest]! ? index : widest),
    others[0] ?? first,
  );
}

/** Cuts a column so that the line fits. */
function narrow(shown: readonly number[], widths: number[], width: number): void {
  const over = lineWidth(shown.map((index) => widths[index]!)) - width;
  if (over <= 0) return;
  const cutAt = cutOf(shown, widths);
  widths[cutAt] = Math.max(1, widths[cutAt]! - over);
}

function lineWidth(widths: readonly number[]): number {
  return widths.reduce((sum, one) => sum + one, 0) + GAP.length * Math.max(0, widths.length - 1);
}

function cut(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  let kept = '';
  for (const char of text) {
    if (widthOf(kept + char) > width - 1) break;
    kept += char;
  }
  return kept + CUT;
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
