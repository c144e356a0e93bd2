/** Rows that are made beyond those in sight, so that a quick scroll shows no gap. */
const MARGIN_ROWS = 8;

export interface Sight {
  /** Where the list stood when it was looked at: it may have become shorter since. */
  readonly scrollTop: number;
  readonly height: number;
  readonly rowHeight: number;
}

/** Which rows of a list are in sight: from `first` up to, not with, `end`. */
export function seenRows(
  count: number,
  { scrollTop, height, rowHeight }: Sight,
): { readonly first: number; readonly end: number } {
  const from = Math.max(0, Math.min(scrollTop, count * rowHeight - height));
  const first = Math.max(0, Math.floor(from / rowHeight) - MARGIN_ROWS);
  return { first, end: Math.min(count, Math.ceil((from + height) / rowHeight) + MARGIN_ROWS) };
}
