// `npm run fail-points`: writes the lists of all fail-points from the sources.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { prepare } from './prepare.mjs';

const root = prepare();
const hook = pathToFileURL(join(root, 'test', 'support', 'ts-hook.mjs')).href;
const entry = join(root, 'test', 'support', 'write-fail-points.ts');
// The document is written from the list, so from a process that has read the new one.
for (const what of ['list', 'document']) {
  const done = spawnSync(process.execPath, ['--import', hook, entry, what], { cwd: root, stdio: 'inherit' });
  if (done.status !== 0) process.exit(done.status ?? 1);
}
