// `npm run sweep:processes`: kills the control processes of a real cell at drawn fail-points. See test/chaos/sweep-processes.ts.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { prepare } from './prepare.mjs';

const root = prepare();
const hook = pathToFileURL(join(root, 'test', 'support', 'ts-hook.mjs')).href;
const file = join(root, 'test', 'chaos', 'sweep-processes.ts');
const args = ['--import', hook, file, ...process.argv.slice(2)];
process.exit(spawnSync(process.execPath, args, { stdio: 'inherit' }).status ?? 1);
