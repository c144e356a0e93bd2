import type { Context } from '../context.ts';
import { CliError } from '../exit.ts';
import { printValue } from '../output/print.ts';
import { VERSION } from '../version.ts';

/** This program's version, and that of the monitor if one answers. */
export async function version(context: Context): Promise<number> {
  const { terminal, output } = context;
  const server = await serverVersion(context);
  const answer = { client: { version: VERSION, node: process.version }, server };
  if (output === 'json' || output === 'yaml') await printValue(terminal, output, answer);
  else {
    terminal.out(`moorage ${VERSION} (node ${process.version})\n`);
    if (output === 'table')
      terminal.out(`monitor ${server === null ? 'does not answer' : JSON.stringify(server)}\n`);
  }
  return 0;
}

async function serverVersion(context: Context): Promise<unknown> {
  try {
    return await (await context.api()).get<unknown>('/version', { timeoutMs: 1_000 });
  } catch (error) {
    if (error instanceof CliError) return null;
    throw error;
  }
}
