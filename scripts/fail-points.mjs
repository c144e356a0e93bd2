// `npm run fail-points`: writes the list of all fail-points from the sources.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { prepare } from './prepare.mjs';

const root = prepare();
const hook = pathToFileURL(join(root, 'test', 'support', 'ts-hook.mjs')).href;
const entry = join(root, 'test', 'support', 'write-fail-points.ts');
const done = spawnSync(process.execPath, ['--import', hook, entry], { cwd: root, stdio: 'inherit' });
process.exit(done.status ?? 1);
