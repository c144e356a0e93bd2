import { randomUUID } from 'node:crypto';
import { attachTerminal } from './attach-terminal.ts';
import type { Context } from '../command/context.ts';
import { findAllocation } from '../names/find-allocation.ts';

export interface ExecOptions {
  readonly interactive: boolean;
  readonly tty: boolean;
  readonly task?: string;
}

const DEFAULT_SIZE = { rows: 24, columns: 80 };

/** Runs a command inside an allocation as if it ran here. @returns its exit code */
export async function exec(
  context: Context,
  written: string,
  command: readonly string[],
  options: ExecOptions,
): Promise<number> {
  const api = await context.api();
  const allocation = await findAllocation(context, written);
  // Chosen before the call: a second delivery, by us or at another monitor, runs nothing more.
  const commandId = randomUUID();
  const { interactive, tty, task } = options;
  const { rows, columns } = process.stdout.isTTY ? process.stdout : DEFAULT_SIZE;
  await api.exec(allocation, {
    commandId,
    command,
    ...(task === undefined ? {} : { task }),
    ...(tty ? { terminal: { rows, columns } } : {}),
    ...(interactive ? { input: true } : {}),
  });
  const target = { allocation, command: commandId };
  return attachTerminal(context, api, target, { input: interactive ? 'free' : 'none', terminal: tty });
}
