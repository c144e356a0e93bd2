/** Rows that are made beyond those in sight, so that a quick scroll shows no gap. */
const MARGIN_ROWS = 8;

export interface Sight {
  readonly scrollTop: number;
  readonly height: number;
  readonly rowHeight: number;
}

/** Which rows of a list are in sight: from `first` up to, not with, `end`. */
export function seenRows(
  count: number,
  { scrollTop, height, rowHeight }: Sight,
): { readonly first: number; readonly end: number } {
  const top = Math.floor(scrollTop / rowHeight) - MARGIN_ROWS;
  const bottom = Math.ceil((scrollTop + height) / rowHeight) + MARGIN_ROWS;
  const end = Math.min(count, Math.max(0, bottom));
  return { first: Math.max(0, Math.min(top, end)), end };
}
