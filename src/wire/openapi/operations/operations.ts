/**
 * What the document says of each route, by method and path as the routes have them. `operation.ts` has the words that they are
 * written with.
 *
 * - `job-operations.ts`: jobs and runs
 * - `task-operations.ts`: what runs: its output, its use, commands inside it
 * - `cell-operations.ts`: the cell, its hosts and the monitor itself
 * - `limit-operations.ts`: what bounds use, and names
 * - `access-operations.ts`: people, machines that join, and what is recorded of them
 */
import { ACCESS_OPERATIONS } from './access-operations.ts';
import { CELL_OPERATIONS } from './cell-operations.ts';
import { JOB_OPERATIONS } from './job-operations.ts';
import { LIMIT_OPERATIONS } from './limit-operations.ts';
import { TASK_OPERATIONS } from './task-operations.ts';
import type { Operation } from './operation.ts';

export const OPERATIONS: Readonly<Record<string, Operation>> = {
  ...JOB_OPERATIONS,
  ...TASK_OPERATIONS,
  ...CELL_OPERATIONS,
  ...LIMIT_OPERATIONS,
  ...ACCESS_OPERATIONS,
};
