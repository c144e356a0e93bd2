/**
 * What views are made of:
 *
 * - `hooks.ts`: a view follows the cell: what is loaded, what happens, the address
 * - `table.tsx`: a table that makes only the rows in sight
 * - `notice.tsx`: what went wrong, and what is still loading
 * - `meter.tsx`: how much of something is used; `line.tsx`: a figure over time
 * - `output.tsx`: the output of a task, live
 * - `confirm.tsx`: asks before something is done
 */
export { Confirm } from './confirm.tsx';
export { Line } from './line.tsx';
export { Meter } from './meter.tsx';
export { Failed, Loading } from './notice.tsx';
export { Output } from './output.tsx';
export type { Column } from './table.tsx';
export { Table } from './table.tsx';
