// `npm run sim -- --seeds 1..1000`: prepares the checkout and runs seeds of the simulated world.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { prepare } from './prepare.mjs';

const file = join(prepare(), 'dist', 'sim', 'seeds', 'main.js');
process.exit(spawnSync(process.execPath, [file, ...process.argv.slice(2)], { stdio: 'inherit' }).status ?? 1);
