import type { ComponentChildren, JSX } from 'preact';
import { Component } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { seenRows } from '../figures/seen-rows.ts';

export interface Column<T> {
  readonly head: string;
  readonly cell: (row: T) => ComponentChildren;
  /** `wide`: left out on narrow screens; `number`: to the right. */
  readonly kind?: 'wide' | 'number' | 'wide number';
}

const ROW_HEIGHT = 32;
/** Longer lists scroll within themselves. */
const ROWS_SHOWN_MAX = 18;
/** Rows are made anew when so many have gone by: fewer than are made beyond those in sight. */
const STEP_PX = 4 * ROW_HEIGHT;

/** Only the rows in sight are made; a screen reader is told how many there are. The first column names the row. */
export function Table<T>(props: {
  readonly label: string;
  readonly columns: readonly Column<T>[];
  readonly rows: readonly T[];
  readonly keyOf: (row: T) => string;
  readonly empty: string;
  /** Stays at the end as rows come, unless its reader went up. */
  readonly follows?: boolean;
}): JSX.Element {
  const { label, columns, rows, keyOf, empty, follows = false } = props;
  const box = useRef<HTMLDivElement>(null);
  const [scrollTop, setScrollTop] = useState(0);
  const [boxHeight, setBoxHeight] = useState(ROW_HEIGHT * ROWS_SHOWN_MAX);
  const atEnd = useRef(true);
  const look = (): void => {
    const at = box.current;
    if (at === null) return;
    atEnd.current = at.scrollTop + at.clientHeight >= at.scrollHeight - ROW_HEIGHT;
    setScrollTop(Math.floor(at.scrollTop / STEP_PX) * STEP_PX);
    setBoxHeight(at.clientHeight);
  };
  useLayoutEffect(() => {
    if (follows && atEnd.current && box.current !== null) box.current.scrollTop = box.current.scrollHeight;
    // Of a box that is new since the list was empty, and of one that grew, no scroll event tells.
    look();
  }, [rows]);
  if (rows.length === 0) return <p class="empty">{empty}</p>;
  const { first, end } = seenRows(rows.length, { scrollTop, height: boxHeight, rowHeight: ROW_HEIGHT });
  const height = Math.min(rows.length, ROWS_SHOWN_MAX) * ROW_HEIGHT + ROW_HEIGHT + 4;
  return (
    <div
      class="scroll"
      ref={box}
      onScroll={look}
      style={{ maxHeight: `${String(height)}px` }}
      role="region"
      aria-label={label}
      tabIndex={0}
    >
      <table aria-rowcount={rows.length + 1}>
        <thead>
          <tr aria-rowindex={1}>
            {columns.map(({ head, kind }) => (
              <th key={head} scope="col" class={kind}>
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          <Gap rows={first} columns={columns.length} />
          {rows.slice(first, end).map((row, at) => (
            <Row key={keyOf(row)} row={row} index={first + at + 2} columns={columns} />
          ))}
          <Gap rows={rows.length - end} columns={columns.length} />
        </tbody>
      </table>
    </div>
  );
}

interface RowProps<T> {
  readonly row: T;
  readonly index: number;
  readonly columns: readonly Column<T>[];
}

/** Stays as it is while the list is scrolled: only rows that come into sight are made. */
class Row<T> extends Component<RowProps<T>> {
  override shouldComponentUpdate({ row, index, columns }: RowProps<T>): boolean {
    const { props } = this;
    return row !== props.row || index !== props.index || columns !== props.columns;
  }

  override render({ row, index, columns }: RowProps<T>): JSX.Element {
    return (
      <tr aria-rowindex={index}>
        {columns.map(({ head, kind, cell }, column) =>
          column === 0 ? (
            <th key={head} scope="row" class={kind}>
              {cell(row)}
            </th>
          ) : (
            <td key={head} class={kind}>
              {cell(row)}
            </td>
          ),
        )}
      </tr>
    );
  }
}

/** In the place of rows that are out of sight. */
function Gap(props: { readonly rows: number; readonly columns: number }): JSX.Element | null {
  if (props.rows <= 0) return null;
  return (
    <tr class="gap" aria-hidden="true">
      <td colSpan={props.columns} style={{ height: `${String(props.rows * ROW_HEIGHT)}px` }} />
    </tr>
  );
}
