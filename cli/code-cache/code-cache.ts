/**
 * Makes the code cache of the build for the Node that runs it, with its flags: `node [FLAGS] dist/cli/code-cache/main.cjs`, where
 * `main.ts` calls this. Each part is loaded, which does nothing besides, and command lines are run that need no cell and find
 * none.
 */
import { readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { makeCodeCache } from '../../src/adapters/system/code-cache.ts';

const COMMAND_LINES = [
  ['--help'],
  ['ps', '--address', 'http://127.0.0.1:1'],
  ['run', '--address', 'http://127.0.0.1:1', '--', 'true'],
];

/**
 * @param built the folder of the build
 * @throws a file fault
 */
export async function cacheBuild(built: string): Promise<void> {
  const load = createRequire(import.meta.url);
  const cache = makeCodeCache(join(built, 'code-cache'));
  for (const file of readdirSync(join(built, 'chunks')))
    if (file.endsWith('.cjs')) load(join(built, 'chunks', file));
  const [{ runCli }, { processTerminal }] = await Promise.all([
    import('../run-cli.ts'),
    import('../command/terminal.ts'),
  ]);
  const unseen = { ...processTerminal(), out: () => undefined, err: () => undefined };
  for (const args of COMMAND_LINES) await runCli(args, unseen, new AbortController().signal);
  cache.write();
}
