import type { VersionAnswer } from '../../src/wire/api/monitor-api.ts';
import { HttpError } from '../../src/ports/http.ts';
import { ProblemError } from '../../src/wire/api/problem.ts';
import type { Context } from '../command/context.ts';
import { printAnswer } from '../output/output.ts';
import { VERSION } from '../command/version.ts';

/** This program's version, and that of the monitor if one answers. */
export async function version(context: Context): Promise<number> {
  const server = await serverVersion(context);
  const answer = { client: { version: VERSION, node: process.version }, server };
  const own = `moorage ${VERSION} (node ${process.version})`;
  const monitor = server === null ? 'does not answer' : `${server.version} (${server.id})`;
  await printAnswer(context, answer, { name: own, text: () => `${own}\nmonitor ${monitor}\n` });
  return 0;
}

async function serverVersion(context: Context): Promise<VersionAnswer | null> {
  try {
    return await (await context.api()).version({ timeoutMs: 1_000 });
  } catch (error) {
    if (error instanceof HttpError || error instanceof ProblemError) return null;
    throw error;
  }
}
