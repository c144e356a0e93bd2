import { attachHere } from '../attach-here.ts';
import type { Context } from '../context.ts';
import { findAllocation } from '../find-allocation.ts';

/** Joins this terminal to a task that runs. Its end is ours; leaving it ends nothing. @returns its exit code */
export async function attach(
  context: Context,
  written: string,
  options: { readonly task?: string; readonly stdin: boolean },
): Promise<number> {
  const api = await context.api();
  const allocation = await findAllocation(context, api, written);
  const { task, stdin } = options;
  const target = { allocation, ...(task === undefined ? {} : { task }) };
  return attachHere(context, api, target, { input: stdin, terminal: false });
}
