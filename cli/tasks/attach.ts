import { attachTerminal } from './attach-terminal.ts';
import type { Context } from '../command/context.ts';
import { usageError } from '../command/exit.ts';
import { findAllocation } from '../names/find-allocation.ts';

export interface AttachFlags {
  readonly task?: string;
  readonly stdin: boolean;
  readonly take: boolean;
}

/** Joins this terminal to a task that runs. Its end is ours; leaving it ends nothing. @returns its exit code */
export async function attach(context: Context, written: string, options: AttachFlags): Promise<number> {
  const api = await context.api();
  const allocation = await findAllocation(context, written);
  const { task, stdin, take } = options;
  if (take && !stdin)
    throw usageError('--take is for who types, and --no-stdin for who does not', 'moorage attach --help');
  const target = { allocation, ...(task === undefined ? {} : { task }) };
  return attachTerminal(context, api, target, {
    input: stdin ? (take ? 'take' : 'free') : 'none',
    terminal: false,
  });
}
