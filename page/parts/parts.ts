/**
 * What views are made of:
 *
 * - `hooks.ts`: a view follows the cell: what is loaded, what happens, the address
 * - `table.tsx`: a table that makes only the rows in sight
 * - `notice.tsx`: what went wrong, and what is still loading
 * - `meter.tsx`: how much of something is used; `line.tsx`: a figure over time
 * - `output.tsx`: the output of a task, live
 * - `terminal.tsx`: a command with a terminal; `screen.ts` draws it, `screen-styles.ts` keeps to the page's policy for it. Both are
 *   loaded when the first one is opened
 * - `confirm.tsx`: asks before something is done
 */
export { Confirm } from './confirm.tsx';
export { Line } from './line.tsx';
export { Meter } from './meter.tsx';
export { Failed, Loading } from './notice.tsx';
export { Output } from './output.tsx';
export { Terminal } from './terminal.tsx';
export type { Column } from './table.tsx';
export { Table } from './table.tsx';
